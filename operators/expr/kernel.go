package expr

import (
	"slices"
	"unsafe"

	"tidemill/state/column"
)

// kernelFunc computes a strict call: NULL where an argument is, so it need not look at NULLs
// except that a row outside k.valid must not fail.
type kernelFunc func(k *kcall)

// kcall is one call of a kernel.
type kcall struct {
	p     *Program
	nd    *node
	n     int
	args  []vec // n rows, or konst: one row that is not NULL
	fresh bool

	valid    []byte // rows without a NULL argument; nil for all
	ownValid bool
	out      column.Column
	scratch  bool
	errs     *RowErrors
	deferred []int32 // rows left to DuckDB, ascending
}

func (k *kcall) ok(i int) bool { return k.valid == nil || column.Bit(k.valid, i) }

// setNull makes row i of the result NULL.
func (k *kcall) setNull(i int) {
	if !k.ownValid {
		if k.ownValid = true; k.valid == nil {
			k.valid = column.NewBitmap(k.n, true)
		} else {
			k.valid = slices.Clone(k.valid)
		}
	}
	column.ClearBit(k.valid, i)
}

// fail gives row i an error. Rows must come in ascending order.
func (k *kcall) fail(i int, reason string) {
	if k.errs == nil {
		k.errs = &RowErrors{}
	}
	k.errs.add(int32(i), reason)
	k.setNull(i)
}

// leave hands row i to DuckDB. Rows must come in ascending order.
func (k *kcall) leave(i int) { k.deferred = append(k.deferred, int32(i)) }

// vals views argument i.
func vals[V column.Fixed](k *kcall, i int) []V { return column.Values[V](&k.args[i].Column) }

// ints128 views a HUGEINT or DECIMAL argument.
func ints128(k *kcall, i int) []int128 { return as128(vals[column.Int128](k, i)) }

func as128(v []column.Int128) []int128 {
	return unsafe.Slice((*int128)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// spread makes argument i a column of n rows when it is one row for all.
func (k *kcall) spread(i int) {
	if a := &k.args[i]; a.konst {
		*a = vec{Column: repeat(&a.Column, k.n)}
	}
}

// outVals makes the result's buffer. Its content is undefined: the kernel writes every row.
func outVals[V column.Fixed](k *kcall) []V {
	var zero V
	size := k.n * int(unsafe.Sizeof(zero))
	var buf []byte
	if k.fresh {
		buf = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]V, k.n)))), size)
	} else {
		buf, k.scratch = k.p.pool.get(size), true
	}
	k.out = column.Column{Type: k.nd.typ, N: k.n, Data: buf}
	return column.Values[V](&k.out)
}

func out128(k *kcall) []int128 { return as128(outVals[column.Int128](k)) }

// outText is the result of a text kernel: it writes the rows in order.
func outText(k *kcall, row func(i int, b []byte) []byte) {
	offs := make([]int32, k.n+1)
	size := 0
	for i := range k.args {
		size += len(k.args[i].Data)
	}
	b := make([]byte, 0, size)
	for i := range k.n {
		if k.ok(i) {
			b = row(i, b)
		}
		offs[i+1] = int32(len(b))
	}
	k.out = column.Column{Type: k.nd.typ, N: k.n, Data: b, Offsets: offs}
}

// runStrict evaluates the arguments and then the kernel.
func runStrict(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	k := &kcall{p: f.p, nd: nd, n: f.n, fresh: fresh, args: make([]vec, len(nd.args))}
	var errs *RowErrors
	null := false
	for i, a := range nd.args {
		v, e, err := f.eval(a, false)
		if err != nil {
			return v, nil, err
		}
		errs = MergeErrors(errs, e)
		if v.konst {
			if v.IsNull(0) {
				null = true
			}
			v.konst = f.n > 1
		} else if v.Valid != nil {
			k.valid = column.And(k.valid, v.Valid)
		}
		k.args[i] = v
	}
	if null {
		if errs == nil {
			return vec{Column: column.Nulls(nd.typ, 1), konst: true}, nil, nil
		}
		return vec{Column: column.Nulls(nd.typ, f.n)}, errs, nil
	}
	if n := len(k.args); n > 0 && !slices.ContainsFunc(k.args, func(a vec) bool { return !a.konst }) {
		k.spread(0)
	}
	nd.kernel(k)
	out := vec{Column: k.out, scratch: k.scratch}
	out.Valid = k.valid
	if nd.e.Kind == TryCast {
		k.errs = nil
	}
	if len(k.deferred) > 0 {
		if err := f.runDeferred(nd, k, &out); err != nil {
			return out, nil, err
		}
	}
	for i := range k.args {
		f.release(&k.args[i])
	}
	return out, MergeErrors(errs, k.errs), nil
}
