package operators_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/state/column"
)

// TestLookupBesideCommits looks groups up while commits change every group, new ones come, and others are
// voided: what is seen is one commit that was published between the call and its return.
func TestLookupBesideCommits(t *testing.T) {
	const commits, keys, readers = 120, 300, 3
	fields := fieldsOf(typeOf(column.Double, column.Double, column.Varchar)...)
	p := plainAggregate{fields, []int{0}, []plainCall{call("count_star", -1), call("sum", 1), call("max", 2)}}
	a := newAggregate(t, p.config(openDB(t)))
	var published atomic.Uint64
	var wg sync.WaitGroup
	for r := range readers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := r; published.Load() < commits; i++ {
				lookUp(t, a, &published, float64(i%keys))
			}
		}()
	}
	number := uint64(0)
	for n := uint64(1); n <= commits; n++ {
		delta := everyKey(keys, n)
		for _, void := range []bool{true, false} {
			number++
			must(t, a.Begin(number, n == 1))
			must(t, a.Add(delta, nil))
			_, err := a.Finish(true, nil)
			must(t, err)
			if void {
				a.Void()
				number--
				continue
			}
			a.Publish()
			published.Store(number)
		}
	}
	wg.Wait()
}

// everyKey has for each key k that is there from commit k mod 7 on a row (k, 1, the commit as text).
func everyKey(keys int, n uint64) *zset.Batch {
	var ks, ones []float64
	var texts []string
	for k := range keys {
		if n > uint64(k%7) {
			ks, ones = append(ks, float64(k)), append(ones, 1)
			texts = append(texts, string(rune('0'+n)))
		}
	}
	d := column.T(column.Double)
	return &zset.Batch{N: len(ks), Cols: []column.Column{
		column.Of(d, ks, nil), column.Of(d, ones, nil), column.OfStrings(column.T(column.Varchar), texts)}}
}

func lookUp(t *testing.T, a *operators.Aggregate, published *atomic.Uint64, key float64) {
	before := int64(published.Load())
	row, err := a.Lookup([]column.Column{column.Of(column.T(column.Double), []float64{key}, nil)}, published)
	after := int64(published.Load())
	if err != nil {
		t.Error(err)
		return
	}
	late := int64(key) % 7
	if row == nil {
		if before > late {
			t.Errorf("key %v is not there at commit %d", key, before)
		}
		return
	}
	n := column.Values[int64](&row[1])[0]
	sum := column.Values[float64](&row[2])[0]
	if n+late < before || n+late > after || sum != float64(n) || row[3].Str(0) != string(rune('0'+n+late)) {
		t.Errorf("key %v between commits %d and %d: count %d, sum %v, max %q", key, before, after, n, sum, row[3].Str(0))
	}
}
