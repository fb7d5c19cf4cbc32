package agg

import (
	"encoding/binary"
	"math/big"

	"tidemill/state/column"
)

// timeAvg is avg of TIME, TIMESTAMP and TIMESTAMPTZ: the exact sum of the microseconds, divided as DuckDB divides: cut
// off, and up when more than half is left.
type timeAvg struct {
	intSum
	typ column.Type
}

func (a *timeAvg) Add(slots []int32, args []column.Column, w []int64) error {
	addInts(a.v, slots, column.Values[int64](&args[0]), &args[0], w)
	return nil
}

func (a *timeAvg) Output(slots []int32, prev bool) (column.Column, *Errors) {
	b := column.NewBuilder(a.typ, len(slots))
	for _, s := range slots {
		v := a.at(s, prev)
		if v.n == 0 {
			b.AppendNull()
			continue
		}
		q, r := new(big.Int).QuoRem(v.big(), big.NewInt(v.n), new(big.Int))
		out := q.Int64()
		if r.IsInt64() && r.Int64() > v.n/2 {
			out++
		}
		column.Append(b, out)
	}
	return b.Finish(), nil
}

// intervalAvg is avg of INTERVAL: sums of months, days and microseconds, each divided, what is left of months going to
// the days and of days to the microseconds, as DuckDB does it.
type intervalAvg struct {
	versioned[intervalSum]
}

type intervalSum struct {
	n, months, days int64
	micros          [2]int64 // 128 bits: low, high
}

func (a *intervalAvg) Empty(slot int32) bool { return a.v[slot].cur == intervalSum{} }

func (a *intervalAvg) Encode(dst []byte, slot int32) []byte {
	v := &a.v[slot].cur
	for _, x := range []int64{v.n, v.months, v.days, v.micros[0], v.micros[1]} {
		dst = binary.AppendVarint(dst, x)
	}
	return dst
}

func (a *intervalAvg) Decode(slot int32, b []byte) ([]byte, error) {
	var v intervalSum
	for _, x := range []*int64{&v.n, &v.months, &v.days, &v.micros[0], &v.micros[1]} {
		var err error
		if *x, b, err = decodeVarint(b); err != nil {
			return nil, err
		}
	}
	a.set(slot, v)
	return b, nil
}

func (a *intervalAvg) Add(slots []int32, args []column.Column, w []int64) error {
	vals := column.Values[column.IntervalValue](&args[0])
	for i, s := range slots {
		if s < 0 || args[0].IsNull(i) {
			continue
		}
		wt := weightOf(w, i)
		v := &a.v[s].cur
		v.n += wt
		v.months += wt * int64(vals[i].Months)
		v.days += wt * int64(vals[i].Days)
		sum := wideSum{lo: uint64(v.micros[0]), mi: uint64(v.micros[1]), hi: v.micros[1] >> 63}
		sum.addWeighted(uint64(vals[i].Micros), vals[i].Micros>>63, wt)
		v.micros = [2]int64{int64(sum.lo), int64(sum.mi)}
	}
	return nil
}

func (a *intervalAvg) Output(slots []int32, prev bool) (column.Column, *Errors) {
	b := column.NewBuilder(column.T(column.Interval), len(slots))
	var errs *Errors
	for i, s := range slots {
		v := a.at(s, prev)
		if v.n == 0 {
			b.AppendNull()
			continue
		}
		fits := int64(int32(v.months)) == v.months && int64(int32(v.days)) == v.days && v.micros[1] == v.micros[0]>>63
		if !fits { // DuckDB adds intervals up
			b.AppendNull()
			errs = errs.add(i, "avg of INTERVAL is out of range of INTERVAL")
			continue
		}
		months, days, micros := v.months, v.days, v.micros[0]
		restMonths := months % v.n * 30
		restDays := (days%v.n + restMonths%v.n) * microsPerDay
		column.Append(b, column.IntervalValue{
			Months: int32(months / v.n),
			Days:   int32(days/v.n + restMonths/v.n),
			Micros: micros/v.n + micros%v.n + restDays/v.n,
		})
	}
	return b.Finish(), errs
}
