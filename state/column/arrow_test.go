package column_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// arrowable makes the few values that Arrow cannot take NULL.
func arrowable(c column.Column) column.Column {
	if _, err := column.ToArrow(&c); err == nil {
		return c
	}
	b := column.NewBuilder(c.Type, c.N)
	for i := range c.N {
		one := c.Slice(i, i+1)
		if _, err := column.ToArrow(&one); err != nil {
			b.AppendNull()
		} else {
			b.AppendFrom(&c, i)
		}
	}
	return b.Finish()
}

func TestArrowRoundTrip(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range columntest.Types() {
		f := column.ArrowField(column.Field{Name: "x", Type: typ, NotNull: true})
		if back, err := column.FromArrowType(f.Type, f.Metadata); err != nil || back != typ || f.Nullable {
			t.Errorf("%v as field %v comes back as %v, %v", typ, f, back, err)
		}
		for _, span := range [][2]int{{0, 100}, {3, 77}, {8, 9}, {20, 20}} {
			whole := arrowable(columntest.Random(r, typ, 100))
			c := whole.Slice(span[0], span[1])
			arr, err := column.ToArrow(&c)
			if err != nil {
				t.Fatal(err)
			}
			if arr.Len() != c.N || typ.Kind != column.Union && arr.NullN() != c.NullCount() {
				t.Fatalf("%v: %d values, %d nulls", typ, arr.Len(), arr.NullN())
			}
			got, err := column.FromArrow(arr, typ)
			if err != nil {
				t.Fatal(err)
			}
			if d := columntest.Diff(&c, &got); d != "" {
				t.Fatal(d)
			}
			lo, hi := arr.Len()/3, arr.Len()
			sliced := array.NewSlice(arr, int64(lo), int64(hi))
			want := c.Slice(lo, hi)
			if got, err = column.FromArrow(sliced, typ); err != nil {
				t.Fatal(err)
			}
			if d := columntest.Diff(&want, &got); d != "" {
				t.Fatal("sliced array:", d)
			}
		}
	}
}

func TestArrowThroughIPC(t *testing.T) {
	r := columntest.Rand(t)
	var fields []arrow.Field
	var arrs []arrow.Array
	var cols []column.Column
	for _, typ := range columntest.Types() {
		whole := arrowable(columntest.Random(r, typ, 50))
		c := whole.Slice(11, 42)
		arr, err := column.ToArrow(&c)
		if err != nil {
			t.Fatal(err)
		}
		fields, arrs, cols = append(fields, column.ArrowField(column.Field{Name: typ.String(), Type: typ})), append(arrs, arr), append(cols, c)
	}
	schema := arrow.NewSchema(fields, nil)
	var wire bytes.Buffer
	w := ipc.NewWriter(&wire, ipc.WithSchema(schema))
	if err := w.Write(array.NewRecordBatch(schema, arrs, 31)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	rd, err := ipc.NewReader(&wire)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := rd.Read()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range rd.Schema().Fields() {
		typ, err := column.FromArrowType(f.Type, f.Metadata)
		if err != nil || typ != cols[i].Type {
			t.Errorf("%v comes back as %v, %v", cols[i].Type, typ, err)
			continue
		}
		got, err := column.FromArrow(rec.Column(i), typ)
		if err != nil {
			t.Fatal(err)
		}
		if d := columntest.Diff(&cols[i], &got); d != "" {
			t.Error(d)
		}
	}
}

func build[B array.Builder](b B, f func(B)) arrow.Array {
	f(b)
	return b.NewArray()
}

func TestFromArrowConverts(t *testing.T) {
	mem := memory.DefaultAllocator
	ts := func(unit arrow.TimeUnit, tz string, v ...arrow.Timestamp) arrow.Array {
		return build(array.NewTimestampBuilder(mem, &arrow.TimestampType{Unit: unit, TimeZone: tz}), func(b *array.TimestampBuilder) {
			b.AppendValues(v, nil)
			b.AppendNull()
		})
	}
	i32 := build(array.NewInt32Builder(mem), func(b *array.Int32Builder) { b.AppendValues([]int32{-5, 7}, nil); b.AppendNull() })
	dict := build(array.NewDictionaryBuilder(mem, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder),
		func(b *array.BinaryDictionaryBuilder) {
			for _, s := range []string{"x", "yy", "x"} {
				if err := b.AppendString(s); err != nil {
					t.Fatal(err)
				}
			}
			b.AppendNull()
		})
	fsb := build(array.NewFixedSizeBinaryBuilder(mem, &arrow.FixedSizeBinaryType{ByteWidth: 16}), func(b *array.FixedSizeBinaryBuilder) {
		b.Append([]byte{1, 15: 2})
		b.AppendNull()
	})
	uuids := array.NewExtensionArrayWithStorage(&uuidType{arrow.ExtensionBase{Storage: fsb.DataType()}}, fsb)
	if typ, err := column.FromArrowType(uuids.DataType(), arrow.Metadata{}); err != nil || typ != column.T(column.UUID) {
		t.Errorf("arrow.uuid is taken as %v, %v", typ, err)
	}
	for _, tt := range []struct {
		name string
		arr  arrow.Array
		to   column.Type
		want string // values joined by blanks as VARCHAR, or part of the error
	}{
		{"int32 to BIGINT", i32, column.T(column.Int64), "-5 7 NULL"},
		{"int32 to TINYINT", i32, column.T(column.Int8), "-5 7 NULL"},
		{"int32 to HUGEINT", i32, column.T(column.HugeInt), "-5 7 NULL"},
		{"int32 to DECIMAL", i32, column.DecimalOf(9, 2), "-5.00 7.00 NULL"},
		{"int32 to small DECIMAL", i32, column.DecimalOf(2, 2), "row 0: -5"},
		{"int32 to UTINYINT", i32, column.T(column.UInt8), "row 0: -5"},
		{"int32 to VARCHAR", i32, column.T(column.Varchar), "no conversion"},
		{"uint64", build(array.NewUint64Builder(mem), func(b *array.Uint64Builder) { b.Append(math.MaxUint64) }), column.T(column.Int64), "row 0: 18446744073709551615"},
		{"uint64 to HUGEINT", build(array.NewUint64Builder(mem), func(b *array.Uint64Builder) { b.Append(math.MaxUint64) }), column.T(column.HugeInt), "18446744073709551615"},
		{"decimal32", build(array.NewDecimal32Builder(mem, &arrow.Decimal32Type{Precision: 5, Scale: 2}), func(b *array.Decimal32Builder) { b.Append(decimal.Decimal32(-125)) }), column.DecimalOf(10, 3), "-1.250"},
		{"decimal64", build(array.NewDecimal64Builder(mem, &arrow.Decimal64Type{Precision: 15, Scale: 0}), func(b *array.Decimal64Builder) { b.Append(decimal.Decimal64(12)) }), column.T(column.Int16), "12"},
		{"decimal128 lies", build(array.NewDecimal128Builder(mem, &arrow.Decimal128Type{Precision: 3, Scale: 0}), func(b *array.Decimal128Builder) { b.Append(decimal128.FromI64(1000)) }), column.DecimalOf(3, 0), "row 0: unscaled 1000"},
		{"decimal128 down", build(array.NewDecimal128Builder(mem, &arrow.Decimal128Type{Precision: 9, Scale: 3}), func(b *array.Decimal128Builder) {
			b.Append(decimal128.FromI64(1500))
			b.Append(decimal128.FromI64(1501))
		}), column.DecimalOf(9, 1), "row 1: 1501"},
		{"float16", build(array.NewFloat16Builder(mem), func(b *array.Float16Builder) { b.Append(float16.New(1.5)) }), column.T(column.Double), "1.5"},
		{"float32", build(array.NewFloat32Builder(mem), func(b *array.Float32Builder) { b.Append(0.25) }), column.T(column.Double), "0.25"},
		{"float64 exact", build(array.NewFloat64Builder(mem), func(b *array.Float64Builder) { b.Append(0.5); b.Append(math.NaN()) }), column.T(column.Float), "0.5 nan"},
		{"float64 inexact", build(array.NewFloat64Builder(mem), func(b *array.Float64Builder) { b.Append(0.1) }), column.T(column.Float), "row 0: 0.1"},
		{"large utf8", build(array.NewLargeStringBuilder(mem), func(b *array.LargeStringBuilder) { b.Append("a"); b.AppendNull(); b.Append("z\u00fc") }), column.T(column.Varchar), "a NULL z\u00fc"},
		{"utf8 view", build(array.NewStringViewBuilder(mem), func(b *array.StringViewBuilder) { b.Append("short"); b.AppendNull(); b.Append("longer_than_twelve") }), column.T(column.Varchar), "short NULL longer_than_twelve"},
		{"not utf8", build(array.NewStringBuilder(mem), func(b *array.StringBuilder) { b.Append("ok"); b.Append("\xff") }), column.T(column.Varchar), "row 1: text is not UTF-8"},
		{"cut rune", build(array.NewStringBuilder(mem), func(b *array.StringBuilder) { b.Append("\xc3"); b.Append("\xbc") }), column.T(column.Varchar), "row 0: text is not UTF-8"},
		{"binary to VARCHAR", build(array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary), func(b *array.BinaryBuilder) { b.Append([]byte("x")) }), column.T(column.Varchar), "no conversion"},
		{"fixed binary", build(array.NewFixedSizeBinaryBuilder(mem, &arrow.FixedSizeBinaryType{ByteWidth: 2}), func(b *array.FixedSizeBinaryBuilder) { b.Append([]byte("xy")); b.AppendNull() }), column.T(column.Blob), "xy NULL"},
		{"uuid extension", uuids, column.T(column.UUID), "01000000-0000-0000-0000-000000000002 NULL"},
		{"dictionary", dict, column.T(column.Varchar), "x yy x NULL"},
		{"dictionary sliced", array.NewSlice(dict, 1, 4), column.T(column.Varchar), "yy x NULL"},
		{"nulls", array.NewNull(2), column.T(column.Date), "NULL NULL"},
		{"date64", build(array.NewDate64Builder(mem), func(b *array.Date64Builder) { b.Append(-86_400_000) }), column.T(column.Date), "1969-12-31"},
		{"date64 with a time", build(array.NewDate64Builder(mem), func(b *array.Date64Builder) { b.Append(1) }), column.T(column.Date), "row 0: 1"},
		{"time32", build(array.NewTime32Builder(mem, &arrow.Time32Type{Unit: arrow.Millisecond}), func(b *array.Time32Builder) { b.Append(1500) }), column.T(column.Time), "00:00:01.5"},
		{"time64 nanoseconds", build(array.NewTime64Builder(mem, &arrow.Time64Type{Unit: arrow.Nanosecond}), func(b *array.Time64Builder) { b.Append(1500) }), column.T(column.Time), "row 0: 1500"},
		{"time past the day", build(array.NewTime64Builder(mem, &arrow.Time64Type{Unit: arrow.Microsecond}), func(b *array.Time64Builder) { b.Append(86_400_000_001) }), column.T(column.Time), "row 0"},
		{"timestamp s to us", ts(arrow.Second, "", 1), column.T(column.Timestamp), "1970-01-01_00:00:01 NULL"},
		{"timestamp ns to ms", ts(arrow.Nanosecond, "", 2_000_000), column.T(column.TimestampMS), "1970-01-01_00:00:00.002 NULL"},
		{"timestamp ns to us, lossy", ts(arrow.Nanosecond, "", 1000, 1001), column.T(column.Timestamp), "row 1: 1001"},
		{"timestamp s to ns, overflow", ts(arrow.Second, "", math.MaxInt64/1000), column.T(column.TimestampNS), "row 0"},
		{"timestamptz", ts(arrow.Millisecond, "Europe/Paris", 1), column.T(column.TimestampTZ), "1970-01-01_00:00:00.001+00 NULL"},
		{"zone lost", ts(arrow.Microsecond, "UTC", 1), column.T(column.Timestamp), "no conversion"},
		{"zone invented", ts(arrow.Microsecond, "", 1), column.T(column.TimestampTZ), "no conversion"},
		{"months", build(array.NewMonthIntervalBuilder(mem), func(b *array.MonthIntervalBuilder) { b.Append(14) }), column.T(column.Interval), "1_year_2_months"},
		{"day time", build(array.NewDayTimeIntervalBuilder(mem), func(b *array.DayTimeIntervalBuilder) {
			b.Append(arrow.DayTimeInterval{Days: 2, Milliseconds: 1})
		}), column.T(column.Interval), "2_days_00:00:00.001"},
		{"month day nano, lossy", build(array.NewMonthDayNanoIntervalBuilder(mem), func(b *array.MonthDayNanoIntervalBuilder) {
			b.Append(arrow.MonthDayNanoInterval{Nanoseconds: 1})
		}), column.T(column.Interval), "row 0"},
	} {
		c, err := column.FromArrow(tt.arr, tt.to)
		got := ""
		if err == nil {
			var parts []string
			for i := range c.N {
				parts = append(parts, strings.ReplaceAll(string(column.AppendText(nil, &c, i)), " ", "_"))
			}
			got = strings.Join(parts, " ")
		} else {
			got = err.Error()
		}
		if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// uuidType is the extension as a reader that knows it presents it.
type uuidType struct{ arrow.ExtensionBase }

func (*uuidType) ArrayType() reflect.Type { return reflect.TypeFor[uuidArray]() }
func (*uuidType) ExtensionName() string   { return "arrow.uuid" }
func (*uuidType) ExtensionEquals(o arrow.ExtensionType) bool {
	return o.ExtensionName() == "arrow.uuid"
}
func (*uuidType) Serialize() string { return "" }
func (*uuidType) Deserialize(storage arrow.DataType, _ string) (arrow.ExtensionType, error) {
	return &uuidType{arrow.ExtensionBase{Storage: storage}}, nil
}

type uuidArray struct{ array.ExtensionArrayBase }

func TestArrowClearsUnderNulls(t *testing.T) {
	valid := memory.NewBufferBytes([]byte{0b101})
	raw := func(dt arrow.DataType, bufs ...[]byte) arrow.Array {
		all := []*memory.Buffer{valid}
		for _, b := range bufs {
			all = append(all, memory.NewBufferBytes(b))
		}
		return array.MakeFromData(array.NewData(dt, 3, all, nil, 1, 0))
	}
	c, err := column.FromArrow(raw(arrow.PrimitiveTypes.Int8, []byte{1, 2, 3}), column.T(column.Int8))
	if err != nil || !bytes.Equal(c.Data, []byte{1, 0, 3}) {
		t.Fatal(c, err)
	}
	c, err = column.FromArrow(raw(arrow.BinaryTypes.String, []byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, []byte("abc")), column.T(column.Varchar))
	if err != nil || string(c.Data) != "ac" || c.Str(2) != "c" || len(c.Bytes(1)) != 0 {
		t.Fatal(c, err)
	}
}

func TestFromArrowChecksLengths(t *testing.T) {
	text := func(offs, data []byte) arrow.Array {
		// Built as fixed-width values, then given the text type: array.String's own constructor
		// panics on offsets that lie.
		return hostile{array.NewData(arrow.BinaryTypes.String, 2, []*memory.Buffer{nil, memory.NewBufferBytes(offs), memory.NewBufferBytes(data)}, nil, 0, 0)}
	}
	le := func(v ...byte) (out []byte) {
		for _, x := range v {
			hi := byte(0)
			if x >= 0x80 {
				hi = 0xff
			}
			out = append(out, x, hi, hi, hi)
		}
		return out
	}
	varchar := column.T(column.Varchar)
	for name, arr := range map[string]arrow.Array{
		"offsets short":   text(le(0, 1), []byte("ab")),
		"offsets descend": text(le(0, 2, 1), []byte("ab")),
		"offset negative": text(le(0xff, 0, 1), []byte("ab")),
		"text short":      text(le(0, 1, 3), []byte("ab")),
		"validity short":  hostile{array.NewData(arrow.BinaryTypes.String, 9, []*memory.Buffer{memory.NewBufferBytes([]byte{1}), nil, nil}, nil, 1, 0)},
		"no buffers":      hostile{array.NewData(arrow.BinaryTypes.String, 9, nil, nil, 0, 0)},
		"views":           hostile{array.NewData(arrow.BinaryTypes.StringView, 1, []*memory.Buffer{nil, memory.NewBufferBytes(append(le(13, 0, 0), le(1)...)), memory.NewBufferBytes(make([]byte, 13))}, nil, 0, 0)},
		"view negative":   hostile{array.NewData(arrow.BinaryTypes.StringView, 1, []*memory.Buffer{nil, memory.NewBufferBytes(le(0xff, 0, 0, 0))}, nil, 0, 0)},
		"dictionary index": hostile{array.NewDataWithDictionary(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, 1,
			[]*memory.Buffer{nil, memory.NewBufferBytes([]byte{2})}, 0, 0, text(le(0, 1, 2), []byte("ab")).Data().(*array.Data))},
		"dictionary missing": hostile{array.NewData(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, 1,
			[]*memory.Buffer{nil, memory.NewBufferBytes([]byte{0})}, nil, 0, 0)},
	} {
		if c, err := column.FromArrow(arr, varchar); err == nil {
			t.Errorf("%s: %v", name, c)
		}
	}
	if _, err := column.FromArrow(hostile{array.NewData(arrow.PrimitiveTypes.Int64, 2, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 15))}, nil, 0, 0)}, column.T(column.Int64)); err == nil {
		t.Error("values short")
	}
}

// hostile is an array whose data was never checked by a constructor.
type hostile struct{ d arrow.ArrayData }

func (h hostile) Data() arrow.ArrayData        { return h.d }
func (h hostile) DataType() arrow.DataType     { return h.d.DataType() }
func (h hostile) Len() int                     { return h.d.Len() }
func (h hostile) NullN() int                   { return h.d.NullN() }
func (h hostile) NullBitmapBytes() []byte      { return nil }
func (h hostile) IsNull(int) bool              { return false }
func (h hostile) IsValid(int) bool             { return true }
func (h hostile) ValueStr(int) string          { return "" }
func (h hostile) GetOneForMarshal(int) any     { return nil }
func (h hostile) MarshalJSON() ([]byte, error) { return nil, nil }
func (h hostile) String() string               { return "" }
func (h hostile) Release()                     {}
func (h hostile) Retain()                      {}
func (h hostile) Validate() error              { return nil }
func (h hostile) ValidateFull() error          { return nil }

func TestToArrowRefuses(t *testing.T) {
	huge := column.Of(column.T(column.HugeInt), []column.Int128{{}, {Hi: math.MaxInt64}}, nil)
	iv := column.Of(column.T(column.Interval), []column.IntervalValue{{Micros: math.MaxInt64}}, nil)
	for _, c := range []*column.Column{&huge, &iv} {
		if _, err := column.ToArrow(c); !errors.Is(err, column.ErrNotLossless) {
			t.Errorf("%v: %v", c.Type, err)
		}
	}
	for _, dt := range []arrow.DataType{arrow.LargeListOf(arrow.PrimitiveTypes.Int8), arrow.StructOf(), &arrow.Decimal128Type{Precision: 3, Scale: -1}, &arrow.Decimal256Type{Precision: 50}, arrow.FixedWidthTypes.Duration_s} {
		if typ, err := column.FromArrowType(dt, arrow.Metadata{}); err == nil {
			t.Errorf("%v is taken as %v", dt, typ)
		}
	}
}
