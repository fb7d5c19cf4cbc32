package agg

import (
	"encoding/binary"
	"errors"

	"tidemill/state/column"
)

var errShort = errors.New("aggregate state is cut off")

func decodeVarint(b []byte) (int64, []byte, error) {
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, errShort
	}
	return v, b[n:], nil
}

// count counts rows, or the rows whose arguments are not NULL.
type count struct {
	versioned[int64]
	skipNulls bool
	result    column.Type // BIGINT when zero
}

func (c *count) Empty(slot int32) bool { return c.v[slot].cur == 0 }

func (c *count) Encode(dst []byte, slot int32) []byte { return binary.AppendVarint(dst, c.v[slot].cur) }

func (c *count) Decode(slot int32, b []byte) ([]byte, error) {
	v, rest, err := decodeVarint(b)
	c.set(slot, v)
	return rest, err
}

func (c *count) Add(slots []int32, args []column.Column, w []int64) error {
	v := c.v
	nulls := false
	for i := range args {
		nulls = nulls || c.skipNulls && args[i].Valid != nil
	}
	switch {
	case !nulls && w == nil:
		for _, s := range slots {
			if s >= 0 {
				v[s].cur++
			}
		}
	case !nulls:
		for i, s := range slots {
			if s >= 0 {
				v[s].cur += w[i]
			}
		}
	default:
		for i, s := range slots {
			if s < 0 || anyNull(args, i) {
				continue
			}
			if w == nil {
				v[s].cur++
			} else {
				v[s].cur += w[i]
			}
		}
	}
	return nil
}

func (c *count) Output(slots []int32, prev bool) (column.Column, *Errors) {
	out := make([]int64, len(slots))
	for i, s := range slots {
		out[i] = *c.at(s, prev)
	}
	if c.result.Kind == column.UInt32 {
		b := column.NewBuilder(c.result, len(out))
		for _, v := range out {
			column.Append(b, uint32(v))
		}
		return b.Finish(), nil
	}
	return column.Of(column.T(column.Int64), out, nil), nil
}

// weightOf returns the weight of row i.
func weightOf(w []int64, i int) int64 {
	if w == nil {
		return 1
	}
	return w[i]
}

// anyNull reports whether a row has a NULL in one of the columns.
func anyNull(cols []column.Column, i int) bool {
	for c := range cols {
		if cols[c].IsNull(i) {
			return true
		}
	}
	return false
}

// Rows counts the rows of each group, which says whether the group is there.
type Rows struct{ count }

// Present reports whether the slot's group has rows, before or after the running commit.
func (r *Rows) Present(slot int32, prev bool) bool { return *r.at(slot, prev) > 0 }

// Count returns the aggregate count(*) of the same rows, which keeps nothing of its own.
func (r *Rows) Count() Aggregate { return rowCount{rows: r} }

type rowCount struct{ rows *Rows }

func (rowCount) Grow(int)                                 {}
func (rowCount) Save([]int32)                             {}
func (rowCount) Restore([]int32)                          {}
func (rowCount) Reset(int32)                              {}
func (rowCount) Encode(dst []byte, _ int32) []byte        { return dst }
func (rowCount) Decode(_ int32, b []byte) ([]byte, error) { return b, nil }
func (rowCount) Empty(int32) bool                         { return true }
func (rowCount) Bytes() int64                             { return 0 }

func (rowCount) Add([]int32, []column.Column, []int64) error { return nil }

func (c rowCount) Output(slots []int32, prev bool) (column.Column, *Errors) {
	return c.rows.Output(slots, prev)
}
