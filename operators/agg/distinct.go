package agg

import (
	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// distinct feeds an aggregate with the different values of a group: a value goes in when its first row comes
// and out when its last one goes. Values are different as SQL's DISTINCT sees them.
type distinct struct {
	Aggregate
	trace Trace
	enc   *rowkey.Encoder
	buf   []byte
	slots []int32
	w     []int64
}

func (d *distinct) Add(slots []int32, args []column.Column, w []int64) error {
	d.slots, d.w = d.slots[:0], d.w[:0]
	for i, s := range slots {
		out, weight := int32(-1), int64(0)
		if s >= 0 && !anyNull(args, i) {
			wt := weightOf(w, i)
			d.buf = d.enc.AppendKey(d.buf[:0], args, i)
			before, after, err := d.trace.Add(s, d.buf, wt)
			if err != nil {
				return err
			}
			switch {
			case before <= 0 && after > 0:
				out, weight = s, 1
			case before > 0 && after <= 0:
				out, weight = s, -1
			}
		}
		d.slots, d.w = append(d.slots, out), append(d.w, weight)
	}
	return d.Aggregate.Add(d.slots, args, d.w)
}
