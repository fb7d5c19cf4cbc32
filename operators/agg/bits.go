package agg

import (
	"encoding/binary"
	"math/bits"

	"tidemill/state/column"
)

// bitCounts is bit_and, bit_or and bit_xor: the number of rows, and of those that have each bit, so that a row can be
// retracted. A row costs an addition for each of its bits, a group 16 bytes for each bit of the type.
type bitCounts struct {
	arg  column.Type
	fn   string
	size int             // 1 + bits of the type: the rows, then the bits from the lowest
	v    []pair[[]int64] // nil for none
	n    int64           // of v's elements in use
}

func newBitCounts(s Spec) Aggregate {
	if s.Result != s.Args[0] {
		return nil
	}
	return &bitCounts{arg: s.Args[0], fn: s.Func, size: 1 + 8*s.Args[0].Size()}
}

func (b *bitCounts) Grow(n int) { b.v = grown(b.v, n) }

func (b *bitCounts) Save(slots []int32) {
	for _, s := range slots {
		p := &b.v[s]
		p.prev = b.copy(p.prev, p.cur)
	}
}

func (b *bitCounts) Restore(slots []int32) {
	for _, s := range slots {
		p := &b.v[s]
		p.cur = b.copy(p.cur, p.prev)
	}
}

// copy returns dst with the content of src.
func (b *bitCounts) copy(dst, src []int64) []int64 {
	if src == nil {
		clear(dst)
		return dst
	}
	if dst == nil {
		dst = b.fresh()
	}
	copy(dst, src)
	return dst
}

func (b *bitCounts) fresh() []int64 {
	b.n += int64(b.size)
	return make([]int64, b.size)
}

func (b *bitCounts) Reset(slot int32) {
	b.n -= int64(len(b.v[slot].cur) + len(b.v[slot].prev))
	b.v[slot] = pair[[]int64]{}
}

func (b *bitCounts) Empty(slot int32) bool {
	for _, n := range b.v[slot].cur {
		if n != 0 {
			return false
		}
	}
	return true
}

func (b *bitCounts) Bytes() int64 { return 48*int64(cap(b.v)) + 8*b.n }

func (b *bitCounts) Encode(dst []byte, slot int32) []byte {
	cur := b.v[slot].cur
	if b.Empty(slot) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	for _, n := range cur {
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}

func (b *bitCounts) Decode(slot int32, src []byte) ([]byte, error) {
	if len(src) == 0 || src[0] > 1 {
		return nil, errShort
	}
	b.Reset(slot)
	if src[0] == 0 {
		return src[1:], nil
	}
	src = src[1:]
	cur := b.fresh()
	for i := range cur {
		var err error
		if cur[i], src, err = decodeVarint(src); err != nil {
			return nil, err
		}
	}
	b.v[slot] = pair[[]int64]{cur, b.copy(nil, cur)}
	return src, nil
}

func (b *bitCounts) Add(slots []int32, args []column.Column, w []int64) error {
	c := &args[0]
	for i, s := range slots {
		if s < 0 || c.IsNull(i) {
			continue
		}
		wt := weightOf(w, i)
		if b.v[s].cur == nil {
			b.v[s].cur = b.fresh()
		}
		cur := b.v[s].cur
		cur[0] += wt
		raw := c.Raw(i) // little-endian
		for k, x := range raw {
			for ; x != 0; x &= x - 1 {
				cur[1+8*k+bits.TrailingZeros8(x)] += wt
			}
		}
	}
	return nil
}

func (b *bitCounts) Output(slots []int32, prev bool) (column.Column, *Errors) {
	out := column.NewBuilder(b.arg, len(slots))
	raw := make([]byte, b.arg.Size())
	for _, s := range slots {
		v := b.v[s].cur
		if prev {
			v = b.v[s].prev
		}
		if v == nil || v[0] == 0 {
			out.AppendNull()
			continue
		}
		clear(raw)
		for k, n := range v[1:] {
			if b.fn == "bit_and" && n == v[0] || b.fn == "bit_or" && n > 0 || b.fn == "bit_xor" && n&1 != 0 {
				raw[k/8] |= 1 << (k % 8)
			}
		}
		out.AppendRaw(raw)
	}
	return out.Finish(), nil
}
