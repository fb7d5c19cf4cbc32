package agg

import (
	"encoding/binary"

	"tidemill/state/column"
)

// boolean is bool_and and bool_or: how many rows are true and how many are false.
type boolean struct {
	versioned[[2]int64] // false, true
	or                  bool
}

func (b *boolean) Empty(slot int32) bool { return b.v[slot].cur == [2]int64{} }

func (b *boolean) Encode(dst []byte, slot int32) []byte {
	v := &b.v[slot].cur
	return binary.AppendVarint(binary.AppendVarint(dst, v[0]), v[1])
}

func (b *boolean) Decode(slot int32, src []byte) ([]byte, error) {
	var v [2]int64
	for i := range v {
		var err error
		if v[i], src, err = decodeVarint(src); err != nil {
			return nil, err
		}
	}
	b.set(slot, v)
	return src, nil
}

func (b *boolean) Add(slots []int32, args []column.Column, w []int64) error {
	for i, s := range slots {
		if s < 0 || args[0].IsNull(i) {
			continue
		}
		wt := weightOf(w, i)
		b.v[s].cur[args[0].Data[i]&1] += wt
	}
	return nil
}

func (b *boolean) Output(slots []int32, prev bool) (column.Column, *Errors) {
	out := column.NewBuilder(column.T(column.Bool), len(slots))
	for _, s := range slots {
		v := b.at(s, prev)
		switch {
		case *v == [2]int64{}:
			out.AppendNull()
		case b.or && v[1] > 0, !b.or && v[0] == 0:
			column.Append(out, uint8(1))
		default:
			column.Append(out, uint8(0))
		}
	}
	return out.Finish(), nil
}
