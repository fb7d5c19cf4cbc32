package optest

import (
	"math/rand/v2"
	"strings"

	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// history is commits, each with the delta of every input, nil for none.
type history [][]*zset.Batch

const (
	commits  = 8
	poolRows = 40
	maxDelta = 24
)

// generate returns a history in which no input ever holds a negative row at the end of a commit, though
// within one a retraction may come first. One commit is empty, one retracts everything.
func generate(r *rand.Rand, inputs []Input, many bool) history {
	h := make(history, commits)
	for _, in := range inputs {
		pool := in.pool(r, many)
		live := make([]int64, pool.N)
		for c := range h {
			var sel []int32
			var w []int64
			add := func(row int, weight int64) {
				sel, w = append(sel, int32(row)), append(w, weight)
				live[row] += weight
			}
			switch c {
			case 3: // nothing
			case 5:
				for row, n := range live {
					if n != 0 {
						add(row, -n)
					}
				}
			default:
				for range 1 + r.IntN(maxDelta) {
					row := r.IntN(pool.N)
					switch k := r.IntN(12); {
					case k == 0:
						add(row, 0)
					case k == 1:
						add(row, 2+r.Int64N(3))
					case k < 7 && live[row] > 0:
						add(row, -1-r.Int64N(live[row]))
					default:
						add(row, 1)
					}
				}
			}
			r.Shuffle(len(sel), func(a, b int) { sel[a], sel[b], w[a], w[b] = sel[b], sel[a], w[b], w[a] })
			var b *zset.Batch
			if len(sel) > 0 {
				b = pool.Gather(sel)
				b.W = w
			}
			h[c] = append(h[c], b)
		}
	}
	return h
}

// pool returns the rows that a history is made of: with few values a column, or many.
func (in *Input) pool(r *rand.Rand, many bool) *zset.Batch {
	b := &zset.Batch{N: poolRows, Cols: make([]column.Column, len(in.Fields))}
	for i, f := range in.Fields {
		n := 3
		if many {
			n = poolRows
		}
		from, given := in.Values[i]
		if !given {
			from = randomColumn(r, f, n)
		}
		sel := make([]int32, poolRows)
		for k := range sel {
			sel[k] = int32(r.IntN(from.N))
		}
		b.Cols[i] = from.Gather(sel)
	}
	return b
}

func randomColumn(r *rand.Rand, f column.Field, n int) column.Column {
	b := column.NewBuilder(f.Type, n)
	for range n {
		switch k := r.IntN(8); {
		case k == 0 && !f.NotNull:
			b.AppendNull()
		case k == 1 && f.Type.Varlen():
			b.AppendString(strings.Repeat("long\x00", 20+r.IntN(200)))
		default:
			b.AppendRaw(columntest.Value(r, f.Type))
		}
	}
	return b.Finish()
}

// churn is rows that a history gets besides and that change nothing in the end.
type churn int

const (
	none    churn = iota
	later         // every row is inserted, and retracted in the next commit
	same          // inserted and retracted in the same commit
	reverse       // retracted and then inserted in the same commit
)

func (c churn) apply(h history) history {
	if c == none {
		return h
	}
	out := make(history, len(h), len(h)+1)
	var behind []*zset.Batch // what the next commit retracts
	for i, deltas := range h {
		next := make([]*zset.Batch, len(deltas))
		for k, b := range deltas {
			var before, plus, minus *zset.Batch
			if b != nil {
				plus = &zset.Batch{Cols: b.Cols, N: b.N}
				minus = plus.Negate()
			}
			switch {
			case c == reverse:
				before, plus, minus = minus, nil, plus
			case c == later:
				if behind != nil {
					before = behind[k]
				}
				next[k], minus = minus, nil
			}
			out[i] = append(out[i], zset.Concat(before, b, plus, minus))
		}
		behind = next
	}
	if c == later {
		out = append(out, behind)
	}
	return out
}

// cut returns b in batches of size rows, one for 0. Weights that are all 1 are left out.
func cut(b *zset.Batch, size int) []*zset.Batch {
	if b == nil {
		return nil
	}
	if size == 0 {
		size = b.N
	}
	var out []*zset.Batch
	for lo := 0; lo < b.N; lo += size {
		part := *b.Slice(lo, min(lo+size, b.N))
		ones := true
		for _, w := range part.W {
			ones = ones && w == 1
		}
		if ones {
			part.W = nil
		}
		out = append(out, &part)
	}
	return out
}
