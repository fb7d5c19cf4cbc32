package optest

import (
	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/operators/zset/zsettest"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/image"
	"tidemill/state/rowkey"
)

// absentKeys is how many random keys are looked up after a commit, besides those that once had a row.
const absentKeys = 4

// check compares everything that can be read with the recomputation. last is for variants whose relation
// is not read on the way.
func (p *play) check(last bool) {
	in := make([]*zset.Batch, len(p.in))
	for k := range in {
		if in[k] = p.in[k].Batch(); in[k] == nil {
			in[k] = empty(p.c.Inputs[k].Fields)
		}
	}
	bad := &operators.Rejects{}
	want := zset.Consolidate(p.c.Want(in, bad))
	p.equal("rejects", p.bad.Batch(), bad.Batch())
	if !p.v.unwanted {
		p.equal("output", p.out.Batch(), want)
	}
	if p.v.unread && !last {
		return
	}
	if r, ok := p.op.(Relation); ok {
		snap, err := r.Snapshot()
		p.must(err)
		p.equal("snapshot", p.rows(snap), want)
	}
	if k, ok := p.op.(Keyed); ok {
		p.lookups(k, want)
	}
}

func (p *play) equal(what string, got, want *zset.Batch) {
	p.t.Helper()
	if !zset.Equal(got, want) {
		p.fatalf("%s is\n%swant\n%s", what, zsettest.Format(got), zsettest.Format(want))
	}
}

func (p *play) rows(s *image.Snapshot) *zset.Batch {
	var all []*zset.Batch
	n := int64(0)
	for i := range s.Chunks {
		c := &s.Chunks[i]
		cols, err := c.Columns()
		p.must(err)
		b := &zset.Batch{Cols: cols, N: c.N}
		if b = b.Filter(c.Live); b != nil {
			all = append(all, b)
			n += int64(b.N)
		}
	}
	if n != s.Rows {
		p.fatalf("snapshot of %d rows says %d", n, s.Rows)
	}
	return zset.Concat(all...)
}

// lookups looks up every row of want, the keys that had a row before, and others.
func (p *play) lookups(k Keyed, want *zset.Batch) {
	here := map[string]bool{}
	if want != nil {
		enc := keyEncoder(want.Cols[:p.c.Keys])
		p.types = enc.Types()
		for i := range want.N {
			cols := rowOf(want.Cols, i)
			key := string(enc.AppendKey(nil, cols[:p.c.Keys], 0))
			if here[key] {
				p.fatalf("two rows have the key of %s", zsettest.Row(want, i))
			}
			here[key], p.keys[key] = true, cols[:p.c.Keys]
			got, err := k.Lookup(cols[:p.c.Keys], &p.published)
			p.must(err)
			if got == nil {
				p.fatalf("lookup finds nothing for %s", zsettest.Row(want, i))
			}
			p.equal("lookup", &zset.Batch{Cols: got, N: 1}, &zset.Batch{Cols: cols, N: 1})
		}
	}
	p.absent(k, here)
}

func (p *play) absent(k Keyed, here map[string]bool) {
	for key, cols := range p.keys {
		if here[key] {
			continue
		}
		p.noRow(k, cols)
	}
	for range absentKeys {
		random := columntest.Columns(p.rand, p.types, 1)
		if p.types != nil && !here[string(keyEncoder(random).AppendKey(nil, random, 0))] {
			p.noRow(k, random)
		}
	}
}

func (p *play) noRow(k Keyed, key []column.Column) {
	got, err := k.Lookup(key, &p.published)
	p.must(err)
	if got != nil {
		p.fatalf("lookup of an absent key %s finds %s", zsettest.Row(&zset.Batch{Cols: key, N: 1}, 0),
			zsettest.Row(&zset.Batch{Cols: got, N: 1}, 0))
	}
}

func keyEncoder(cols []column.Column) *rowkey.Encoder {
	types := make([]column.Type, len(cols))
	for i := range cols {
		types[i] = cols[i].Type
	}
	return rowkey.NewEncoder(types)
}

func rowOf(cols []column.Column, i int) []column.Column {
	out := make([]column.Column, len(cols))
	for k := range cols {
		out[k] = cols[k].Gather([]int32{int32(i)})
	}
	return out
}

func empty(fields []column.Field) *zset.Batch {
	b := &zset.Batch{Cols: make([]column.Column, len(fields))}
	for i, f := range fields {
		b.Cols[i] = column.NewBuilder(f.Type, 0).Finish()
	}
	return b
}
