package commitlog

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkAppendSync is one writer on the disk of the temporary directory, each record synced by itself.
// What is written is trimmed, so that files are reused.
func BenchmarkAppendSync(b *testing.B) {
	for _, size := range []int{200, 800_000} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			l := mustOpen(b, Options{FS: vfs.Default, Dir: b.TempDir() + "/log"})
			head, body := make([]byte, 40), make([]byte, size-40)
			took := make([]time.Duration, 0, b.N)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				start := time.Now()
				must(b, l.Append(uint64(i+1), head, body))
				must(b, l.Sync())
				took = append(took, time.Since(start))
				if i%256 == 255 {
					must(b, l.Trim(l.Last()))
				}
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			must(b, l.Close())
		})
	}
}

// BenchmarkAppend is the cost without a sync: checksum and the write into the page cache.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 800_000} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			l := mustOpen(b, Options{FS: vfs.Default, Dir: b.TempDir() + "/log", foreground: true})
			head, body := make([]byte, 40), make([]byte, size-40)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				must(b, l.Append(l.Last()+1, head, body))
				if l.Bytes(0) > 60<<20 { // never roll: the record that starts a segment anew is the first
					b.StopTimer()
					l.writing.off, l.mu.segments[0].used = segmentHeaderBytes, segmentHeaderBytes
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkOpenAndRead is recovery of one full segment of records, from the page cache.
func BenchmarkOpenAndRead(b *testing.B) {
	for _, size := range []int{200, 800_000} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			o := Options{FS: vfs.Default, Dir: b.TempDir() + "/log"}
			l := mustOpen(b, o)
			p := make([]byte, size)
			for l.Bytes(0) < 60<<20 {
				must(b, l.Append(l.Last()+1, p))
			}
			must(b, l.Close())
			b.Run("open", func(b *testing.B) {
				b.SetBytes(l.Bytes(0))
				for b.Loop() {
					must(b, mustOpen(b, o).Close())
				}
			})
			l = mustOpen(b, o)
			b.Run("read", func(b *testing.B) {
				b.SetBytes(l.Bytes(0))
				for b.Loop() {
					r, err := l.Read(0)
					must(b, err)
					for err == nil {
						_, _, err = r.Next()
					}
					if !errors.Is(err, io.EOF) {
						b.Fatal(err)
					}
					must(b, r.Close())
				}
			})
		})
	}
}
