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

// count counts rows, or the rows whose argument is not NULL.
type count struct {
	versioned[int64]
	skipNulls bool
}

func (c *count) Empty(slot int32) bool { return c.cur[slot] == 0 }

func (c *count) Encode(dst []byte, slot int32) []byte { return binary.AppendVarint(dst, c.cur[slot]) }

func (c *count) Decode(slot int32, b []byte) ([]byte, error) {
	v, rest, err := decodeVarint(b)
	c.cur[slot], c.prev[slot] = v, v
	return rest, err
}

func (c *count) Add(slots []int32, arg *column.Column, w []int64) error {
	cur := c.cur
	nulls := c.skipNulls && arg.Valid != nil
	switch {
	case !nulls && w == nil:
		for _, s := range slots {
			if s >= 0 {
				cur[s]++
			}
		}
	case !nulls:
		for i, s := range slots {
			if s >= 0 {
				cur[s] += w[i]
			}
		}
	default:
		for i, s := range slots {
			if s < 0 || arg.IsNull(i) {
				continue
			}
			if w == nil {
				cur[s]++
			} else {
				cur[s] += w[i]
			}
		}
	}
	return nil
}

func (c *count) Output(slots []int32, prev bool) (column.Column, *Errors) {
	vals := c.at(prev)
	out := make([]int64, len(slots))
	for i, s := range slots {
		out[i] = vals[s]
	}
	return column.Of(column.T(column.Int64), out, nil), nil
}

// Rows counts the rows of each group, which says whether the group is there.
type Rows struct{ count }

// Present reports whether the slot's group has rows, before or after the running commit.
func (r *Rows) Present(slot int32, prev bool) bool { return r.at(prev)[slot] > 0 }
