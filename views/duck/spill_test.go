package duck

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpill sorts more than the memory limit, with room on disk, with too little and with none.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	const sql = "SELECT count(*) FROM (SELECT k, md5(k::VARCHAR) || md5((-k)::VARCHAR) AS t FROM range(400000) r(k) ORDER BY t OFFSET 10) WHERE t <> ''"
	for _, c := range []struct {
		name, temp string
		max        int64
		want       string // part of the error
	}{
		{"room", filepath.Join(dir, "a"), 1 << 30, ""},
		{"too little", filepath.Join(dir, "b"), 1 << 20, "max_temp_directory_size"},
		{"none", "", 0, "Out of Memory"},
	} {
		x, err := OpenExec(Options{Threads: 2, MemoryLimit: 24 << 20, TempDir: c.temp, MaxTempBytes: c.max})
		if err != nil {
			t.Fatal(err)
		}
		r, err := x.Query(context.Background(), sql, nil, tables{})
		if err == nil {
			_, _, err = r.ReadAll()
			r.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if memory, spilled, err := x.Usage(); err != nil || memory > 24<<20 || spilled != 0 {
			t.Errorf("%s: %d bytes in memory, %d spilled, %v", c.name, memory, spilled, err)
		}
		x.Close()
		if _, _, err := x.Usage(); err == nil {
			t.Errorf("%s: a closed engine has a usage", c.name)
		}
		if names, _ := os.ReadDir(c.temp); len(names) > 0 {
			t.Errorf("%s: left behind: %v", c.name, names)
		}
	}
}
