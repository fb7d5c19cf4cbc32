package agg

import (
	"encoding/binary"

	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// entries encodes a row for a trace: its ORDER BY expressions, so that bytes sort as the aggregate's order, the
// arguments, by which rows are ordered that the stated order leaves open, and, where there is an order, how long it is.
//
//	+-------------------+--------------------+------------------+
//	| key of each order | identity of args   | length of keys   |
//	+-------------------+--------------------+------------------+
//
// Rows that agree in all of these cannot be told apart by the aggregate: that is why the order that SQL leaves open
// is of the arguments, not of the whole input row, which would depend on what else a view selects.
type entries struct {
	args  *rowkey.Encoder
	order []Order
	keys  []*rowkey.Encoder // of one column each
	// keyed says that the arguments are encoded by their keys, so that equal ones are one entry: for DISTINCT.
	keyed bool
	buf   []byte
}

func newEntries(args []column.Type, order []Order) *entries {
	e := &entries{args: rowkey.NewEncoder(args), order: order}
	for _, o := range order {
		e.keys = append(e.keys, rowkey.NewEncoder([]column.Type{o.Type}))
	}
	return e
}

// row encodes row i of args and, behind them, the order's columns. The result is valid until the next call.
func (e *entries) row(cols []column.Column, i int) []byte {
	args, order := cols[:len(e.args.Types())], cols[len(e.args.Types()):]
	e.buf = e.buf[:0]
	for k, o := range e.order {
		e.buf = appendOrdered(e.buf, e.keys[k], order[k:k+1], i, o)
	}
	n := len(e.buf)
	if e.keyed {
		e.buf = e.args.AppendKey(e.buf, args, i)
	} else {
		e.buf = e.args.AppendIdentity(e.buf, args, i)
	}
	if len(e.order) > 0 {
		e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(n))
	}
	return e.buf
}

// appendOrdered appends a key that sorts as o asks. A key inverted sorts the other way round, because no key is the
// beginning of another.
func appendOrdered(dst []byte, key *rowkey.Encoder, col []column.Column, i int, o Order) []byte {
	if col[0].IsNull(i) {
		if o.NullsFirst {
			return append(dst, 0x00)
		}
		return append(dst, 0xff)
	}
	n := len(dst)
	dst = key.AppendKey(dst, col, i)
	if o.Desc {
		for k := n; k < len(dst); k++ {
			dst[k] = ^dst[k]
		}
	}
	return dst
}

// argsOf returns the part of an entry that encodes the arguments.
func (e *entries) argsOf(entry []byte) []byte {
	if len(e.order) == 0 {
		return entry
	}
	end := len(entry) - 4
	return entry[binary.BigEndian.Uint32(entry[end:]):end]
}

// decode appends the arguments of an entry to builders, one for each.
func (e *entries) decode(entry []byte, out []*column.Builder) error {
	var err error
	if e.keyed {
		_, err = e.args.DecodeKey(e.argsOf(entry), out)
	} else {
		_, err = e.args.DecodeIdentity(e.argsOf(entry), out)
	}
	return err
}

// keyOf returns the key of an entry's arguments, which is the same for equal ones whatever their bits.
func (e *entries) keyOf(entry []byte) (string, error) {
	args := e.argsOf(entry)
	if e.keyed || !e.hides() {
		return string(args), nil
	}
	types := e.args.Types()
	builders := make([]*column.Builder, len(types))
	for i, t := range types {
		builders[i] = column.NewBuilder(t, 1)
	}
	if _, err := e.args.DecodeIdentity(args, builders); err != nil {
		return "", err
	}
	cols := make([]column.Column, len(types))
	for i, b := range builders {
		cols[i] = b.Finish()
	}
	return string(e.args.AppendKey(nil, cols, 0)), nil
}

// hides reports whether equal arguments may differ in their bits.
func (e *entries) hides() bool {
	for _, t := range e.args.Types() {
		if t.Floating() || t.Kind == column.Interval {
			return true
		}
	}
	return false
}
