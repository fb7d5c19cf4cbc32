package decode

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tidemill/state/column"
)

// arrowCase is an Arrow type, the column type it is read as, and texts of values of it.
type arrowCase struct {
	dt   arrow.DataType
	typ  column.Type
	text func(r *rand.Rand) string
}

func dictOf(index, value arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: index, ValueType: value}
}

func arrowCases() []arrowCase {
	ints := func(lo, n int64) func(*rand.Rand) string {
		return func(r *rand.Rand) string { return fmt.Sprint(lo + r.Int64N(n)) }
	}
	words := func(r *rand.Rand) string {
		return []string{"", "a", "sale", "naïve", "日本語", "a text that is longer than twelve bytes", "😀"}[r.IntN(7)]
	}
	b64 := func(n int) func(*rand.Rand) string {
		return func(r *rand.Rand) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return base64.StdEncoding.EncodeToString(b)
		}
	}
	clock := func(layout string) func(*rand.Rand) string {
		return func(r *rand.Rand) string {
			s := fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", 1900+r.IntN(200), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
			switch layout {
			case "date":
				return s[:10]
			case "time":
				return s[11:]
			case "ms":
				return fmt.Sprintf("%s.%03d", s, r.IntN(1000))
			case "us":
				return fmt.Sprintf("%s.%06d", s, r.IntN(1e6))
			}
			return s
		}
	}
	zoned := func(f func(*rand.Rand) string) func(*rand.Rand) string {
		return func(r *rand.Rand) string { return f(r) + "Z" }
	}
	decimal := func(r *rand.Rand) string { return fmt.Sprintf("%d.%02d", r.IntN(200)-100, r.IntN(100)) }
	ts := func(u arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: u, TimeZone: zone}
	}
	p := arrow.PrimitiveTypes
	return []arrowCase{
		{arrow.FixedWidthTypes.Boolean, column.T(column.Bool), func(r *rand.Rand) string { return fmt.Sprint(r.IntN(2) == 0) }},
		{p.Int8, column.T(column.Int8), ints(-128, 256)}, {p.Int16, column.T(column.Int16), ints(-32768, 65536)},
		{p.Int32, column.T(column.Int32), ints(-1<<31, 1<<32)}, {p.Int64, column.T(column.Int64), ints(-1<<62, 1<<62)},
		{p.Uint8, column.T(column.UInt8), ints(0, 256)}, {p.Uint16, column.T(column.UInt16), ints(0, 65536)},
		{p.Uint32, column.T(column.UInt32), ints(0, 1<<32)}, {p.Uint64, column.T(column.UInt64), ints(0, 1<<62)},
		{arrow.FixedWidthTypes.Float16, column.T(column.Float), ints(-100, 200)},
		{p.Float32, column.T(column.Float), decimal}, {p.Float64, column.T(column.Double), decimal},
		{arrow.BinaryTypes.String, column.T(column.Varchar), words}, {arrow.BinaryTypes.LargeString, column.T(column.Varchar), words},
		{arrow.BinaryTypes.StringView, column.T(column.Varchar), words},
		{arrow.BinaryTypes.Binary, column.T(column.Blob), b64(5)}, {arrow.BinaryTypes.LargeBinary, column.T(column.Blob), b64(5)},
		{arrow.BinaryTypes.BinaryView, column.T(column.Blob), b64(17)},
		{&arrow.FixedSizeBinaryType{ByteWidth: 5}, column.T(column.Blob), b64(5)},
		{&arrow.FixedSizeBinaryType{ByteWidth: 16}, column.T(column.Blob), b64(16)},
		{&arrow.FixedSizeBinaryType{ByteWidth: 16}, column.T(column.UUID), b64(16)},
		{&arrow.Decimal32Type{Precision: 9, Scale: 2}, column.DecimalOf(9, 2), decimal},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, column.DecimalOf(18, 2), decimal},
		{&arrow.Decimal128Type{Precision: 30, Scale: 2}, column.DecimalOf(30, 2), decimal},
		{&arrow.Decimal128Type{Precision: 20, Scale: 0}, column.T(column.HugeInt), ints(-1<<62, 1<<62)},
		{arrow.FixedWidthTypes.Date32, column.T(column.Date), clock("date")}, {arrow.FixedWidthTypes.Date64, column.T(column.Date), clock("date")},
		{arrow.FixedWidthTypes.Time32s, column.T(column.Time), clock("time")}, {arrow.FixedWidthTypes.Time32ms, column.T(column.Time), clock("time")},
		{arrow.FixedWidthTypes.Time64us, column.T(column.Time), clock("time")}, {arrow.FixedWidthTypes.Time64ns, column.T(column.Time), clock("time")},
		{ts(arrow.Second, ""), column.T(column.TimestampS), clock("")}, {ts(arrow.Millisecond, ""), column.T(column.TimestampMS), clock("ms")},
		{ts(arrow.Microsecond, ""), column.T(column.Timestamp), clock("us")}, {ts(arrow.Nanosecond, ""), column.T(column.TimestampNS), clock("us")},
		{ts(arrow.Second, ""), column.T(column.Timestamp), clock("")}, {ts(arrow.Nanosecond, ""), column.T(column.Timestamp), clock("us")},
		{ts(arrow.Second, "UTC"), column.T(column.TimestampTZ), zoned(clock(""))}, {ts(arrow.Millisecond, "UTC"), column.T(column.TimestampTZ), zoned(clock("ms"))},
		{ts(arrow.Microsecond, "Europe/Berlin"), column.T(column.TimestampTZ), zoned(clock("us"))}, {ts(arrow.Nanosecond, "UTC"), column.T(column.TimestampTZ), zoned(clock("us"))},
		{arrow.FixedWidthTypes.MonthInterval, column.T(column.Interval), ints(-100, 200)},
		{arrow.FixedWidthTypes.DayTimeInterval, column.T(column.Interval), func(r *rand.Rand) string {
			return fmt.Sprintf(`{"days":%d,"milliseconds":%d}`, r.IntN(100)-50, r.IntN(1000))
		}},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, column.T(column.Interval), func(r *rand.Rand) string {
			return fmt.Sprintf(`{"months":%d,"days":%d,"nanoseconds":%d}`, r.IntN(100)-50, r.IntN(9), 1000*(r.IntN(1e6)-500000))
		}},
		{dictOf(p.Int8, arrow.BinaryTypes.String), column.T(column.Varchar), words}, {dictOf(p.Uint16, arrow.BinaryTypes.String), column.T(column.Varchar), words},
		{dictOf(p.Int32, arrow.BinaryTypes.LargeString), column.T(column.Varchar), words}, {dictOf(p.Int64, p.Int64), column.T(column.Int64), ints(0, 5)},
		{p.Int8, column.T(column.Int64), ints(-128, 256)}, {p.Uint32, column.T(column.HugeInt), ints(0, 1<<32)},
		{p.Int32, column.T(column.Double), ints(-1<<31, 1<<32)}, {p.Int64, column.DecimalOf(20, 3), ints(-1<<50, 1<<51)},
		{p.Uint8, column.T(column.Int16), ints(0, 256)}, {p.Float32, column.T(column.Double), decimal},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, column.DecimalOf(18, 2), decimal}, {p.Int16, column.T(column.Float), ints(-32768, 65536)},
	}
}

// randomArray has n values of the case, a third of them NULL if nulls is set.
func randomArray(t testing.TB, r *rand.Rand, c arrowCase, n int, nulls bool) arrow.Array {
	if d, ok := c.dt.(*arrow.DictionaryType); ok && d.ValueType.ID() == arrow.LARGE_STRING {
		// There is no builder for it: seven values, one of them NULL, and places among them.
		values := randomArray(t, r, arrowCase{dt: d.ValueType, text: c.text}, 7, nulls)
		places := randomArray(t, r, arrowCase{dt: d.IndexType, text: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(7)) }}, n, nulls)
		return array.NewDictionaryArray(c.dt, places, values)
	}
	b := array.NewBuilder(memory.DefaultAllocator, c.dt)
	for range n {
		if nulls && r.IntN(3) == 0 {
			b.AppendNull()
		} else if err := b.AppendValueFromString(c.text(r)); err != nil {
			t.Fatalf("%s: %v", c.dt, err)
		}
	}
	return b.NewArray()
}

// writeStream returns the batches, each a slice of arrays, as an Arrow stream.
func writeStream(t testing.TB, fields []arrow.Field, batches [][]arrow.Array, opts ...ipc.Option) []byte {
	var w bytes.Buffer
	schema := arrow.NewSchema(fields, nil)
	wr := ipc.NewWriter(&w, append(opts, ipc.WithSchema(schema))...)
	for _, cols := range batches {
		rec := array.NewRecordBatch(schema, cols, int64(cols[0].Len()))
		if err := wr.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := wr.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func TestArrowTypesAgainstArrays(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	for i, c := range arrowCases() {
		fields := []column.Field{{Name: "v", Type: c.typ}}
		d := NewArrow(fields, Options{})
		for _, n := range []int{0, 1, 7, 8, 9, 100} {
			for k := range 6 {
				opts := [][]ipc.Option{nil, {ipc.WithLZ4()}, {ipc.WithZstd()}}[k%3]
				arrs := []arrow.Array{randomArray(t, r, c, n, k >= 3), randomArray(t, r, c, n/2, k >= 3)}
				if _, ok := c.dt.(*arrow.DictionaryType); ok {
					opts = append(opts, ipc.WithDictionaryDeltas(k%2 == 0))
				}
				arrs = append(arrs, array.NewSlice(arrs[0], int64(n/3), int64(n)))
				body := writeStream(t, []arrow.Field{{Name: "v", Type: c.dt, Nullable: true}}, [][]arrow.Array{{arrs[0]}, {arrs[1]}, {arrs[2]}}, opts...)
				rows, err := d.Decode(body)
				if err != nil {
					t.Fatalf("seed %d, case %d, %s to %s, %d rows, variant %d: %v", seed, i, c.dt, c.typ, n, k, err)
				}
				checkRows(t, rows)
				compareArrays(t, fmt.Sprintf("seed %d, case %d, %s to %s, %d rows, variant %d", seed, i, c.dt, c.typ, n, k), &rows.Cols[0], arrs)
			}
		}
	}
}

// compareArrays compares a column with the arrays it came from: through column.FromArrow, and
// through the arrays' own getters.
func compareArrays(t *testing.T, what string, got *column.Column, arrs []arrow.Array) {
	t.Helper()
	at := 0
	for _, a := range arrs {
		want, err := column.FromArrow(a, got.Type)
		if err != nil && got.Type.Floating() { // integers to floats are refused there
			want = column.Column{}
		} else if err != nil {
			t.Fatalf("%s: FromArrow: %v", what, err)
		}
		for i := range a.Len() {
			if at == got.N {
				t.Fatalf("%s: only %d rows", what, got.N)
			}
			if want.Type.Kind == 0 {
				if g := strings.TrimSuffix(show(got, at), ".0"); g != strings.Replace(a.ValueStr(i), array.NullValueStr, "NULL", 1) {
					t.Fatalf("%s: row %d is %s, not %s", what, at, g, a.ValueStr(i))
				}
				at++
				continue
			}
			if g, w := show(got, at), show(&want, i); g != w || got.IsNull(at) != want.IsNull(i) {
				t.Fatalf("%s: row %d is %s, not %s", what, at, g, w)
			}
			if !want.IsNull(i) {
				if s, ok := getter(a, i); ok && s != show(got, at) {
					t.Fatalf("%s: row %d is %s, and the array has %s", what, at, show(got, at), s)
				}
			}
			at++
		}
	}
	if at != got.N {
		t.Fatalf("%s: %d rows, not %d", what, got.N, at)
	}
}

// getter prints a value by the array's own getter, for the types where that is the same text.
func getter(a arrow.Array, i int) (string, bool) {
	switch a := a.(type) {
	case *array.Int8, *array.Int16, *array.Uint8, *array.Uint32, *array.Int32:
		return "", false // widened in some cases; their columns are compared above
	case *array.Uint64:
		return fmt.Sprint(a.Value(i)), true
	case *array.Boolean:
		return fmt.Sprint(a.Value(i)), true
	case *array.String:
		return a.Value(i), true
	case *array.LargeString:
		return a.Value(i), true
	case *array.StringView:
		return a.Value(i), true
	case *array.Date32:
		return a.Value(i).FormattedString(), true
	case *array.Date64:
		return a.Value(i).FormattedString(), true
	case *array.Decimal128:
		return a.ValueStr(i), a.DataType().(*arrow.Decimal128Type).Scale == 0
	case *array.Dictionary:
		if s, ok := a.Dictionary().(*array.String); ok {
			return s.Value(a.GetValueIndex(i)), true
		}
	}
	return "", false
}

// arr builds an array from the texts of values; "NULL" is a NULL.
func arr(t testing.TB, dt arrow.DataType, vals ...string) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	for _, v := range vals {
		if v == "NULL" {
			b.AppendNull()
		} else if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

func TestArrowSchemaAndRowErrors(t *testing.T) {
	i64, str, p := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes
	table := []column.Field{
		{Name: "id", Type: column.T(column.Int64), NotNull: true}, {Name: "s", Type: column.T(column.Varchar)},
		{Name: "d", Type: column.DecimalOf(4, 2)}, {Name: "f", Type: column.T(column.Float)},
		{Name: "ts", Type: column.T(column.Timestamp)}, {Name: "tz", Type: column.T(column.TimestampTZ)}, {Name: "ms", Type: column.T(column.TimestampMS)},
	}
	id := arr(t, i64, "1", "2")
	badText := array.NewStringData(array.NewData(str, 2, []*memory.Buffer{nil, memory.NewBufferBytes([]byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}), memory.NewBufferBytes([]byte("\xc3\xa9"))}, nil, 0, 0))
	for i, c := range []struct {
		name string
		a    arrow.Array
		want string
	}{
		{"x", id, "no such column"}, {"_deleted", arr(t, arrow.FixedWidthTypes.Boolean, "true", "false"), "primary key"},
		{"s", id, `column "s" is int64 in the Arrow stream and is VARCHAR in the table: the types do not match`},
		{"s", arr(t, arrow.BinaryTypes.Binary, "YQ==", "YQ=="), "do not match"}, {"s", badText, `row 1, column "s": the text is not valid UTF-8`},
		{"s", arr(t, arrow.ListOf(i64), "[1]", "[2]"), "list"}, {"s", arr(t, dictOf(p.Int8, i64), "1", "2"), "dictionary of int64"},
		{"f", arr(t, p.Float64, "1", "2"), "do not match"}, {"f", arr(t, p.Int32, "1", "2"), "exactly"},
		{"d", arr(t, &arrow.Decimal128Type{Precision: 5, Scale: 2}, "1.00", "2.00"), "same scale"},
		{"d", arr(t, &arrow.Decimal128Type{Precision: 4, Scale: 1}, "1.0", "2.0"), "same scale"},
		{"d", arr(t, i64, "99", "-100"), `row 2, column "d": the value of type int64 has no exact DECIMAL(4,2): -100`},
		{"ts", arr(t, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, "2026-01-01 00:00:00Z", "NULL"), "must not carry a time zone"},
		{"tz", arr(t, &arrow.TimestampType{Unit: arrow.Microsecond}, "2026-01-01 00:00:00", "NULL"), "must carry a time zone"},
		{"ms", arr(t, &arrow.TimestampType{Unit: arrow.Microsecond}, "NULL", "2026-01-01 00:00:00.000001"), "row 2"},
		{"tz", arr(t, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, "NULL", "2026-01-01 00:00:00.000000001Z"), "row 2"},
		{"id", id, "two fields"},
	} {
		body := writeStream(t, []arrow.Field{field("id", i64), field(c.name, c.a.DataType())}, [][]arrow.Array{{id, c.a}})
		_, err := DecodeArrowStream(body, table, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("case %d, %s: %v, which should mention %q", i, c.name, err, c.want)
		}
	}
	body := writeStream(t, []arrow.Field{field("id", i64)}, [][]arrow.Array{{id}, {arr(t, i64, "3", "NULL")}})
	var e *RowError
	if _, err := DecodeArrowStream(body, table, Options{}); !errors.As(err, &e) || e.Row != 4 || e.Column != "id" {
		t.Errorf("NULL in a NOT NULL column: %v", err)
	}
	var se *SchemaError
	body = writeStream(t, []arrow.Field{field("s", str)}, [][]arrow.Array{{arr(t, str, "a")}})
	if _, err := DecodeArrowStream(body, table, Options{}); !errors.As(err, &se) || se.Column != "id" {
		t.Errorf("a missing NOT NULL column: %v", err)
	}
	body = writeStream(t, []arrow.Field{field("s", arrow.Null)}, [][]arrow.Array{{array.NewNull(5)}})
	if _, err := DecodeArrowStream(body, table[1:2], Options{}); err == nil {
		t.Error("a batch of nothing but null arrays was taken")
	}
}

func TestArrowKeyedAndMissing(t *testing.T) {
	i64, str := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	table := []column.Field{
		{Name: "id", Type: column.T(column.Int64), NotNull: true}, {Name: "must", Type: column.T(column.Varchar), NotNull: true},
		{Name: "dflt", Type: column.T(column.Int64), NotNull: true}, {Name: "free", Type: column.T(column.UUID)},
	}
	d := NewArrow(table, Options{Key: []int{0}, HasDefault: []bool{false, false, true, false}})
	gone := arr(t, arrow.FixedWidthTypes.Boolean, "false", "true", "false")
	fields := []arrow.Field{field("_deleted", arrow.FixedWidthTypes.Boolean), field("free", arrow.Null), field("must", str), field("id", i64)}
	ids, must := arr(t, i64, "1", "2", "3"), arr(t, str, "a", "NULL", "c")
	body := writeStream(t, fields, [][]arrow.Array{{gone, array.NewNull(3), must, ids}})
	for range 2 { // the second time by the remembered schema
		r, err := d.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, r)
		if got := rowOf(r, 0) + ";" + rowOf(r, 1); got != "1|a|NULL|NULL;2|NULL|NULL|NULL" || r.Deleted[0] != 0b010 || r.Present[2][0] != 0 || r.Present[3] != nil {
			t.Errorf("%s, deleted %b, present %v", got, r.Deleted, r.Present)
		}
	}
	for want, cols := range map[string][]arrow.Array{
		`row 1, column "must": the column is NOT NULL`:       {gone, array.NewNull(3), arr(t, str, "NULL", "NULL", "c"), ids},
		`row 2, column "id": the column is NOT NULL`:         {gone, array.NewNull(3), must, arr(t, i64, "1", "NULL", "3")},
		`row 3, column "_deleted": must be true or false`:    {arr(t, arrow.FixedWidthTypes.Boolean, "false", "true", "NULL"), array.NewNull(3), must, ids},
		`row 3, column "must": the text is not valid UTF-8:`: {gone, array.NewNull(3), arr(t, str, "a", "NULL", "\xff"), ids},
	} {
		if _, err := d.Decode(writeStream(t, fields, [][]arrow.Array{cols})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, which should mention %q", err, want)
		}
	}
	// Deletes need the key only; another schema on the same decoder.
	r, err := d.Decode(writeStream(t, []arrow.Field{field("id", i64), field("_deleted", arrow.FixedWidthTypes.Boolean)}, [][]arrow.Array{{arr(t, i64, "7"), arr(t, arrow.FixedWidthTypes.Boolean, "true")}}))
	if err != nil || rowOf(r, 0) != "7|NULL|NULL|NULL" {
		t.Errorf("a delete by key: %v", err)
	}
}

// TestArrowGarbageUnderNull: what lies under a NULL is nobody's business, and is cleared.
func TestArrowGarbageUnderNull(t *testing.T) {
	valid := memory.NewBufferBytes([]byte{0b11111101})
	ints := array.NewData(arrow.PrimitiveTypes.Int32, 3, []*memory.Buffer{valid, memory.NewBufferBytes([]byte{1, 0, 0, 0, 9, 9, 9, 9, 3, 0, 0, 0})}, nil, 1, 0)
	texts := array.NewData(arrow.BinaryTypes.String, 3, []*memory.Buffer{valid, memory.NewBufferBytes([]byte{1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0}), memory.NewBufferBytes([]byte("xa\xff\xfec"))}, nil, 1, 0)
	fields := []column.Field{{Name: "i", Type: column.T(column.Int32)}, {Name: "s", Type: column.T(column.Varchar)}}
	body := writeStream(t, []arrow.Field{field("i", arrow.PrimitiveTypes.Int32), field("s", arrow.BinaryTypes.String)}, [][]arrow.Array{{array.NewInt32Data(ints), array.NewStringData(texts)}})
	before := bytes.Clone(body)
	r, err := DecodeArrowStream(body, fields, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, r)
	if got := rowOf(r, 0) + ";" + rowOf(r, 1) + ";" + rowOf(r, 2); got != "1|a;NULL|NULL;3|c" || !bytes.Equal(body, before) {
		t.Errorf("got %s", got)
	}
}

func TestArrowUnalignedBody(t *testing.T) {
	body := arrowFlowBody(t, 10)
	for shift := range 9 {
		moved := append(make([]byte, shift, shift+len(body)), body...)[shift:]
		r, err := DecodeArrowStream(moved, flowFields, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := rowOf(r, 9); got != "10|u7271|r1|279|refund" {
			t.Errorf("shifted by %d: %s", shift, got)
		}
	}
}

func TestArrowTruncated(t *testing.T) {
	body := arrowFlowBody(t, 10)
	ends := map[int]bool{len(body) - 8: true} // the end mark may be missing
	for i := range body {
		r, err := DecodeArrowStream(body[:i], flowFields, Options{})
		if err == nil && !ends[i] && r.N != 0 {
			t.Errorf("the first %d of %d bytes gave %d rows", i, len(body), r.N)
		}
	}
	for _, bad := range []string{"", "ARROW1\x00\x00", "{\"id\":1}\n", "\xff\xff\xff\xff\x00\x00\x00\x00"} {
		var e *StreamError
		if _, err := DecodeArrowStream([]byte(bad), flowFields, Options{}); !errors.As(err, &e) || e.Message != 1 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := DecodeArrowStream(append(bytes.Clone(body), 0), flowFields, Options{}); err == nil {
		t.Error("a byte after the end mark was taken")
	}
}

// arrowFlowBody has the rows of flowBody(n) as an Arrow stream.
func arrowFlowBody(t testing.TB, n int, opts ...ipc.Option) []byte {
	d, err := NewNDJSON(flowFields, Options{}).Decode(flowBody(n))
	if err != nil {
		t.Fatal(err)
	}
	var fields []arrow.Field
	var cols []arrow.Array
	for i := range d.Cols {
		a, err := column.ToArrow(&d.Cols[i])
		if err != nil {
			t.Fatal(err)
		}
		fields, cols = append(fields, column.ArrowField(flowFields[i])), append(cols, a)
	}
	return writeStream(t, fields, [][]arrow.Array{cols}, opts...)
}
