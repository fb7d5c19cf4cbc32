package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// files is the content of a log directory.
type files map[string][]byte

func snapshot(t testing.TB, fs vfs.FS) files {
	t.Helper()
	names, err := fs.List("log")
	must(t, err)
	out := files{}
	for _, name := range names {
		out[name] = fileBytes(t, fs, "log/"+name)
	}
	return out
}

func fileBytes(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	b := make([]byte, info.Size())
	if len(b) > 0 {
		_, err = f.ReadAt(b, 0)
		must(t, err)
	}
	return b
}

// mem returns a file system with the files, one of them replaced.
func (fl files) mem(t testing.TB, name string, content []byte) vfs.FS {
	t.Helper()
	fl = maps.Clone(fl)
	fl[name] = content
	fs := vfs.NewMem()
	must(t, fs.MkdirAll("log", 0o755))
	for n, b := range fl {
		f, err := fs.Create("log/"+n, vfs.WriteCategoryUnspecified)
		must(t, err)
		_, err = f.Write(append([]byte(nil), b...))
		must(t, err)
		must(t, f.Close())
	}
	return fs
}

// sample is a log of 16 records in several segments, each synced by itself, but the last ones together. It
// returns the files, the payloads, the last segment, and the places of its records and of its end.
func sample(t testing.TB, lastGroup int, closed bool) (fl files, want [][]byte, name string, marks []mark) {
	t.Helper()
	fs := vfs.NewMem()
	l := mustOpen(t, testOptions(fs, 1024))
	for i := range 16 {
		p := payload(uint64(i), 300-i*15)
		want = append(want, p)
		must(t, l.Append(uint64(i+1), p))
		if i < 16-lastGroup {
			must(t, l.Sync())
		}
	}
	must(t, l.Sync())
	seg := l.active()
	// The index is sparse; walk the records for their places.
	must(t, l.withWindow(seg, func(w *window) error {
		for off := int64(segmentHeaderBytes); ; {
			rec, err := w.record(off)
			if err != nil || rec.kind != kindRecord {
				return err
			}
			marks = append(marks, mark{rec.head.seq, off})
			off = rec.next(off)
		}
	}))
	if len(marks) < 4 || marks[0].seq == 1 {
		t.Fatalf("the sample has %d records in its last segment", len(marks))
	}
	if closed {
		must(t, l.Close())
	}
	return snapshot(t, fs), want, segmentName(seg.head.epoch), append(marks, mark{17, seg.used})
}

// recovered opens and reads a damaged log. It fails the test unless the log is a prefix of want or the damage
// is reported; it also appends to it and reads that back. It returns the records read, or -1 with the damage.
func recovered(t testing.TB, fs vfs.FS, want [][]byte) (int, *CorruptionError) {
	t.Helper()
	var damage *CorruptionError
	l, err := Open(testOptions(fs, 1024))
	if errors.As(err, &damage) {
		return -1, damage
	}
	must(t, err)
	_, got, err := readAll(l, 1)
	if errors.As(err, &damage) {
		return -1, damage
	}
	must(t, err)
	if len(got) > len(want) || !equal(got, want[:len(got)]) {
		t.Fatal("recovered records differ from those written")
	}
	for _, n := range []int{300 - 15*len(got), 30} { // the first has the size of the one lost
		must(t, l.Append(l.Last()+1, payload(99, n)))
	}
	must(t, l.Sync())
	l, err = Open(testOptions(fs, 1024))
	must(t, err)
	if _, again, err := readAll(l, 1); err != nil || len(again) != len(got)+2 {
		t.Fatalf("after %d records and two more: %d, %v", len(got), len(again), err)
	}
	return len(got), nil
}

// The last three records are one group that was never acknowledged; its write is cut off at every byte.
func TestTornTailAtEveryByte(t *testing.T) {
	rng := seeded(t)
	fl, want, name, marks := sample(t, 3, false)
	whole := fl[name]
	start, end := marks[len(marks)-4].off, marks[len(marks)-1].off
	for at := start; at < end; at++ {
		for _, how := range []string{"truncate", "zero", "garbage"} {
			cut := append([]byte(nil), whole[:at]...)
			switch how {
			case "zero":
				cut = append(cut, make([]byte, len(whole)-len(cut))...)
			case "garbage":
				for len(cut) < len(whole) {
					cut = append(cut, byte(rng.Uint32()))
				}
			}
			intact := 13
			for _, m := range marks[len(marks)-4 : len(marks)-1] {
				from, to := m.off, m.off+int64(recordHeaderBytes+len(want[m.seq-1]))
				if to > int64(len(cut)) || !bytes.Equal(cut[from:to], whole[from:to]) {
					break
				}
				intact++
			}
			if n, damage := recovered(t, fl.mem(t, name, cut), want); n != intact {
				t.Fatalf("%s at %d: recovered %d of %d: %v", how, at, n, intact, damage)
			}
		}
	}
}

// Of three unsynced records any may be missing, in any combination: never an error, always a prefix.
func TestUnsyncedRecordsLostInAnyOrder(t *testing.T) {
	fl, want, name, marks := sample(t, 3, false)
	n := len(marks)
	for lost := range 8 {
		b := append([]byte(nil), fl[name]...)
		prefix := 16
		for i := 2; i >= 0; i-- {
			if lost>>i&1 == 1 {
				clear(b[marks[n-4+i].off:marks[n-3+i].off])
				prefix = 13 + i
			}
		}
		got, damage := recovered(t, fl.mem(t, name, b), want)
		if damage != nil || got != prefix {
			t.Fatalf("lost %03b: recovered %d, want %d: %v", lost, got, prefix, damage)
		}
	}
}

// Every bit of every header, and of the last segment some of each payload, is flipped in a log that was
// closed: each must be reported, except in the end mark itself, whose loss loses nothing.
func TestBitFlipsAreDamage(t *testing.T) {
	fl, want, name, marks := sample(t, 1, true)
	flip := func(file string, off int64, bit int) vfs.FS {
		b := append([]byte(nil), fl[file]...)
		b[off] ^= 1 << bit
		return fl.mem(t, file, b)
	}
	check := func(file string, from, to int64, harmless bool) {
		t.Helper()
		for off := from; off < to; off++ {
			for bit := range 8 {
				n, damage := recovered(t, flip(file, off, bit), want)
				if harmless {
					if n != 16 {
						t.Fatalf("%s offset %d bit %d: %d records, %v", file, off, bit, n, damage)
					}
				} else if damage == nil || damage.File != "log/"+file {
					t.Fatalf("%s offset %d bit %d: recovered %d, damage %v", file, off, bit, n, damage)
				}
			}
		}
	}
	for file := range fl {
		check(file, 0, segmentHeaderBytes+recordHeaderBytes+2, false)
	}
	for i, m := range marks[:len(marks)-1] {
		// The bytes between the payload and the next record are padding, and mean nothing.
		check(name, m.off, m.off+recordHeaderBytes+3, false)
		check(name, m.off+recordHeaderBytes+int64(len(want[m.seq-1])), marks[i+1].off, true)
	}
	end := marks[len(marks)-1].off
	check(name, end, end+recordHeaderBytes, true)
}

// After a crash, without the end mark of Close, all but the last group is still told from a torn tail.
func TestBitFlipsAfterACrash(t *testing.T) {
	fl, want, name, marks := sample(t, 2, false)
	for _, m := range marks[:len(marks)-1] {
		for off := m.off; off < m.off+recordHeaderBytes; off++ {
			b := append([]byte(nil), fl[name]...)
			b[off] ^= 4
			n, damage := recovered(t, fl.mem(t, name, b), want)
			if m.seq <= 14 && damage == nil || m.seq > 14 && n != int(m.seq)-1 {
				t.Fatalf("record %d, offset %d: recovered %d, damage %v", m.seq, off, n, damage)
			}
		}
	}
}

func TestMissingAndMisplacedSegments(t *testing.T) {
	fl, want, name, _ := sample(t, 1, true)
	if len(fl) < 3 {
		t.Fatalf("the sample has %d segments", len(fl))
	}
	for file := range fl {
		for other, content := range fl {
			if other == file {
				continue
			}
			if _, damage := recovered(t, fl.mem(t, file, content), want); damage == nil {
				t.Fatalf("%s in place of %s: not reported", other, file)
			}
		}
		if file == segmentName(1) || file == name {
			continue // without the first the log looks trimmed; without the last, shorter: the engine knows better
		}
		gap := maps.Clone(fl)
		delete(gap, file)
		if _, damage := recovered(t, gap.mem(t, name, fl[name]), want); damage == nil {
			t.Fatalf("without %s: not reported", file)
		}
	}
	if _, damage := recovered(t, fl.mem(t, segmentName(1), fl[segmentName(1)][:500]), want); damage == nil {
		t.Fatal("a segment cut short was not reported")
	}
}

func TestTornIsReported(t *testing.T) {
	fl, _, name, marks := sample(t, 3, false)
	b := append([]byte(nil), fl[name]...)
	m := marks[len(marks)-4]
	b[m.off+recordHeaderBytes] ^= 1
	l := mustOpen(t, testOptions(fl.mem(t, name, b), 1024))
	torn, ok := l.Torn()
	torn.Reason = ""
	if want := (Torn{File: "log/" + name, Offset: m.off, Seq: 14, Records: 2}); !ok || torn != want {
		t.Fatalf("got %+v, want %+v", torn, want)
	}
}

func TestUnknownVersion(t *testing.T) {
	fl, _, name, _ := sample(t, 1, true)
	b := append([]byte(nil), fl[name]...)
	b[8] = 2
	crc := segmentHeaderCRC(b)
	for i := range 4 {
		b[12+i] = byte(crc >> (8 * i))
	}
	if _, err := Open(testOptions(fl.mem(t, name, b), 1024)); !errors.Is(err, ErrVersion) {
		t.Fatal(err)
	}
}

func TestCorruptionErrorNamesEverything(t *testing.T) {
	e := &CorruptionError{File: "log/1", Offset: 7, Reason: "why", Hint: "what next"}
	if got, want := fmt.Sprint(e), "commit log log/1 is damaged at offset 7: why (what next)"; got != want {
		t.Fatal(got)
	}
}

// TestRecordOfAnotherHistory puts a record in the place of one with the same number, of the same segment in
// another history: it is whole, but not what followed the record before it.
func TestRecordOfAnotherHistory(t *testing.T) {
	var lives [2]files
	var want [][]byte
	var at []int64
	for life := range lives {
		fs := vfs.NewMem()
		l := mustOpen(t, testOptions(fs, 1024))
		want, at = nil, nil
		for i := range uint64(4) {
			at = append(at, l.writing.off)
			p := payload(i+100*uint64(1-life), 40)
			want = append(want, p)
			must(t, l.Append(i+1, p))
		}
		must(t, l.Sync())
		lives[life] = snapshot(t, fs)
	}
	name := segmentName(1)
	mixed := bytes.Clone(lives[1][name])
	copy(mixed[at[2]:at[3]], lives[0][name][at[2]:at[3]])
	// No header says that the third was durable, so it is a torn tail.
	if n, damage := recovered(t, lives[1].mem(t, name, mixed), want); damage != nil || n != 2 {
		t.Errorf("%d records were read, %v; the third is of another history", n, damage)
	}
}
