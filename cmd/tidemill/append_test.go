package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemill/cmd/tidemill/internal/client"
)

// numbers writes a CSV file with the rows 0 to n-1.
func numbers(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("i,text\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,v%d\n", i, i%7)
	}
	path := filepath.Join(t.TempDir(), "numbers.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command makes a command that is not started yet, with its output in one place.
func command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "XDG_STATE_HOME="+t.TempDir())
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// waitForRows asks the server until the table has some of the rows.
func waitForRows(t *testing.T, c *client.Client, table string, rows int64) {
	t.Helper()
	for {
		stats, err := c.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r := stats.Relation(table); r != nil && r.Rows >= rows {
			return
		}
	}
}

// checkNumbers compares the table and its view with the rows 0 to n-1.
func checkNumbers(t *testing.T, c *client.Client, n int64) {
	t.Helper()
	row, err := c.One(t.Context(), "SELECT count(*) AS n, count(DISTINCT i) AS d, sum(i)::BIGINT AS s, (SELECT sum(n)::BIGINT FROM v) AS vn, (SELECT sum(s)::BIGINT FROM v) AS vs FROM numbers")
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]int64{"n": n, "d": n, "s": n * (n - 1) / 2, "vn": n, "vs": n * (n - 1) / 2} {
		if row.Int(column) != want {
			t.Errorf("%s is %d instead of %d: %v", column, row.Int(column), want, row)
		}
	}
}

const numbersSQL = "CREATE TABLE numbers (i BIGINT, text VARCHAR); CREATE MATERIALIZED VIEW v AS SELECT text, count(*) AS n, sum(i) AS s FROM numbers GROUP BY text"

// TestAppendKilled: a load that is killed goes on where it was, with another size of batches, and a third run has
// nothing to do.
func TestAppendKilled(t *testing.T) {
	const rows = 60_000
	file := numbers(t, rows)
	url := start(t, "serve", "--dir", t.TempDir(), "--addr", "127.0.0.1:0").url()
	c := client.New(url)
	defer c.Close()
	if _, err := c.SQL(t.Context(), numbersSQL); err != nil {
		t.Fatal(err)
	}
	cut, _ := command(t, "append", "numbers", file, "--url", url, "--batch-rows", "100")
	if err := cut.Start(); err != nil {
		t.Fatal(err)
	}
	waitForRows(t, c, "numbers", 1000)
	if err := cut.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cut.Wait(); err == nil {
		t.Fatal("the load was over before it was killed: give it more rows")
	}
	again, out := command(t, "append", "numbers", file, "--url", url, "--batch-rows", "7777")
	if err := again.Run(); err != nil || !strings.Contains(out.String(), "goes on after row ") || !strings.Contains(out.String(), " rows were there before") {
		t.Fatalf("%v\n%s", err, out)
	}
	checkNumbers(t, c, rows)
	third, out := command(t, "append", "numbers", file, "--url", url)
	if err := third.Run(); err != nil || !strings.Contains(out.String(), "nothing to append: all 60,000 rows were appended to numbers before") {
		t.Fatalf("%v\n%s", err, out)
	}
	checkNumbers(t, c, rows)
}

// TestAppendServerKilled: the server is killed under a load and started again; the load waits and goes on.
func TestAppendServerKilled(t *testing.T) {
	const rows = 60_000
	file, dir := numbers(t, rows), t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that stays the same
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	server := start(t, "serve", "--dir", dir, "--addr", addr)
	url := server.url()
	c := client.New(url)
	defer c.Close()
	if _, err := c.SQL(t.Context(), numbersSQL); err != nil {
		t.Fatal(err)
	}
	load, out := command(t, "append", "numbers", file, "--url", url, "--batch-rows", "100")
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	waitForRows(t, c, "numbers", 1000)
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.wait()
	start(t, "serve", "--dir", dir, "--addr", addr).url()
	if err := load.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"trying again for 5m0s", "the server is back", "appended 60,000 rows to numbers"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	checkNumbers(t, c, rows)
}

// TestExitCodes: scripts can tell success, failing SQL, and a server that is not there.
func TestExitCodes(t *testing.T) {
	url := start(t, "serve", "--dir", t.TempDir(), "--addr", "127.0.0.1:0").url()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(script, []byte("SELECT 1 AS one;\nSELECT nope;\nSELECT 3 AS three;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"sql --url " + url + " -c SELECT_1", 1, "error:"},
		{"sql --url " + url + " " + script, 1, "in " + script},
		{"sql --url " + url + " --keep-going " + script, 1, "three"},
		{"sql --url " + url + " --format csv -c \\d", 0, "there are no relations"},
		{"sql --url 127.0.0.1:1 -c SELECT_1", 2, "cannot reach 127.0.0.1:1"},
		{"sql --url " + url + " --formt csv", 2, "did you mean --format?\nsee tidemill sql --help"},
		{"sql --format xml", 2, `"xml" is no format`},
		{"sql --dir " + dir + " -c \\conninfo", 2, "it holds script.sql"},
		{"sql --url " + url + " none.sql", 2, "none.sql: no such file"},
		{"sqll", 2, "Did you mean this?\n\tsql"},
		{"append --url " + url + " t", 2, "name a table and at least one file"},
		{"append --url " + url + " t " + script, 1, "there is no table t: make it with CREATE TABLE, or add --create"},
		{"append --url " + url + " t none.csv", 1, "none.csv: no such file"},
		{"append --url " + url + " t " + script + " --key a", 2, "add --create"},
		{"export --url " + url + " t x.txt", 1, "the suffix of x.txt is none of"},
		{"export --url " + url + " nothing " + filepath.Join(dir, "x.json"), 1, "nothing"},
		{"top --url " + url + " --count 1", 0, "appended  0.0 rows/s"},
	} {
		cmd, out := command(t, strings.Fields(c.args)...)
		for i, a := range cmd.Args {
			cmd.Args[i] = strings.ReplaceAll(a, "SELECT_1", "SELECT nope")
		}
		_ = cmd.Run() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit code %d, expected %d with %q:\n%s", c.args, code, c.code, c.want, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("what failed left %v, error %v", left, err)
	}
}
