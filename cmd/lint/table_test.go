package lint

// all stands for every package in a list of imports.
const all = "..."

// packages is the import table, from the nouns up: a package may import, of ours, what its line names,
// and a line names only packages above it. Tests may also import their own package, what tests names, and
// packages for tests, whose names end in "test". The file errors.go may import what errors names besides:
// it translates those packages' sentinels. Packages that are not written yet have their place already.
var packages = []struct {
	path    string
	imports []string
	tests   []string
	errors  []string
}{
	// Nouns.
	{path: "state/column"},
	{path: "state/column/columntest", imports: []string{"state/column"}},
	{path: "state/rowkey", imports: []string{"state/column"}},
	{path: "operators/zset", imports: []string{"state/column", "state/rowkey"}},
	{path: "operators/zset/zsettest", imports: []string{"state/column", "state/rowkey", "operators/zset"}},

	// Storage.
	{path: "state", imports: []string{"state/column", "state/rowkey"}},
	{path: "state/image", imports: []string{"state/column"}},
	{path: "runtime/commitlog"},
	{path: "runtime/logrec", imports: []string{"state/column"}, tests: []string{"runtime/commitlog"}},
	{path: "runtime/tier", imports: []string{"state/column", "state/image", "runtime/commitlog", "runtime/logrec"}},

	// Algebra.
	{path: "operators/expr", imports: []string{"state/column"}},
	{path: "operators/agg/exact"},
	{path: "operators/agg", imports: []string{"state/column", "state/rowkey", "operators/agg/exact", "operators/zset", "operators/expr"}},
	{path: "operators/trace", imports: []string{"state/column", "state/rowkey", "state", "operators/zset"}},
	{
		path: "operators",
		imports: []string{
			"state/column", "state/rowkey", "state", "state/image",
			"operators/zset", "operators/expr", "operators/agg/exact", "operators/agg", "operators/trace",
		},
	},
	{path: "operators/optest", imports: []string{"state/column", "state/rowkey", "state", "state/image", "operators/zset", "operators"}},

	// Meaning.
	{path: "views/plan/token"},
	{path: "views/duck", imports: []string{"state/column", "operators/expr", "views/plan/token"}, tests: []string{"state/image"}},
	{path: "views/plan", imports: []string{"state/column", "operators/expr", "operators/zset", "views/plan/token"}, tests: []string{"views/duck"}},
	{path: "views/catalog", imports: []string{"state/column", "views/plan", "views/plan/token"}, tests: []string{"state", "operators/expr"}},
	{
		path: "views/query",
		imports: []string{
			"state/column", "state/rowkey", "state/image", "operators/zset", "operators/expr",
			"views/duck", "views/plan/token", "views/plan", "views/catalog",
		},
		tests: []string{"state"},
	},
	{
		path: "views",
		imports: []string{
			"state/column", "state/rowkey", "state", "state/image",
			"operators/zset", "operators/expr", "operators/agg/exact", "operators/agg", "operators/trace", "operators",
			"views/duck", "views/plan/token", "views/plan", "views/catalog", "views/query",
		},
	},
	{path: "views/viewtest", imports: []string{"state/column", "state", "operators/zset", "views/duck", "views/plan", "views/catalog", "views"}},

	// Contracts.
	{path: "sources", imports: []string{"state/column", "operators/zset"}},
	{path: "sources/sourcetest", imports: []string{"state/column", "operators/zset", "sources"}},
	{path: "sinks", imports: []string{"state/column", "operators/zset"}},
	{path: "sinks/sinktest", imports: []string{"state/column", "operators/zset", "sinks"}},

	// Engine.
	{path: "runtime/decode", imports: []string{"state/column"}},
	{
		path: "runtime",
		imports: []string{
			"state/column", "state/rowkey", "state", "state/image", "operators/zset", "operators/expr", "operators",
			"views/duck", "views/plan/token", "views/plan", "views/catalog", "views/query", "views",
			"runtime/commitlog", "runtime/logrec", "runtime/tier", "runtime/decode", "sources", "sinks",
		},
	},
	{path: "runtime/crashtest", imports: []string{"state/column", "operators/zset", "runtime"}},
	{path: "runtime/crashtest/kill"},
	{path: "runtime/viewtest", imports: []string{"state/column", "views", "runtime"}},

	// Edge. A server knows the engine, the nouns, and the errors that it translates.
	{path: "runtime/httpd", imports: server, errors: sentinels},
	{path: "runtime/flightd", imports: server, errors: sentinels},
	{path: "runtime/kafkad", imports: server, errors: sentinels},
	{path: "runtime/pgd", imports: server, errors: sentinels},
	{path: "runtime/console"},
	{path: "nexmark", imports: []string{"state/column", "operators/zset", "runtime/decode", "runtime"}},
	{path: "cmd/lint"},
	{path: "cmd/tidemill/internal/client"},
	{path: "cmd/tidemill/internal/server", imports: []string{"runtime", "runtime/httpd"}},
	{path: "cmd/tidemill/internal/bench", imports: []string{"cmd/tidemill/internal/client"}, tests: []string{"cmd/tidemill/internal/server"}},
	{path: "cmd/tidemill/internal/table", imports: []string{"state/column"}},
	{path: "cmd/tidemill/internal/progress", imports: []string{"cmd/tidemill/internal/table"}},
	{
		path:    "cmd/tidemill/internal/load",
		imports: []string{"state/column", "views/duck", "cmd/tidemill/internal/client", "cmd/tidemill/internal/table"},
		tests:   []string{"cmd/tidemill/internal/server"},
	},
	{path: "cmd/tidemill/internal/export", imports: []string{"views/plan/token", "cmd/tidemill/internal/client"}, tests: []string{"cmd/tidemill/internal/server"}},
	{
		path: "cmd/tidemill/internal/shell",
		imports: []string{
			"views/plan/token", "views/catalog", "cmd/tidemill/internal/client", "cmd/tidemill/internal/table",
			"cmd/tidemill/internal/load", "cmd/tidemill/internal/export",
		},
		tests: []string{"cmd/tidemill/internal/server"},
	},
	{path: "cmd/tidemill/internal/top", imports: []string{"cmd/tidemill/internal/client", "cmd/tidemill/internal/table"}},
	{path: "cmd/tidemill/internal/demo", imports: []string{"cmd/tidemill/internal/client", "cmd/tidemill/internal/server"}},
	{path: "cmd/tidemill", imports: []string{all}},
}

var server = []string{
	"state/column", "operators/zset", "operators/expr", "views/plan/token", "views/plan", "views/catalog", "views/query", "views",
	"runtime/decode", "runtime",
}

// sentinels are the packages below the engine whose errors a server may have to translate.
var sentinels = []string{"state", "state/image", "runtime/commitlog", "runtime/logrec", "views/duck"}

// gates says which packages may import a module that is not ours, or cgo; of several lines that fit an
// import the longest counts. cmd is every command. inTests opens the gate to every test.
var gates = []struct {
	module  string
	in      []string
	inTests bool
}{
	// One file-system seam, which crash tests replace.
	{"github.com/cockroachdb/pebble/v2/vfs", []string{"state", "state/image", "runtime", "runtime/commitlog", "runtime/tier"}, true},
	{"github.com/cockroachdb/pebble/v2", []string{"state"}, false},
	{"github.com/zeebo/xxh3", []string{"state", "state/rowkey", "operators/zset", "operators", "runtime", "runtime/httpd", "cmd"}, false},
	{"github.com/tidwall/btree", []string{"state", "operators/trace"}, false},
	// DuckDB, and with it all of cgo; the driver of database/sql is the oracle of tests.
	{"C", []string{"views/duck"}, false},
	{"github.com/duckdb/duckdb-go-bindings", []string{"views/duck"}, false},
	{"github.com/duckdb/duckdb-go/v2", nil, true},
	// Arrow, where it comes in and goes out.
	{"github.com/apache/arrow-go/v18", []string{"state/column", "views/duck", "runtime/decode", "runtime/httpd", "runtime/flightd", "nexmark", "cmd"}, true},
	{"github.com/apache/arrow-go/v18/parquet", []string{"runtime/tier", "runtime/httpd", "sources/file", "sinks/file"}, true},
	{"github.com/klauspost/compress", []string{"runtime/decode", "runtime/httpd", "runtime/tier", "cmd"}, true},
	{"github.com/pierrec/lz4/v4", []string{"runtime/decode"}, true},
	// Protocols.
	{"github.com/twmb/franz-go/pkg/kmsg", []string{"runtime/kafkad"}, false},
	{"github.com/twmb/franz-go/pkg/kgo", []string{"sources/kafka", "sinks/kafka"}, true},
	{"google.golang.org/grpc", []string{"runtime/flightd", "cmd"}, true},
	{"github.com/prometheus/client_golang", []string{"runtime", "runtime/httpd", "cmd"}, false},
	{"github.com/spf13/cobra", []string{"cmd/tidemill"}, false},
	{"github.com/spf13/pflag", []string{"cmd/tidemill"}, false},
	// Terminals.
	{"github.com/reeflective/readline", []string{"cmd/tidemill/internal/shell"}, false},
	{"github.com/rivo/uniseg", []string{"cmd/tidemill/internal/table"}, false},
	{"golang.org/x/term", []string{"cmd"}, false},
	{"github.com/creack/pty", nil, true},
	{"golang.org/x/sys", []string{"state/image", "runtime/commitlog", "runtime", "cmd"}, true},
	// Tests.
	{"github.com/cockroachdb/datadriven", nil, true},
	{"pgregory.net/rapid", nil, true},
	{"go.yaml.in/yaml/v3", nil, true},
}

// folders are the folders of the repository's root.
var folders = []string{"cmd", "nexmark", "operators", "runtime", "sinks", "sources", "state", "views"}

// longFiles may pass the limit on lines, for the reason given.
var longFiles = map[string]string{}
