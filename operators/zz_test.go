package operators_test

import (
	"fmt"
	"os"
	"testing"
	"time"
	"math/rand/v2"

	"tidemill/state/column"
	"tidemill/operators/zset"
)

func TestZZ(t *testing.T) {
	b := &testing.B{}
	_ = b
	which := os.Getenv("ZZ")
	types, key := typeOf(column.Int64), intKey
	if which == "text" {
		types, key = typeOf(column.Varchar, column.Varchar), textKeys
	}
	fields := fieldsOf(append(types, column.T(column.Double))...)
	p := plainAggregate{fields: fields, calls: []plainCall{call("count_star", -1), call("sum", len(types))}}
	for i := range types {
		p.groups = append(p.groups, i)
	}
	a := newAggregate(t, p.config(openDB(t)))
	ds := deltas(4, benchRows, 100_000, key)
	var beg, add, fin, pub, tot time.Duration
	beg, add, fin, pub, tot = 1<<60, 1<<60, 1<<60, 1<<60, 1<<60
	n := uint64(0)
	for i := range 150 {
		n++
		t0 := time.Now()
		must(t, a.Begin(n, n == 1))
		t1 := time.Now()
		must(t, a.Add(ds[i%4], nil))
		t2 := time.Now()
		_, err := a.Finish(os.Getenv("WANTED") != "", nil)
		must(t, err)
		t3 := time.Now()
		a.Publish()
		t4 := time.Now()
		beg, add, fin, pub, tot = min(beg, t1.Sub(t0)), min(add, t2.Sub(t1)), min(fin, t3.Sub(t2)), min(pub, t4.Sub(t3)), min(tot, t4.Sub(t0))
	}
	fmt.Printf("min ns/row: begin %.1f add %.1f finish %.1f publish %.1f total %.1f\n", float64(beg)/benchRows, float64(add)/benchRows, float64(fin)/benchRows, float64(pub)/benchRows, float64(tot)/benchRows)
}

func TestZZBare(t *testing.T) {
	type e struct{ k uint64; c int64; s float64 }
	tab := make([]e, 1<<18)
	ds := deltas(4, benchRows, 100_000, intKey)
	_ = rand.Uint64
	best := time.Duration(1 << 60)
	run := func(d *zset.Batch) {
		ks, vs := column.Values[int64](&d.Cols[0]), column.Values[float64](&d.Cols[1])
		for i, k := range ks {
			h := uint64(k) * 0x9e3779b97f4a7c15 >> 46
			for tab[h].k != uint64(k)+1 && tab[h].k != 0 {
				h = (h + 1) & (1<<18 - 1)
			}
			tab[h].k = uint64(k) + 1
			tab[h].c++
			tab[h].s += vs[i]
		}
	}
	for i := range 150 {
		t0 := time.Now()
		run(ds[i%4])
		best = min(best, time.Since(t0))
	}
	fmt.Printf("bare plain float: min %.1f ns/row\n", float64(best)/benchRows)
}
