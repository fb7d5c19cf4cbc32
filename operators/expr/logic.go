package expr

import (
	"encoding/binary"

	"tidemill/state/column"
)

var boolean = column.T(column.Bool)

// conjunctions are AND and OR. In DuckDB's logic extended by errors, a deciding argument (FALSE for
// AND, TRUE for OR) wins over an error, an error over NULL, and NULL over the rest.
func runAnd(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) { return runConjunction(f, nd, 0) }
func runOr(f *frame, nd *node, fresh bool) (vec, *RowErrors, error)  { return runConjunction(f, nd, 1) }

// The ranks of an argument's value in a conjunction: the highest one is the result.
const (
	rankOther    = 0
	rankNull     = 1
	rankError    = 2
	rankDeciding = 3
)

// runConjunction evaluates infallible arguments over all rows first; one that can fail or that is
// DuckDB's work is evaluated only for the rows that are still open.
func runConjunction(f *frame, nd *node, deciding uint8) (vec, *RowErrors, error) {
	rank := make([]uint8, f.n)
	var errs *RowErrors
	absorb := func(a *node, rows []int32) error {
		if rows == nil {
			v, e, err := f.eval(a, false)
			if err != nil {
				return err
			}
			rankInto(rank, &pick{v: v}, e, deciding)
			errs = MergeErrors(errs, e)
			f.release(&v)
			return nil
		}
		pk, e, err := f.branch(a, rows)
		if err != nil {
			return err
		}
		rankInto(rank, &pk, e, deciding)
		errs = MergeErrors(errs, e)
		return nil
	}
	late := func(a *node) bool { return a.fallible || a.calls > 0 }
	for _, a := range nd.args {
		if !late(a) {
			if err := absorb(a, nil); err != nil {
				return vec{}, nil, err
			}
		}
	}
	for _, a := range nd.args {
		if !late(a) {
			continue
		}
		rows := openRows(rank)
		if len(rows) == 0 {
			break
		}
		if err := absorb(a, rows); err != nil {
			return vec{}, nil, err
		}
	}
	out := column.Column{Type: boolean, N: f.n, Data: rank}
	if undecided(rank) {
		out.Valid = column.NewBitmap(f.n, false)
		for i, r := range rank {
			out.Valid[i>>3] |= (1 &^ (r ^ r>>1)) << (i & 7)
		}
		errs = errs.keep(func(row int32) bool { return rank[row] == rankError })
	} else {
		errs = nil
	}
	flip := deciding ^ 1
	i := 0
	for ; i+8 <= len(rank); i += 8 {
		w := binary.LittleEndian.Uint64(rank[i:]) >> 1 & eachByte
		binary.LittleEndian.PutUint64(rank[i:], w^uint64(flip)*eachByte)
	}
	for ; i < len(rank); i++ {
		rank[i] = rank[i]>>1 ^ flip
	}
	if out.Valid != nil {
		zeroNulls(&out)
	}
	return vec{Column: out}, errs, nil
}

// eachByte has the lowest bit of each byte set: eight ranks are handled as one word.
const eachByte = 0x0101010101010101

// undecided reports whether some rank is NULL or error, the two whose bits differ.
func undecided(rank []uint8) bool {
	acc := uint64(0)
	i := 0
	for ; i+8 <= len(rank); i += 8 {
		w := binary.LittleEndian.Uint64(rank[i:])
		acc |= w ^ w>>1
	}
	for ; i < len(rank); i++ {
		acc |= uint64(rank[i] ^ rank[i]>>1)
	}
	return acc&eachByte != 0
}

// rankInto raises rank by an argument's values.
func rankInto(rank []uint8, pk *pick, errs *RowErrors, deciding uint8) {
	v := &pk.v
	if v.konst {
		r := uint8(rankNull)
		if !v.IsNull(0) {
			r = rankDeciding * b2u(v.Data[0] == deciding)
		}
		if errs != nil {
			r = rankError
		}
		if pk.rows == nil {
			for i := range rank {
				rank[i] = max(rank[i], r)
			}
		}
		for _, row := range pk.rows {
			rank[row] = max(rank[row], r)
		}
		return
	}
	vals, flip := v.Data, deciding^1
	switch {
	case pk.rows == nil && v.Valid == nil:
		i := 0
		for ; i+8 <= len(rank); i += 8 {
			w := binary.LittleEndian.Uint64(vals[i:]) ^ uint64(flip)*eachByte
			binary.LittleEndian.PutUint64(rank[i:], binary.LittleEndian.Uint64(rank[i:])|w|w<<1)
		}
		for ; i < len(rank); i++ {
			rank[i] |= (vals[i] ^ flip) * rankDeciding
		}
	case pk.rows == nil:
		for i := range rank {
			ok := v.Valid[i>>3] >> (i & 7) & 1
			rank[i] = max(rank[i], (vals[i]&1^flip)*rankDeciding*ok, 1-ok)
		}
	default:
		for j, row := range pk.rows {
			r := (vals[j]&1 ^ flip) * rankDeciding
			if v.IsNull(j) {
				r = rankNull
			}
			rank[row] = max(rank[row], r)
		}
	}
	if errs != nil {
		for _, row := range errs.Rows {
			rank[row] = max(rank[row], rankError)
		}
	}
}

func openRows(rank []uint8) []int32 {
	rows := make([]int32, len(rank))
	n := 0
	for i, r := range rank {
		rows[n] = int32(i)
		n += int(b2u(r != rankDeciding))
	}
	return rows[:n]
}

func runNot(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	v, errs, err := f.eval(nd.args[0], false)
	if err != nil {
		return v, nil, err
	}
	out := column.Column{Type: boolean, N: v.N, Valid: v.Valid, Data: make([]byte, v.N)}
	for i, x := range v.Data[:v.N] {
		out.Data[i] = x ^ 1
	}
	f.release(&v)
	return vec{Column: out, konst: v.konst}, errs, nil
}

func runIsNull(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	return nullTest(f, nd, 1)
}

func runIsNotNull(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	return nullTest(f, nd, 0)
}

func nullTest(f *frame, nd *node, ifNull uint8) (vec, *RowErrors, error) {
	v, errs, err := f.eval(nd.args[0], false)
	if err != nil {
		return v, nil, err
	}
	out := vec{Column: column.Column{Type: boolean, N: v.N, Data: make([]byte, v.N)}, konst: v.konst}
	for i := range out.Data {
		if v.Valid == nil {
			out.Data[i] = ifNull ^ 1
		} else {
			out.Data[i] = v.Valid[i>>3]>>(i&7)&1 ^ ifNull
		}
	}
	f.release(&v)
	out.mask(errs, f.n)
	return out, errs, nil
}

func runDistinct(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	return distinctFrom(f, nd, 1)
}

func runNotDistinct(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	return distinctFrom(f, nd, 0)
}

// distinctFrom compares with NULL as a value of its own.
func distinctFrom(f *frame, nd *node, ifDistinct uint8) (vec, *RowErrors, error) {
	a, b, errs, err := f.pair(nd.args[0], nd.args[1])
	if err != nil {
		return a, nil, err
	}
	out := vec{Column: column.Column{Type: boolean, N: f.n, Data: make([]byte, f.n)}}
	equal := out.Data
	comparerOf(a.Type)(opEQ, equal, &a, &b)
	for i := range equal {
		x, y := b2u(!a.nullAt(i)), b2u(!b.nullAt(i))
		equal[i] = (equal[i]&x&y | (1 ^ (x | y))) ^ ifDistinct
	}
	f.release(&a)
	f.release(&b)
	out.mask(errs, f.n)
	return out, errs, nil
}

// nullAt reports whether row i is NULL, also of a value that stands for all rows.
func (v *vec) nullAt(i int) bool {
	if v.konst {
		i = 0
	}
	return v.IsNull(i)
}

// pair evaluates two arguments; at most one of them stands for all rows.
func (f *frame) pair(x, y *node) (a, b vec, errs *RowErrors, err error) {
	a, e1, err := f.eval(x, false)
	if err != nil {
		return a, b, nil, err
	}
	b, e2, err := f.eval(y, false)
	if a.konst && b.konst {
		a.Column, a.konst = repeat(&a.Column, f.n), false
	}
	return a, b, MergeErrors(e1, e2), err
}

func runIn(f *frame, nd *node, fresh bool) (vec, *RowErrors, error)    { return inList(f, nd, 0) }
func runNotIn(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) { return inList(f, nd, 1) }

// inList is TRUE where an element equals, else NULL where the value or an element is NULL.
func inList(f *frame, nd *node, flip uint8) (vec, *RowErrors, error) {
	x, errs, err := f.eval(nd.args[0], false)
	if err != nil {
		return x, nil, err
	}
	if x.konst {
		x.Column, x.konst = repeat(&x.Column, f.n), false
	}
	found, null, one := make([]uint8, f.n), make([]uint8, f.n), make([]uint8, f.n)
	cmp := comparerOf(x.Type)
	for _, a := range nd.args[1:] {
		y, e, err := f.eval(a, false)
		if err != nil {
			return y, nil, err
		}
		errs = MergeErrors(errs, e)
		if y.konst && y.IsNull(0) {
			for i := range null {
				null[i] = 1
			}
			continue
		}
		cmp(opEQ, one, &x, &y)
		if y.konst || y.Valid == nil {
			for i, t := range one {
				found[i] |= t
			}
		} else {
			for i, t := range one {
				ok := y.Valid[i>>3] >> (i & 7) & 1
				found[i] |= t & ok
				null[i] |= ok ^ 1
			}
		}
		f.release(&y)
	}
	out := vec{Column: column.Column{Type: boolean, N: f.n, Data: found}}
	valid := column.NewBitmap(f.n, false)
	for i, t := range found {
		valid[i>>3] |= (t | (1 ^ null[i])) << (i & 7)
		found[i] = t ^ flip
	}
	out.Valid = column.And(valid, x.Valid)
	f.release(&x)
	out.mask(errs, f.n)
	return out, errs, nil
}

// SelectTrue returns the rows at which a BOOLEAN column is true, ascending.
func SelectTrue(c column.Column) []int32 { return selectTrue(make([]int32, c.N), &c) }

// selectTrue writes to sel, which has c.N places, without a branch a row.
func selectTrue(sel []int32, c *column.Column) []int32 {
	n := 0
	if c.Valid == nil {
		for i, t := range c.Data[:c.N] {
			sel[n] = int32(i)
			n += int(t & 1)
		}
		return sel[:n]
	}
	for i, t := range c.Data[:c.N] {
		sel[n] = int32(i)
		n += int(t & (c.Valid[i>>3] >> (i & 7)) & 1)
	}
	return sel[:n]
}
