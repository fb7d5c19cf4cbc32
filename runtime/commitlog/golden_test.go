package commitlog

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestGolden runs operations and dumps the files. Commands:
//
//	open [segment=BYTES] [verify]
//	append seq=N [fill=BYTES]   the input's lines are the parts
//	sync | close | crash
//	trim upto=N
//	read [from=N]
//	state
//	list
//	dump                        all files, without lines of zeroes and repeated lines
//	poke file=N off=N           the input, in hex, goes into the file
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		g := &golden{fs: vfs.NewCrashableMem()}
		g.opts = testOptions(g.fs, 512)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return g.run(t, d)
		})
	})
}

type golden struct {
	fs   *vfs.MemFS
	opts Options
	log  *Log
}

func (g *golden) run(t *testing.T, d *datadriven.TestData) string {
	var seq uint64
	for _, key := range []string{"seq", "upto", "from"} {
		d.MaybeScanArgs(t, key, &seq)
	}
	switch d.Cmd {
	case "open":
		d.MaybeScanArgs(t, "segment", &g.opts.SegmentBytes)
		g.opts.VerifyAll = d.HasArg("verify")
		l, err := Open(g.opts)
		if err != nil {
			return err.Error()
		}
		g.log = l
		if torn, ok := l.Torn(); ok {
			return fmt.Sprintf("torn: %+v", torn)
		}
		return "ok"
	case "append":
		var parts [][]byte
		for _, line := range strings.Split(d.Input, "\n") {
			parts = append(parts, []byte(line))
		}
		if d.HasArg("fill") {
			var n int
			d.ScanArgs(t, "fill", &n)
			parts = append(parts, bytes.Repeat([]byte{0xee}, n))
		}
		return result(g.log.Append(seq, parts...))
	case "sync":
		return result(g.log.Sync())
	case "close":
		return result(g.log.Close())
	case "crash":
		g.fs = g.fs.CrashClone(vfs.CrashCloneCfg{})
		g.opts.FS = g.fs
		return "ok"
	case "trim":
		return result(g.log.Trim(seq))
	case "read":
		first, got, err := readAll(g.log, seq)
		var b strings.Builder
		for i, p := range got {
			fmt.Fprintf(&b, "%d: %d bytes %.24q\n", first+uint64(i), len(p), p)
		}
		return b.String() + result(err)
	case "state":
		l := g.log
		return fmt.Sprintf("first %d, last %d, synced %d, bytes %d", l.First(), l.Last(), l.Synced(), l.Bytes(0))
	}
	return g.files(t, d)
}

func (g *golden) files(t *testing.T, d *datadriven.TestData) string {
	fl := snapshot(t, g.fs)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fl)) {
		switch d.Cmd {
		case "list":
			fmt.Fprintf(&b, "%s %d\n", name, len(fl[name]))
		case "dump":
			fmt.Fprintf(&b, "%s\n%s", name, hexLines(fl[name]))
		}
	}
	if d.Cmd == "poke" {
		var file uint64
		var off int64
		d.ScanArgs(t, "file", &file)
		d.ScanArgs(t, "off", &off)
		var bytes []byte
		_, err := fmt.Sscanf(d.Input, "%x", &bytes)
		must(t, err)
		f, err := g.fs.OpenReadWrite("log/"+segmentName(file), vfs.WriteCategoryUnspecified)
		must(t, err)
		_, err = f.WriteAt(bytes, off)
		must(t, err)
		must(t, f.Close())
		return "ok"
	}
	return b.String()
}

func result(err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return "ok"
}

// hexLines dumps 16 bytes a line, and leaves out lines of zeroes and lines like the one before.
func hexLines(b []byte) string {
	var s strings.Builder
	var before []byte
	for off := 0; off < len(b); off += 16 {
		line := b[off:min(off+16, len(b))]
		if len(bytes.Trim(line, "\x00")) == 0 || bytes.Equal(line, before) {
			continue
		}
		before = line
		text := bytes.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return '.'
			}
			return r
		}, slices.Clone(line))
		fmt.Fprintf(&s, "%06x  % x  %s\n", off, line, text)
	}
	return s.String()
}

var writeFixture = flag.Bool("write-fixture", false, "write testdata of the current format version anew")

// The fixture was written by the first program with format version 1. It must open for ever.
func TestFixtureOfVersion1(t *testing.T) {
	const dir = "testdata/v1"
	var want [][]byte
	for seq := range uint64(12) {
		want = append(want, payload(seq+1, int(seq*30)))
	}
	if *writeFixture {
		fs := vfs.NewMem()
		l := mustOpen(t, testOptions(fs, 1024))
		for i, p := range want {
			must(t, l.Append(uint64(i+1), p))
			if i != 10 {
				must(t, l.Sync())
			}
		}
		must(t, os.MkdirAll(dir, 0o755)) // left as a crash leaves it
		for name, b := range snapshot(t, fs) {
			must(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	fl := files{}
	for _, e := range entries {
		fl[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
	}
	if len(fl) != 3 {
		t.Fatalf("the fixture has %d files", len(fl))
	}
	o := testOptions(fl.mem(t, segmentName(1), fl[segmentName(1)]), 1024)
	o.VerifyAll = true
	l, err := Open(o)
	must(t, err)
	_, got, err := readAll(l, 1)
	must(t, err)
	if !equal(got, want) {
		t.Fatal("the fixture reads otherwise")
	}
	must(t, l.Append(13, []byte("and it goes on")))
	must(t, l.Close())
}
