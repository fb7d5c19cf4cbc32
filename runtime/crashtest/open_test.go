package crashtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/runtime"
)

// contents reads all files but the lock.
func contents(t *testing.T, fs vfs.FS, dir string) string {
	t.Helper()
	names, err := files(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, n := range names {
		if strings.HasSuffix(n, "/LOCK") {
			continue
		}
		f, err := fs.Open(n)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %q\n", n, b)
	}
	return all.String()
}

func write(t *testing.T, fs vfs.FS, path, text string) {
	t.Helper()
	if err := fs.MkdirAll(fs.PathDir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(text))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestForeignDirectories opens what is not ours: it is refused and stays as it was.
func TestForeignDirectories(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		ours             bool // the file is put into a directory of ours
		want             error
	}{
		{"a letter", "letter.txt", "dear all", false, runtime.ErrNotOurs},
		{"a state of somebody else", "state/CURRENT", "MANIFEST-000001\n", false, runtime.ErrNotOurs},
		{"a file beside ours", "notes.txt", "mine", true, runtime.ErrNotOurs},
		{"a later format", "state/TIDEMILL", "tidemill state 2\n", true, runtime.ErrNewerFormat},
		{"another identity", "state/TIDEMILL", "somebody else's\n", true, runtime.ErrNotOurs},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			if c.ours {
				e, err := runtime.Open(options(fs))
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(create(e), e.Close()); err != nil {
					t.Fatal(err)
				}
			}
			write(t, fs, dataDir+"/"+c.file, c.text)
			before := contents(t, fs, dataDir)
			e, err := runtime.Open(options(fs))
			if err == nil {
				e.Close()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("open gives %v, want %v", err, c.want)
			}
			if after := contents(t, fs, dataDir); after != before {
				t.Errorf("the directory was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

const childVariable = "TIDEMILL_CRASHTEST_DIR"

// TestLocked opens a directory that another process, and this one, has open.
func TestLocked(t *testing.T) {
	if dir := os.Getenv(childVariable); dir != "" { // the other process
		e, err := runtime.Open(runtime.Options{Dir: dir})
		if err == nil {
			e.Close()
		}
		if !errors.Is(err, runtime.ErrLocked) {
			t.Fatalf("open gives %v", err)
		}
		return
	}
	dir := t.TempDir()
	e, err := runtime.Open(runtime.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := runtime.Open(runtime.Options{Dir: dir}); !errors.Is(err, runtime.ErrLocked) {
		t.Errorf("a second open in the process gives %v", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLocked$")
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a second process: %v\n%s", err, out)
	}
	if _, _, err := rows(e, tables[0]); err != nil {
		t.Errorf("the first is disturbed: %v", err)
	}
}
