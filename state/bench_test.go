package state

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// cpu reports the processor's time by unit of work: a busy machine stretches the clock's.
func cpu(b *testing.B, start time.Duration, per float64, unit string) {
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/per, "cpu-ns/"+unit)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchTable(b *testing.B, mode Mode) (*DB, *Table, *sumCells) {
	db, err := Open(Options{Dir: "state", FS: vfs.NewMem()})
	must(b, err)
	b.Cleanup(func() { must(b, db.Close()) })
	c := &sumCells{}
	t, err := NewTable(db, TableOptions{Keyspace: 1, Mode: mode}, c)
	must(b, err)
	return db, t, c
}

func BenchmarkFindFixed(b *testing.B) {
	for _, random := range []bool{false, true} {
		for _, n := range []int{10_000, 100_000} {
			b.Run(fmt.Sprintf("random=%t/batch=%d", random, n), func(b *testing.B) {
				_, t, c := benchTable(b, FixedKeys)
				r := rand.New(rand.NewPCG(1, 2))
				pool := make([]uint64, 100_000)
				for i := range pool {
					pool[i] = uint64(i)*48271 + 11
					if random {
						pool[i] = r.Uint64()
					}
				}
				out := make([]int32, len(pool))
				t.Begin(1)
				must(b, t.FindFixed(pool, nil, out))
				t.Touch(out)
				for _, s := range out {
					c.cur[s] = 1
				}
				t.Publish(1)
				rows := make([]uint64, 1_000_000)
				for i := range rows {
					rows[i] = pool[r.IntN(len(pool))]
				}
				out = make([]int32, n)
				t.Begin(2)
				at := 0
				start := cpuTime()
				for b.Loop() {
					if at+n > len(rows) {
						at = 0
					}
					if err := t.FindFixed(rows[at:at+n], nil, out); err != nil {
						b.Fatal(err)
					}
					at += n
				}
				cpu(b, start, float64(n), "row")
			})
		}
	}
}

// BenchmarkFindMap is the runtime's map at what BenchmarkFindFixed does, to compare with on the
// same machine.
func BenchmarkFindMap(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	m := map[uint64]int32{}
	pool := make([]uint64, 100_000)
	for i := range pool {
		pool[i] = r.Uint64()
		m[pool[i]] = int32(i)
	}
	rows := make([]uint64, 1_000_000)
	for i := range rows {
		rows[i] = pool[r.IntN(len(pool))]
	}
	const n = 10_000
	out := make([]int32, n)
	at := 0
	start := cpuTime()
	for b.Loop() {
		if at+n > len(rows) {
			at = 0
		}
		for i, k := range rows[at : at+n] {
			out[i] = m[k]
		}
		at += n
	}
	cpu(b, start, n, "row")
}

// BenchmarkCommitFixed is a whole commit's share of the table: find, touch, add, publish.
func BenchmarkCommitFixed(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			_, t, c := benchTable(b, FixedKeys)
			r := rand.New(rand.NewPCG(1, 2))
			rows := make([]uint64, 1_000_000)
			for i := range rows {
				rows[i] = r.Uint64N(100_000)
			}
			out := make([]int32, n)
			commit, at := uint64(0), 0
			start := cpuTime()
			for b.Loop() {
				if at+n > len(rows) {
					at = 0
				}
				commit++
				t.Begin(commit)
				if err := t.FindFixed(rows[at:at+n], nil, out); err != nil {
					b.Fatal(err)
				}
				t.Touch(out)
				for _, s := range out {
					c.cur[s]++
				}
				t.Publish(commit)
				at += n
			}
			cpu(b, start, float64(n), "row")
		})
	}
}

func BenchmarkFindBytes(b *testing.B) {
	for _, size := range []int{8, 12, 30} {
		for _, distinct := range []int{8, 8_000, 100_000} {
			b.Run(fmt.Sprintf("bytes=%d/distinct=%d", size, distinct), func(b *testing.B) {
				_, t, _ := benchTable(b, ByteKeys)
				r := rand.New(rand.NewPCG(1, 2))
				const n = 100_000
				var arena []byte
				offs := []int32{0}
				for range n {
					arena = fmt.Appendf(arena, "%0*d", size, r.IntN(distinct))
					offs = append(offs, int32(len(arena)))
				}
				out := make([]int32, n)
				t.Begin(1)
				start := cpuTime()
				for b.Loop() {
					if err := t.FindBytes(arena, offs, out); err != nil {
						b.Fatal(err)
					}
				}
				cpu(b, start, n, "row")
			})
		}
	}
}

// BenchmarkCheckpoint times the two halves of a checkpoint: collect on the commit thread, commit
// in the background, on the disk.
func BenchmarkCheckpoint(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db, err := Open(Options{Dir: b.TempDir(), FS: vfs.Default})
			must(b, err)
			defer db.Close()
			c := &sumCells{}
			t, err := NewTable(db, TableOptions{Keyspace: 1}, c)
			must(b, err)
			r := rand.New(rand.NewPCG(1, 2))
			keys := make([]uint64, n)
			for i := range keys {
				keys[i] = r.Uint64()
			}
			out := make([]int32, n)
			commit := uint64(0)
			var commits float64
			for b.Loop() {
				b.StopTimer()
				commit++
				t.Begin(commit)
				must(b, t.FindFixed(keys, nil, out))
				t.Touch(out)
				for i, s := range out {
					c.cur[s] = int64(i) + int64(commit)
				}
				t.Publish(commit)
				b.StartTimer()
				cp := db.NewCheckpoint(commit)
				t.Collect(cp)
				before := b.Elapsed()
				must(b, cp.Commit(context.Background()))
				commits += float64(b.Elapsed() - before)
				t.Cleaned(cp)
			}
			b.ReportMetric(commits/float64(b.N)/float64(n), "commit-ns/entry")
			b.ReportMetric((float64(b.Elapsed())-commits)/float64(b.N)/float64(n), "collect-ns/entry")
		})
	}
}

func BenchmarkOrderedAdd(b *testing.B) {
	for _, kind := range []string{"random", "ascending"} {
		b.Run(kind, func(b *testing.B) {
			db, err := Open(Options{Dir: "state", FS: vfs.NewMem()})
			must(b, err)
			defer db.Close()
			o, err := NewOrdered(db, OrderedOptions{Keyspace: 1})
			must(b, err)
			r := rand.New(rand.NewPCG(1, 2))
			const n = 1_000_000
			key := func(i int) []byte {
				if kind == "random" {
					i = r.IntN(n * 10)
				}
				k := binary.BigEndian.AppendUint64([]byte{1}, uint64(i/10))
				return binary.BigEndian.AppendUint64(append(k, 1), uint64(i%10)<<32)
			}
			flat := make([]byte, 0, 18*2*n) // no pointers: the collector should see the map's only
			for i := range 2 * n {
				flat = append(flat, key(i)...)
			}
			keyAt := func(i int) []byte { return flat[18*i : 18*i+18] }
			o.Begin(1)
			for i := range n {
				if _, _, err := o.Add(keyAt(i), 1); err != nil {
					b.Fatal(err)
				}
			}
			o.Publish(1)
			commit, i := uint64(2), n
			o.Begin(commit)
			start := cpuTime()
			for b.Loop() {
				// One in, one out, so that about a million stay.
				w := int64(1)
				if i&1 == 0 {
					w = -1
				}
				k := keyAt(i % (2 * n))
				if w < 0 {
					k = keyAt(i / 2 % n)
				}
				if _, _, err := o.Add(k, w); err != nil {
					b.Fatal(err)
				}
				if i++; i%10_000 == 0 {
					o.Publish(commit)
					commit++
					o.Begin(commit)
				}
			}
			cpu(b, start, 1, "add")
		})
	}
}
