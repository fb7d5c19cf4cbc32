package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// testOptions make a log that repeats itself byte by byte.
func testOptions(fs vfs.FS, segmentBytes int64) Options {
	salt := uint64(0x5a17_0000_0000_0000)
	return Options{FS: fs, Dir: "log", SegmentBytes: segmentBytes, foreground: true,
		salt: func() uint64 { salt += 0x0101_0202; return salt }}
}

func mustOpen(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readAll returns the payloads from a record on.
func readAll(l *Log, from uint64) (first uint64, payloads [][]byte, err error) {
	r, err := l.Read(from)
	if err != nil {
		return 0, nil, err
	}
	defer closing(r, &err)
	for {
		seq, p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return first, payloads, nil
		}
		if err != nil {
			return first, payloads, err
		}
		if first == 0 {
			first = seq
		}
		if seq != first+uint64(len(payloads)) {
			return first, payloads, fmt.Errorf("record %d after %d", seq, first+uint64(len(payloads))-1)
		}
		payloads = append(payloads, bytes.Clone(p))
	}
}

// payload is n bytes that tell which record they are of.
func payload(seq uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seq)*31 + byte(i)*7 + 1
	}
	return b
}

func TestAppendReadAcrossSegmentsAndOpens(t *testing.T) {
	fs := vfs.NewMem()
	sizes := []int{0, 1, 7, 8, 200, 900, 1000, 5000, 3, 70000, 16 << 10, 900, 900}
	var want [][]byte
	for open := range 3 {
		l := mustOpen(t, testOptions(fs, 1024))
		if _, torn := l.Torn(); torn {
			t.Fatal("torn after a clean close")
		}
		for _, n := range sizes {
			seq := l.Last() + 1
			p := payload(seq, n)
			want = append(want, p)
			must(t, l.Append(seq, p[:n/3], p[n/3:n/2], nil, p[n/2:]))
		}
		must(t, l.Sync())
		for _, from := range []uint64{0, 1, 5, l.Last(), l.Last() + 1} {
			_, got, err := readAll(l, from)
			must(t, err)
			if w := want[max(from, 1)-1:]; !equal(got, w) {
				t.Fatalf("open %d: from %d: got %d records, want %d", open, from, len(got), len(w))
			}
		}
		must(t, l.Close())
	}
	o := testOptions(fs, 1024)
	o.VerifyAll = true
	must(t, mustOpen(t, o).Close())
}

func equal(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func TestPayloadIsAligned(t *testing.T) {
	l := mustOpen(t, testOptions(vfs.NewMem(), 64<<10))
	for n := range 20 {
		must(t, l.Append(uint64(n+1), payload(1, n)))
	}
	for _, s := range l.mu.segments {
		for _, m := range s.marks {
			if m.off%recordAlignment != 0 {
				t.Fatalf("record %d at offset %d", m.seq, m.off)
			}
		}
	}
}

func TestReaderSeesDurableRecordsOnly(t *testing.T) {
	l := mustOpen(t, testOptions(vfs.NewMem(), 1024))
	r, err := l.Read(0)
	must(t, err)
	next := func(want string) {
		t.Helper()
		_, p, err := r.Next()
		if got := fmt.Sprintf("%s %v", p, err); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	next(" EOF")
	must(t, l.Append(1, []byte("one")))
	next(" EOF")
	must(t, l.Sync())
	must(t, l.Append(2, []byte("two")))
	next("one <nil>")
	next(" EOF")
	must(t, l.Sync())
	next("two <nil>")
	next(" EOF")
	must(t, r.Close())
	must(t, r.Close())
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {FS: vfs.NewMem()}, {Dir: "log"}, {FS: vfs.NewMem(), Dir: "log", SegmentBytes: 8}} {
		if _, err := Open(o); err == nil {
			t.Fatalf("%+v is accepted", o)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	l := mustOpen(t, testOptions(vfs.NewMem(), 1024))
	for _, seq := range []uint64{0, 2} {
		if err := l.Append(seq, nil); !errors.Is(err, ErrOrder) {
			t.Fatal(err)
		}
	}
	if _, err := l.Read(2); !errors.Is(err, ErrOrder) {
		t.Fatal(err)
	}
	part := make([]byte, MaxPayloadBytes/8)
	if err := l.Append(1, part, part, part, part, part, part, part, part, []byte{0}); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	must(t, l.Append(1, nil))
	must(t, l.Close())
	for _, err := range []error{l.Append(2, nil), l.Sync(), l.Trim(0), l.Close()} {
		if !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
}

func TestTrimReusesFilesAndKeepsTheLastRecord(t *testing.T) {
	fs := vfs.NewMem()
	l := mustOpen(t, testOptions(fs, 1024))
	fill := func(n int) {
		for range n {
			must(t, l.Append(l.Last()+1, payload(l.Last()+1, 400)))
		}
		must(t, l.Sync())
	}
	fill(20) // two a segment
	slow, err := l.Read(1)
	must(t, err)
	_, _, err = slow.Next()
	must(t, err)
	must(t, l.Trim(9))
	if l.First() != 9 {
		t.Fatalf("first is %d", l.First())
	}
	if _, err := l.Read(8); !errors.Is(err, ErrTrimmed) {
		t.Fatal(err)
	}
	fill(20) // into a reused file, too
	if _, p, err := slow.Next(); err != nil || !bytes.Equal(p, payload(2, 400)) {
		t.Fatalf("a reader's file was reused: %v", err)
	}
	if _, _, err := slow.Next(); !errors.Is(err, ErrTrimmed) {
		t.Fatal(err)
	}
	must(t, l.Trim(l.Last()))
	if first, got, err := readAll(l, 0); err != nil || first != 39 || len(got) != 2 {
		t.Fatal(first, len(got), err)
	}
	must(t, l.Close())
	l = mustOpen(t, testOptions(fs, 1024))
	fill(1)
	if l.Last() != 41 || l.First() != 39 {
		t.Fatal(l.First(), l.Last())
	}
	names, err := fs.List("log")
	must(t, err)
	if len(names) > 4 {
		t.Fatal(names)
	}
}

func TestBytes(t *testing.T) {
	l := mustOpen(t, testOptions(vfs.NewMem(), 1<<20))
	for seq := range uint64(2000) {
		must(t, l.Append(seq+1, payload(seq, 968))) // 1000 with its header
	}
	for _, c := range []struct {
		seq  uint64
		want int64
	}{{0, 2_000_000}, {1, 2_000_000}, {1001, 1_000_000}, {2000, 1000}, {2001, 0}} {
		if got := l.Bytes(c.seq); got != c.want {
			t.Errorf("from %d: %d bytes, want %d", c.seq, got, c.want)
		}
	}
}

// A full disk refuses an append and harms nothing: with room again the same append succeeds.
func TestNoSpaceForASegment(t *testing.T) {
	full := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, tempSuffix) {
			return syscall.ENOSPC
		}
		return nil
	})}
	for _, foreground := range []bool{true, false} {
		fs := errorfs.Wrap(vfs.NewMem(), &full)
		o := testOptions(fs, 1024)
		o.foreground = foreground
		l := mustOpen(t, o)
		must(t, l.Append(1, payload(1, 700)))
		full.On()
		for range 2 {
			err := l.Append(2, payload(2, 900))
			if foreground && (!errors.Is(err, ErrNoSegment) || !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrFailed)) {
				t.Fatal(err)
			}
			if err == nil {
				break // the background was faster
			}
		}
		full.Off()
		if l.Last() == 1 {
			must(t, l.Append(2, payload(2, 900)))
		}
		must(t, l.Sync())
		_, got, err := readAll(l, 1)
		must(t, err)
		if len(got) != 2 {
			t.Fatal(len(got))
		}
		must(t, l.Close())
	}
}

// One writer, one trimmer and two readers run beside each other; segments are made in the background.
func TestConcurrentReadersAndTrim(t *testing.T) {
	const records = 2000
	o := testOptions(vfs.NewMem(), 8<<10)
	o.foreground = false
	l := mustOpen(t, o)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			r, err := l.Read(0)
			for want := uint64(0); want < records; {
				if errors.Is(err, ErrTrimmed) {
					if r != nil {
						_ = r.Close()
					}
					r, err = l.Read(0)
					want = 0
					continue
				}
				var seq uint64
				var p []byte
				if err == nil {
					seq, p, err = r.Next()
				}
				switch {
				case errors.Is(err, io.EOF):
					err = nil
				case err == nil && (want != 0 && seq != want+1 || !bytes.Equal(p, payload(seq, 100))):
					t.Errorf("record %d after %d", seq, want)
					return
				case err == nil:
					want = seq
				case !errors.Is(err, ErrTrimmed):
					t.Error(err)
					return
				}
			}
			_ = r.Close()
		})
	}
	for seq := range uint64(records) {
		must(t, l.Append(seq+1, payload(seq+1, 100)))
		if seq%3 == 2 || seq+1 == records {
			must(t, l.Sync())
		}
		if seq%200 == 199 {
			wg.Go(func() { _ = l.Trim(seq - 100) })
		}
	}
	wg.Wait()
	must(t, l.Close())
}

func TestOnDisk(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	o := Options{FS: vfs.Default, Dir: t.TempDir() + "/log", SegmentBytes: 256 << 10}
	var want [][]byte
	for range 3 {
		l := mustOpen(t, o)
		for range 30 {
			p := payload(l.Last(), rng.IntN(40000))
			want = append(want, p)
			must(t, l.Append(l.Last()+1, p[:len(p)/10], p[len(p)/10:]))
		}
		must(t, l.Sync())
		_, got, err := readAll(l, 1)
		must(t, err)
		if !equal(got, want) {
			t.Fatal("what was read is not what was written")
		}
		must(t, l.Close())
	}
}
