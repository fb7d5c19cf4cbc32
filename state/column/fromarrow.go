package column

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
)

// FromArrow returns the values of arr as a column of type t. It aliases arr's buffers where the
// layouts agree and copies otherwise. Aliased buffers must be garbage collected, as those of
// memory.DefaultAllocator and of IPC readers that use it are: then the caller may release arr at
// once. Buffers of another allocator must outlive the column.
//
// Conversions are those that keep every value: any integer or decimal to any integer or DECIMAL that
// holds it, floats likewise, any string layout to VARCHAR, any binary one to BLOB, dictionaries of
// all these, times and timestamps of other units, date64, all intervals, and an array of nulls to
// anything. A value that t cannot hold exactly is an error that names the row and wraps
// ErrNotLossless; a timestamp with a time zone and one without never become each other.
//
// Lengths, offsets, indices and UTF-8 are checked, so arr may come from outside; but the caller must
// have bounded its length, since an array of nulls claims any length in no bytes.
func FromArrow(arr arrow.Array, t Type) (Column, error) {
	if !t.wellFormed() {
		return Column{}, fmt.Errorf("read Arrow array: type %v", t)
	}
	c, err := fromArrow(arr.Data(), t)
	if err != nil {
		return Column{}, fmt.Errorf("read Arrow %v as %v: %w", arr.DataType(), t, err)
	}
	return c, nil
}

var errNoConversion = errors.New("no conversion keeps every value")

func fromArrow(d arrow.ArrayData, t Type) (Column, error) {
	if d.Len() < 0 || d.Len() > maxRows || d.Offset() < 0 || d.Offset() > maxRows {
		return Column{}, fmt.Errorf("%d rows from %d on", d.Len(), d.Offset())
	}
	dt := d.DataType()
	for ext, ok := dt.(arrow.ExtensionType); ok; ext, ok = dt.(arrow.ExtensionType) {
		dt = ext.StorageType()
	}
	if _, null := dt.(*arrow.NullType); !null && t.Kind == Enum {
		texts, err := fromArrow(d, T(Varchar))
		if err != nil {
			return Column{}, err
		}
		return texts.enumOf(t)
	}
	switch dt := dt.(type) {
	case *arrow.NullType:
		return Nulls(t, d.Len()), nil
	case *arrow.DictionaryType:
		return fromDictionary(d, dt, t)
	}
	valid, err := arrowValid(d)
	if err != nil {
		return Column{}, err
	}
	a := arrowInput{ArrayData: d, dt: dt, valid: valid}
	switch {
	case t.Nested():
		return a.nestedInput(t)
	case t.Kind == Bool:
		return a.bools(t)
	case t.Integer() || t.Kind == Decimal:
		return a.exactNumbers(t)
	case t.Floating():
		return a.floats(t)
	case t.Varlen():
		return a.texts(t)
	case t.Kind == UUID:
		if fsb, ok := dt.(*arrow.FixedSizeBinaryType); ok && fsb.ByteWidth == 16 {
			return aliasValues[[16]byte](a, t)
		}
		return Column{}, errNoConversion
	case t.Kind == TimeTZ:
		if fsb, ok := dt.(*arrow.FixedSizeBinaryType); ok && fsb.ByteWidth == 8 {
			return aliasValues[uint64](a, t)
		}
		return Column{}, errNoConversion
	case t.Kind == Interval:
		return a.intervals(t)
	}
	return a.instants(t)
}

// arrowInput is an array being read, with its storage type and its validity from row 0.
type arrowInput struct {
	arrow.ArrayData
	dt    arrow.DataType
	valid []byte
}

func (a arrowInput) isNull(i int) bool { return a.valid != nil && !Bit(a.valid, i) }

func arrowValid(d arrow.ArrayData) ([]byte, error) {
	bufs := d.Buffers()
	if len(bufs) == 0 || bufs[0] == nil || d.Len() == 0 {
		return nil, nil
	}
	b := bufs[0].Bytes()
	if len(b) == 0 { // how some writers say "none"
		return nil, nil
	}
	if (d.Offset()+d.Len()+7)/8 > len(b) {
		return nil, fmt.Errorf("validity of %d bytes for %d rows from %d on", len(b), d.Len(), d.Offset())
	}
	out := sliceBitmap(b, d.Offset(), d.Len())
	if countBits(out, d.Len()) == d.Len() {
		return nil, nil
	}
	return out, nil
}

// bufferValues views n values from lo on in buffer k, copying only to align them.
func bufferValues[V any](a arrowInput, k, lo, n int) ([]V, error) {
	var v V
	size := int(unsafe.Sizeof(v))
	var b []byte
	if bufs := a.Buffers(); k < len(bufs) && bufs[k] != nil {
		b = bufs[k].Bytes()
	}
	if n == 0 {
		return nil, nil
	}
	if lo+n > len(b)/size {
		return nil, fmt.Errorf("buffer of %d bytes for %d values of %d from %d on", len(b), n, size, lo)
	}
	b = b[lo*size : (lo+n)*size]
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(v) != 0 {
		out := make([]V, n)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(b)), b)
		return out, nil
	}
	return unsafe.Slice((*V)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

func inputValues[V any](a arrowInput) ([]V, error) {
	return bufferValues[V](a, 1, a.Offset(), a.Len())
}

// aliasValues makes a column of the array's own values, which have the layout of t.
func aliasValues[V interface {
	Fixed
	comparable
}](a arrowInput, t Type) (Column, error) {
	vals, err := inputValues[V](a)
	if err != nil {
		return Column{}, err
	}
	var zero V
	owned := false
	for i := 0; a.valid != nil && i < len(vals); i++ { // a Column has zeros under its NULLs
		if a.isNull(i) && vals[i] != zero {
			if !owned {
				vals, owned = append([]V(nil), vals...), true
			}
			vals[i] = zero
		}
	}
	return Of(t, vals, a.valid), nil
}

// mapValues makes a column of f of each value; NULLs become zero.
func mapValues[S any, V Fixed](a arrowInput, t Type, f func(S) (V, bool)) (Column, error) {
	src, err := inputValues[S](a)
	if err != nil {
		return Column{}, err
	}
	out := make([]V, len(src))
	for i, s := range src {
		if a.isNull(i) {
			continue
		}
		v, ok := f(s)
		if !ok {
			return Column{}, fmt.Errorf("row %d: %v: %w", i, s, ErrNotLossless)
		}
		out[i] = v
	}
	return Of(t, out, a.valid), nil
}

func (a arrowInput) bools(t Type) (Column, error) {
	if a.dt.ID() != arrow.BOOL {
		return Column{}, errNoConversion
	}
	var b []byte
	if bufs := a.Buffers(); len(bufs) > 1 && bufs[1] != nil {
		b = bufs[1].Bytes()
	}
	if (a.Offset()+a.Len()+7)/8 > len(b) && a.Len() > 0 {
		return Column{}, fmt.Errorf("buffer of %d bytes for %d bits from %d on", len(b), a.Len(), a.Offset())
	}
	out := make([]uint8, a.Len())
	for i := range out {
		if !a.isNull(i) {
			j := a.Offset() + i
			out[i] = b[j>>3] >> (j & 7) & 1
		}
	}
	return Of(t, out, a.valid), nil
}

func (a arrowInput) floats(t Type) (Column, error) {
	id := a.dt.ID()
	if id == ArrowType(t).ID() {
		if t.Kind == Float {
			return aliasValues[uint32](a, t) // as bits: -0 under a NULL is not zero
		}
		return aliasValues[uint64](a, t)
	}
	half := func(v uint16) float32 { return float16.FromBits(v).Float32() }
	switch {
	case id == arrow.FLOAT16 && t.Kind == Float:
		return mapValues(a, t, func(v uint16) (float32, bool) { return half(v), true })
	case id == arrow.FLOAT16:
		return mapValues(a, t, func(v uint16) (float64, bool) { return float64(half(v)), true })
	case id == arrow.FLOAT32:
		return mapValues(a, t, func(v float32) (float64, bool) { return float64(v), true })
	case id == arrow.FLOAT64:
		return mapValues(a, t, func(v float64) (float32, bool) { return float32(v), v != v || float64(float32(v)) == v })
	}
	return Column{}, errNoConversion
}

func (a arrowInput) intervals(t Type) (Column, error) {
	switch a.dt.ID() {
	case arrow.INTERVAL_MONTHS:
		return mapValues(a, t, func(m int32) (IntervalValue, bool) { return IntervalValue{Months: m}, true })
	case arrow.INTERVAL_DAY_TIME:
		return mapValues(a, t, func(v arrow.DayTimeInterval) (IntervalValue, bool) {
			return IntervalValue{Days: v.Days, Micros: int64(v.Milliseconds) * 1000}, true
		})
	case arrow.INTERVAL_MONTH_DAY_NANO:
		return mapValues(a, t, func(v IntervalValue) (IntervalValue, bool) {
			nanos := v.Micros
			v.Micros /= 1000
			return v, nanos%1000 == 0
		})
	}
	return Column{}, errNoConversion
}

func fromDictionary(d arrow.ArrayData, dt *arrow.DictionaryType, t Type) (Column, error) {
	dict, _ := d.Dictionary().(*array.Data)
	if dict == nil {
		return Column{}, fmt.Errorf("dictionary is missing")
	}
	values, err := fromArrow(dict, t)
	if err != nil {
		return Column{}, fmt.Errorf("dictionary: %w", err)
	}
	valid, err := arrowValid(d)
	if err != nil {
		return Column{}, err
	}
	a := arrowInput{ArrayData: d, dt: dt.IndexType, valid: valid}
	index, err := a.exactNumbers(T(Int64))
	if err != nil {
		return Column{}, fmt.Errorf("dictionary index: %w", err)
	}
	b := NewBuilder(t, d.Len())
	for i, k := range Values[int64](&index) {
		switch {
		case a.isNull(i):
			b.AppendNull()
			continue
		case k < 0 || k >= int64(values.N):
			return Column{}, fmt.Errorf("row %d: index %d in a dictionary of %d", i, k, values.N)
		case t.Varlen() && b.DataLen()+len(values.Bytes(int(k))) > maxColumnBytes:
			return Column{}, fmt.Errorf("row %d: %w", i, errTooMuchText)
		}
		b.AppendFrom(&values, int(k))
	}
	return b.Finish(), nil
}
