package lint

import (
	"strings"
	"testing"
)

// TestRules: each rule reports what breaks it, with its remedy, and nothing else.
func TestRules(t *testing.T) {
	const documented = "// Package x is documented.\npackage x\n"
	for _, c := range []struct {
		name, path, text string
		what, remedy     string // parts of the one finding; none when empty
	}{
		// The import table.
		{"import down", "state/rowkey/a.go", documented + `import "tidemill/state/column"`, "", ""},
		{"import up", "state/column/a.go", documented + `import "tidemill/state/rowkey"`, "state/column may not import state/rowkey", "declare the few methods"},
		{"duck knows no plan", "views/duck/a.go", documented + `import "tidemill/views/plan"`, "views/duck may not import views/plan", "move the code to the layer"},
		{"command", "cmd/tidemill/a.go", "// Command tidemill runs.\npackage main\n" + `import "tidemill/runtime/httpd"`, "", ""},
		{"own package in its test", "state/column/a_test.go", `package column_test; import "tidemill/state/column"`, "", ""},
		{"more in tests", "views/plan/a_test.go", `package plan_test; import "tidemill/views/duck"`, "", ""},
		{"more outside tests", "views/plan/a.go", documented + `import "tidemill/views/duck"`, "views/plan may not import views/duck", "declare"},
		{"test up", "state/column/a_test.go", `package column_test; import "tidemill/runtime"`, "state/column may not import runtime", "declare"},
		{"package for tests in a test", "state/rowkey/a_test.go", `package rowkey; import "tidemill/state/column/columntest"`, "", ""},
		{"package for tests elsewhere", "state/rowkey/a.go", documented + `import "tidemill/state/column/columntest"`, "which is for tests", "move what is shared out"},
		{"unknown package", "views/magic/a.go", documented, "package views/magic is not in the import table", "cmd/lint/table_test.go"},
		{"package in the root", "a.go", documented, "package . is not in the import table", "put the code into a package"},

		{"errors translated", "runtime/httpd/errors.go", documented + `import "tidemill/runtime/commitlog"`, "", ""},
		{"errors elsewhere", "runtime/httpd/a.go", documented + `import "tidemill/runtime/commitlog"`, "runtime/httpd may not import runtime/commitlog", "declare"},

		// Gates.
		{"pebble in state", "state/a.go", documented + `import "github.com/cockroachdb/pebble/v2"`, "", ""},
		{"pebble in views", "views/a.go", documented + `import "github.com/cockroachdb/pebble/v2"`, "views may not import github.com/cockroachdb/pebble/v2", "used only in state"},
		{"pebble in a test", "views/a_test.go", `package views; import "github.com/cockroachdb/pebble/v2"`, "views may not import", "used only in state"},
		{"vfs in image", "state/image/a.go", documented + `import "github.com/cockroachdb/pebble/v2/vfs"`, "", ""},
		{"vfs in views", "views/a.go", documented + `import "github.com/cockroachdb/pebble/v2/vfs"`, "views may not import", "used only in state, state/image, runtime,"},
		{"errorfs in a test", "views/a_test.go", `package views; import "github.com/cockroachdb/pebble/v2/vfs/errorfs"`, "", ""},
		{"cgo in duck", "views/duck/a.go", documented + `import "C"`, "", ""},
		{"cgo in image", "state/image/a.go", documented + `import "C"`, "state/image may not import C", "used only in views/duck"},
		{"oracle in a test", "operators/a_test.go", `package operators; import _ "github.com/duckdb/duckdb-go/v2"`, "", ""},
		{"oracle outside", "views/duck/a.go", documented + `import _ "github.com/duckdb/duckdb-go/v2"`, "views/duck may not import", "used only in tests"},
		{"bindings outside", "runtime/a.go", documented + `import "github.com/duckdb/duckdb-go-bindings"`, "runtime may not import", "used only in views/duck"},
		{"arrow in operators", "operators/a.go", documented + `import "github.com/apache/arrow-go/v18/arrow"`, "operators may not import", "used only in state/column"},
		{"arrow in a command", "cmd/tidemill/a.go", "// Command tidemill runs.\npackage main\n" + `import "github.com/apache/arrow-go/v18/arrow"`, "", ""},
		{"parquet in decode", "runtime/decode/a.go", documented + `import "github.com/apache/arrow-go/v18/parquet/file"`, "runtime/decode may not import", "used only in runtime/tier"},
		{"metrics in state", "state/a.go", documented + `import "github.com/prometheus/client_golang/prometheus"`, "state may not import", "used only in runtime"},
		{"cobra in runtime", "runtime/a.go", documented + `import "github.com/spf13/cobra"`, "runtime may not import", "used only in cmd/tidemill"},
		{"module without a gate", "state/a.go", documented + `import "example.com/left/pad"`, "which has no gate", "gates in cmd/lint/table_test.go"},
		{"chance", "operators/a.go", documented + `import "math/rand/v2"`, "operators imports math/rand/v2", "take what must be random as an argument"},
		{"old chance", "operators/a.go", documented + `import "math/rand"`, "operators imports math/rand", "take what must be random as an argument"},
		{"chance in a generator", "nexmark/a.go", documented + `import "math/rand/v2"`, "", ""},
		{"chance in tests", "operators/a_test.go", `package operators; import "math/rand/v2"`, "", ""},
		{"chance in a package for tests", "state/column/columntest/a.go", documented + `import "math/rand/v2"`, "", ""},

		// Calls.
		{"clock", "views/a.go", documented + `import "time"; var t = time.Now()`, "time.Now in views", "take the time from the commit's record"},
		{"clock as a value", "state/image/a.go", documented + `import "time"; var now = time.Now`, "time.Now in state/image", "clock as an argument"},
		{"clock by another name", "runtime/logrec/a.go", documented + `import clock "time"; var t = clock.Since(clock.Time{})`, "time.Since in runtime/logrec", "take the time"},
		{"clock in the engine", "runtime/a.go", documented + `import "time"; var t = time.Now()`, "", ""},
		{"clock in a test", "views/a_test.go", `package views; import "time"; var t = time.Now()`, "", ""},
		{"init", "views/a.go", documented + `func init() {}`, "func init()", "explicit list"},
		{"init as a method", "views/a.go", documented + `func (t *t) init() {}; type t int`, "", ""},
		{"print", "runtime/a.go", documented + `import "fmt"; func f() { fmt.Println("x") }`, "fmt.Println outside cmd", "slog.Logger"},
		{"print in a test", "runtime/a_test.go", `package runtime; import "fmt"; func f() { fmt.Printf("x") }`, "fmt.Printf outside cmd", "t.Log"},
		{"print in an example", "runtime/a_test.go", `package runtime; import "fmt"; func ExampleEngine() { fmt.Println("x") }`, "", ""},
		{"print in a command", "cmd/tidemill/a.go", "// Command tidemill runs.\npackage main\n" + `import "fmt"; func main() { fmt.Println("x") }`, "", ""},
		{"print to a writer", "runtime/a.go", documented + `import "fmt"; func f() { fmt.Fprintln(nil, "x") }`, "", ""},
		{"println", "runtime/a.go", documented + `func f() { println("x") }`, "println writes to the terminal", "slog.Logger"},
		{"bare panic", "runtime/httpd/a.go", documented + `func f() { panic("no") }`, "panic with a bare string", "return an error"},
		{"bare panic in parts", "runtime/decode/a.go", documented + `func f() { panic("no" + ("pe")) }`, "panic with a bare string", "return an error"},
		{"panic with values", "runtime/decode/a.go", documented + `func f(s string) { panic("no " + s) }`, "", ""},
		{"panic elsewhere", "state/column/a.go", documented + `func f() { panic("no") }`, "", ""},
		{"skip", "state/a_test.go", `package state; import "testing"; func TestX(t *testing.T) { t.Skip("later") }`, "Skip skips a test", "make the test run everywhere"},
		{"skip in a helper", "state/a_test.go", `package state; import "testing"; type h struct { tb testing.TB }; func (h h) f() { h.tb.SkipNow() }`, "SkipNow skips a test", "delete it"},
		{"skip of a reader", "state/a_test.go", `package state; type r int; func (r) Skip() {}; func f(x r) { x.Skip() }`, "", ""},
		{"sleep", "state/a_test.go", `package state; import "time"; func f() { time.Sleep(1) }`, "time.Sleep in a test", "testing/synctest"},
		{"sleep in a bubble", "state/a_synctest_test.go", `package state; import "time"; func f() { time.Sleep(1) }`, "", ""},

		// Comments.
		{"package comment missing", "state/a.go", "package state", "package state has no package comment", `begins with "Package state"`},
		{"package comment otherwise", "state/a.go", "// State keeps things.\npackage state", `otherwise than with "Package state"`, "say what the package owns"},
		{"command comment", "cmd/tidemill/a.go", "// Package main runs.\npackage main", `otherwise than with "Command tidemill"`, "say what the package owns"},
		{"function", "state/a.go", documented + "func F() {}", "exported F has no comment", `begins with "F"`},
		{"function otherwise", "state/a.go", documented + "// Does it.\nfunc F() {}", "exported F begins with another word", `begins with "F"`},
		{"longer word", "state/a.go", documented + "// Fs are many.\nfunc F() {}", "exported F begins with another word", `begins with "F"`},
		{"function right", "state/a.go", documented + "// F does it.\nfunc F() {}", "", ""},
		{"method", "state/a.go", documented + "// T is.\ntype T[A any] struct{}\nfunc (t *T[A]) M() {}", "exported M has no comment", `begins with "M"`},
		{"method of an unexported type", "state/a.go", documented + "type t int\nfunc (t) M() {}", "", ""},
		{"type", "state/a.go", documented + "type T int", "exported T has no comment", `begins with "T"`},
		{"type in a group", "state/a.go", documented + "// Types of all kinds.\ntype (\n\tT int\n)", "exported T has no comment", `begins with "T"`},
		{"constant", "state/a.go", documented + "const C = 1", "exported C has no comment", `begins with "C"`},
		{"group with a comment", "state/a.go", documented + "// The numbers.\nconst (\n\tC = 1\n\tD = 2\n)", "", ""},
		{"group without", "state/a.go", documented + "const (\n\tC = 1 // one\n\tD = 2\n)", "exported const D has no comment", "or the group"},
		{"unexported", "state/a.go", documented + "func f() {}\nvar v int\ntype t int", "", ""},

		// Files.
		{"vague name", "state/util.go", documented, "the file's name says nothing", "after the noun"},
		{"vague test", "state/helpers_test.go", "package state", "the file's name says nothing", "after the noun"},
		{"second version", "state/rows_v2.go", documented, "ends in a number", "replace the old one"},
		{"part two", "state/rows_2_test.go", "package state", "ends in a number", "replace the old one"},
		{"long file", "state/a.go", documented + strings.Repeat("\n", maxLines), "602 lines pass 600", "split it by noun"},
		{"long test", "state/a_test.go", "package state" + strings.Repeat("\n", maxLines+1), "", ""},
		{"too long test", "state/a_test.go", "package state" + strings.Repeat("\n", maxTestLines+1), "1001 lines pass 1000", "split it by noun"},
	} {
		s, err := parse(c.path, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		expect(t, c.name, check([]*source{s}, []string{"cmd"}), c.what, c.remedy)
	}
}

func expect(t *testing.T, name string, got []finding, what, remedy string) {
	t.Helper()
	switch {
	case what == "" && len(got) > 0:
		t.Errorf("%s: unexpected %v", name, got)
	case what != "" && (len(got) != 1 || !strings.Contains(got[0].what, what) || !strings.Contains(got[0].remedy, remedy)):
		t.Errorf("%s: %v, expected one with %q and %q", name, got, what, remedy)
	}
}

// TestFolders: a folder of the root that is not in the list is reported.
func TestFolders(t *testing.T) {
	expect(t, "known", check(nil, []string{"cmd", "views"}), "", "")
	expect(t, "unknown", check(nil, []string{"cmd", "pkg"}), "folder pkg is not one of the root's", "move it below one of cmd")
}

// TestLongFileReasons: a reason for a file that is short, gone or that gives none is reported.
func TestLongFileReasons(t *testing.T) {
	defer func(was map[string]string) { longFiles = was }(longFiles)
	s, err := parse("state/long.go", []byte("// Package state is.\npackage state"+strings.Repeat("\n", maxLines)))
	if err != nil {
		t.Fatal(err)
	}
	longFiles = map[string]string{"state/long.go": "one table"}
	expect(t, "listed", check([]*source{s}, nil), "", "")
	longFiles = map[string]string{"state/long.go": "one table", "state/gone.go": "one grammar"}
	expect(t, "gone", check([]*source{s}, nil), `0 lines with the reason "one grammar"`, "delete its line")
	longFiles = map[string]string{"state/long.go": ""}
	expect(t, "no reason", check([]*source{s}, nil), `the reason ""`, "delete its line")
}
