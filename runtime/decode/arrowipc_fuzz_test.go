package decode

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/state/column"
)

// A damaged stream may be refused, or decode to other rows. It may not panic, give columns that
// break a column's promises, or allocate more than the bound on memory and what the stream itself
// is worth.

// arrowSeeds returns valid streams of every type, and the table that takes them all.
func arrowSeeds(t testing.TB) ([]column.Field, [][]byte) {
	r := rand.New(rand.NewPCG(3, 0))
	var table []column.Field
	var seeds [][]byte
	var all []arrow.Field
	var allCols []arrow.Array
	for i, c := range arrowCases() {
		name := fmt.Sprintf("c%d", i)
		table = append(table, column.Field{Name: name, Type: c.typ})
		f := []arrow.Field{{Name: name, Type: c.dt, Nullable: true}}
		a, b := randomArray(t, r, c, 9, i%2 == 0), randomArray(t, r, c, 20, true)
		opts := [][]ipc.Option{nil, {ipc.WithLZ4()}, {ipc.WithZstd()}}[i%3]
		seeds = append(seeds, writeStream(t, f, [][]arrow.Array{{a}, {b}}, opts...))
		if i%6 == 0 {
			all, allCols = append(all, f[0]), append(allCols, b)
		}
	}
	seeds = append(seeds, writeStream(t, all, [][]arrow.Array{allCols}), writeStream(t, all, [][]arrow.Array{allCols}, ipc.WithZstd()))
	return table, seeds
}

const fuzzMaxBytes = 1 << 20

// decodeBounded decodes a body and fails if that allocated more than it may.
func decodeBounded(t testing.TB, d *Arrow, body []byte) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := d.Decode(body)
	runtime.ReadMemStats(&after)
	// Beside the bound: the schema and the parts; and a decompressor's own buffers, at most the
	// largest block of LZ4 twice.
	limit := uint64(fuzzMaxBytes + 64*len(body) + 1<<16 + 8<<20)
	if n := after.TotalAlloc - before.TotalAlloc; n > limit {
		t.Fatalf("a body of %d bytes made %d bytes of garbage (%v)", len(body), n, err)
	}
	if err == nil {
		checkRows(t, r)
	}
	return err
}

// mutate returns body with a few changes of the kinds that hurt: other bytes, flipped bits, huge
// and negative lengths, pieces cut out, doubled or moved.
func mutate(r *rand.Rand, body []byte) []byte {
	b := append([]byte(nil), body...)
	for range 1 + r.IntN(3) {
		if len(b) < 16 {
			return b
		}
		i := r.IntN(len(b) - 8)
		switch r.IntN(8) {
		case 0, 1:
			b[i] = byte(r.Uint32())
		case 2, 3:
			b[i] ^= 1 << r.IntN(8)
		case 4:
			le.PutUint32(b[i&^3:], []uint32{0x7fffffff, 0xffffffff, 0x80000000, 0, 1 << 20, 0x40000000}[r.IntN(6)])
		case 5:
			le.PutUint64(b[i&^7:], []uint64{1<<63 - 1, 1<<64 - 1, 1 << 40, 1 << 31, 1 << 20, 0}[r.IntN(6)])
		case 6:
			copy(b[i:], b[r.IntN(len(b)):])
		case 7:
			n := min(8*(1+r.IntN(8)), len(b)-i)
			b = append(b[:i:i], b[i+n:]...)
		}
	}
	return b
}

func TestArrowMutations(t *testing.T) {
	table, seeds := arrowSeeds(t)
	seed := testSeed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	d := NewArrow(table, Options{MaxBytes: fuzzMaxBytes})
	accepted := 0
	for i := range 6000 {
		body := mutate(r, seeds[i%len(seeds)])
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("seed %d, round %d: %v\n%x", seed, i, p, body)
				}
			}()
			if decodeBounded(t, d, body) == nil {
				accepted++
			}
		}()
	}
	t.Logf("seed %d: %d of 6,000 mutated streams still decoded", seed, accepted)
}

func TestArrowBitFlips(t *testing.T) {
	table, seeds := arrowSeeds(t)
	d := NewArrow(table, Options{MaxBytes: fuzzMaxBytes})
	for k, body := range seeds {
		for bit := k % 7; bit < 8*len(body); bit += 29 {
			body[bit/8] ^= 1 << (bit % 8)
			if r, err := d.Decode(body); err == nil {
				checkRows(t, r)
			}
			body[bit/8] ^= 1 << (bit % 8)
		}
		if _, err := d.Decode(body); err != nil {
			t.Fatalf("stream %d after the flips: %v", k, err)
		}
	}
}

func FuzzArrowStream(f *testing.F) {
	table, seeds := arrowSeeds(f)
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := NewArrow(table, Options{MaxBytes: fuzzMaxBytes})
		err := decodeBounded(t, d, body)
		again, err2 := d.Decode(body) // by the remembered schema, if there was one
		if (err == nil) != (err2 == nil) {
			t.Fatalf("first %v, then %v", err, err2)
		}
		_ = again
	})
}
