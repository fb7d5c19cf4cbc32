package decode

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"tidemill/state/column"
)

// flowFields is the table that most tests and benchmarks fill.
var flowFields = []column.Field{
	{Name: "id", Type: column.T(column.Int64), NotNull: true},
	{Name: "user_id", Type: column.T(column.Varchar)},
	{Name: "region", Type: column.T(column.Varchar)},
	{Name: "amount", Type: column.T(column.Int64)},
	{Name: "kind", Type: column.T(column.Varchar)},
}

// flowBody has n rows as NDJSON.
func flowBody(n int) []byte {
	var b []byte
	kinds := []string{"sale", "refund", "view", "cart"}
	for i := range n {
		b = fmt.Appendf(b, "{\"id\": %d, \"user_id\": \"u%d\", \"region\": \"r%d\", \"amount\": %d, \"kind\": \"%s\"}\n", i+1, i*7919%8000, i%8, i*31%1000, kinds[i%4])
	}
	return b
}

func mustDecode(t testing.TB, d *NDJSON, body string) *Rows {
	t.Helper()
	r, err := d.Decode([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	checkRows(t, r)
	return r
}

// checkRows checks what every column promises: buffers of the right size, offsets in order, zeros
// under NULL, clear bits past the end.
func checkRows(t testing.TB, r *Rows) {
	t.Helper()
	bitmap := func(what string, b []byte) {
		if b == nil {
			return
		}
		if len(b) != (r.N+7)/8 || r.N&7 != 0 && b[len(b)-1]>>(r.N&7) != 0 {
			t.Fatalf("%s: bitmap of %d rows is %x", what, r.N, b)
		}
	}
	bitmap("deleted", r.Deleted)
	for i := range r.Cols {
		c := &r.Cols[i]
		if c.N != r.N || !c.Type.Valid() {
			t.Fatalf("column %d has %d rows of %s, not %d", i, c.N, c.Type, r.N)
		}
		bitmap("valid", c.Valid)
		if r.Present != nil {
			bitmap("present", r.Present[i])
		}
		if c.Type.Varlen() {
			if len(c.Offsets) != c.N+1 || int(c.Offsets[c.N]) > len(c.Data) {
				t.Fatalf("column %d: %d offsets up to %d in %d bytes", i, len(c.Offsets), c.Offsets[len(c.Offsets)-1], len(c.Data))
			}
		} else if len(c.Data) != c.N*c.Type.Size() {
			t.Fatalf("column %d: %d bytes for %d values of %s", i, len(c.Data), c.N, c.Type)
		}
		for k := range c.N {
			if !c.Type.Nested() && c.IsNull(k) && strings.Trim(string(c.Raw(k)), "\x00") != "" {
				t.Fatalf("column %d, row %d: NULL over %x", i, k, c.Raw(k))
			} else if c.Type.Varlen() && c.IsNull(k) && len(c.Raw(k)) != 0 {
				t.Fatalf("column %d, row %d: NULL over a text", i, k)
			}
		}
	}
}

// show prints a value for comparison in tests.
func show(c *column.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	return string(column.AppendText(nil, c, i))
}

func rowOf(r *Rows, i int) string {
	var s []string
	for k := range r.Cols {
		s = append(s, show(&r.Cols[k], i))
	}
	return strings.Join(s, "|")
}

func TestNDJSONForms(t *testing.T) {
	want := "1|a|NULL|-5|é\U0001F600\n\"|"
	for _, body := range []string{
		`{"id":1,"user_id":"a","region":null,"amount":-5,"kind":"é\ud83d\ude00\n\""}`,
		"\n\r\n  {\"kind\" : \"\\u00e9\U0001F600\\n\\\"\" ,\t\"amount\":-5, \"region\":null, \"user_id\":\"a\", \"id\":1 }  \r\n\n",
		"[{\n\"id\": 1,\n\"user_id\": \"\\u0061\",\n\"region\": null,\n\"amount\": -5,\n\"kind\": \"é\\uD83D\\uDE00\\n\\\"\"\n}]\n",
		`[ {"\u0069d":1,"user_id":"a","region":null,"amount":-5,"kind":"é😀\n\""} ] `,
	} {
		r := mustDecode(t, NewNDJSON(flowFields, Options{}), body)
		if got := rowOf(r, 0) + "|"; r.N != 1 || got != want || r.Present != nil || r.Deleted != nil {
			t.Errorf("%s\n got %d rows, %q\nwant %q", body, r.N, got, want)
		}
	}
	for _, body := range []string{"", "\n\n \r\n", "[]", " [ ] \n"} {
		if r := mustDecode(t, NewNDJSON(flowFields, Options{}), body); r.N != 0 || len(r.Cols) != 5 {
			t.Errorf("%q gave %d rows", body, r.N)
		}
	}
	// Rows of changing order and shape, more than there is room for at first.
	var body strings.Builder
	body.WriteString("[")
	for i := range 500 {
		if i > 0 {
			body.WriteString(", ")
		}
		if i%3 == 0 {
			fmt.Fprintf(&body, `{"id":%d}`, i)
		} else {
			fmt.Fprintf(&body, `{"kind":"k%d","id":%d}`, i, i)
		}
	}
	body.WriteString("]")
	r := mustDecode(t, NewNDJSON(flowFields, Options{}), body.String())
	for i := range 500 {
		want := fmt.Sprintf("%d|NULL|NULL|NULL|k%d", i, i)
		if i%3 == 0 {
			want = fmt.Sprintf("%d|NULL|NULL|NULL|NULL", i)
		}
		if got := rowOf(r, i); got != want || column.Bit(r.Present[4], i) != (i%3 != 0) {
			t.Fatalf("row %d is %s, not %s", i, got, want)
		}
	}
	if r.Present[0] != nil {
		t.Error("id is there in every row, and Present has a bitmap for it")
	}
}

func TestNDJSONValues(t *testing.T) {
	cases := []struct {
		typ  column.Type
		json string
		want string // an error if it starts with "!"
	}{
		{column.T(column.Bool), "true", "true"}, {column.T(column.Bool), "false", "false"},
		{column.T(column.Bool), "1", "!true or false"}, {column.T(column.Bool), `"true"`, "!true or false"},
		{column.T(column.Int8), "-128", "-128"}, {column.T(column.Int8), "128", "!range"},
		{column.T(column.Int16), "32767", "32767"}, {column.T(column.Int16), "-32769", "!range"},
		{column.T(column.Int32), "-2147483648", "-2147483648"}, {column.T(column.Int32), "2147483648", "!range"},
		{column.T(column.Int64), "9223372036854775807", "9223372036854775807"},
		{column.T(column.Int64), "-9223372036854775808", "-9223372036854775808"},
		{column.T(column.Int64), "9223372036854775808", "!range"}, {column.T(column.Int64), "-9223372036854775809", "!range"},
		{column.T(column.Int64), "9007199254740993", "9007199254740993"}, {column.T(column.Int64), "-0", "0"},
		{column.T(column.Int64), "1.0", "!integer"}, {column.T(column.Int64), "1e2", "!integer"},
		{column.T(column.Int64), `"9007199254740993"`, "9007199254740993"}, {column.T(column.Int64), `"1.5"`, "!integer"}, {column.T(column.Int64), "01", "!not a JSON number"},
		{column.T(column.Int64), "-", "!not a JSON number"}, {column.T(column.Int64), "+1", "!integer"},
		{column.T(column.Int64), "[1]", "!objects and arrays"}, {column.T(column.Int64), `{"a":1}`, "!objects and arrays"},
		{column.T(column.Int64), "1x", "!comma"}, {column.T(column.Int64), "nul", "!integer"},
		{column.T(column.UInt8), "255", "255"}, {column.T(column.UInt8), "-1", "!range"},
		{column.T(column.UInt16), "65536", "!range"}, {column.T(column.UInt32), "4294967295", "4294967295"},
		{column.T(column.UInt64), "18446744073709551615", "18446744073709551615"},
		{column.T(column.UInt64), "18446744073709551616", "!range"}, {column.T(column.UInt64), "-1", "!range"},
		{column.T(column.HugeInt), "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"},
		{column.T(column.HugeInt), "-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"},
		{column.T(column.HugeInt), "170141183460469231731687303715884105728", "!range"},
		{column.T(column.Double), "0.1", "0.1"}, {column.T(column.Double), "-1.5e-3", "-0.0015"},
		{column.T(column.Double), "5e-324", "5e-324"}, {column.T(column.Double), "1e999", "!range"},
		{column.T(column.Double), "123456789012345678901234567890", "1.2345678901234568e+29"},
		{column.T(column.Double), `"NaN"`, "nan"}, {column.T(column.Double), `"-Infinity"`, "-inf"},
		{column.T(column.Double), `"1"`, "!a number is wanted"}, {column.T(column.Double), "NaN", "!a number is wanted"},
		{column.T(column.Double), "1.", "!not a JSON number"}, {column.T(column.Double), ".5", "!a number is wanted"},
		{column.T(column.Double), "1e", "!not a JSON number"}, {column.T(column.Double), "00", "!not a JSON number"},
		{column.T(column.Float), "3.4e38", "3.4e+38"}, {column.T(column.Float), "1e39", "!range"},
		{column.T(column.Float), `"Infinity"`, "inf"},
		{column.DecimalOf(5, 2), "123.45", "123.45"}, {column.DecimalOf(5, 2), "-0.5", "-0.50"},
		{column.DecimalOf(5, 2), "1.500", "1.50"}, {column.DecimalOf(5, 2), "1.501", "!more digits"},
		{column.DecimalOf(5, 2), "1000", "!range"}, {column.DecimalOf(5, 2), "1e2", "100.00"},
		{column.DecimalOf(5, 2), "0e999999999999999999999", "0.00"}, {column.DecimalOf(5, 2), "1e-999999999", "!more digits"},
		{column.DecimalOf(38, 10), "1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456789"},
		{column.DecimalOf(38, 0), "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
		{column.DecimalOf(38, 0), "100000000000000000000000000000000000000", "!range"},
		{column.DecimalOf(5, 2), `"1.5"`, "1.50"}, {column.DecimalOf(5, 2), `"1.555"`, "!more decimals"},
		{column.T(column.Varchar), "1", "!a string is wanted"}, {column.T(column.Varchar), `"a\qb"`, "!escape"},
		{column.T(column.Varchar), `"\ud800"`, "!surrogate"}, {column.T(column.Varchar), `"\ud800\u0041"`, "!surrogate"},
		{column.T(column.Varchar), `"\udc00"`, "!surrogate"}, {column.T(column.Varchar), "\"a\tb\"", "!control"},
		{column.T(column.Varchar), "\"\xff\"", "!UTF-8"}, {column.T(column.Varchar), "\"0123456789012345\xc3\"", "!UTF-8"},
		{column.T(column.Varchar), `"\u00zz"`, "!escape"}, {column.T(column.Varchar), `"\u0000x"`, "\x00x"},
		{column.T(column.Varchar), `"` + strings.Repeat("long ", 50) + `"`, strings.Repeat("long ", 50)},
		{column.T(column.Timestamp), `"2026-01-02T03:04:05.123Z"`, "2026-01-02 03:04:05.123"},
		{column.T(column.Timestamp), `"1969-12-31 23:59:59.999999"`, "1969-12-31 23:59:59.999999"},
		{column.T(column.TimestampS), `"2024-02-29 00:00:00"`, "2024-02-29 00:00:00"},
		{column.T(column.Timestamp), "1767323045", "!numbers are not taken for times"},
		{column.T(column.Timestamp), `"2025-02-29T00:00:00"`, "!2025-02-29"},
		{column.T(column.Date), `"2026-01-02"`, "2026-01-02"}, {column.T(column.Date), `"0001-01-01"`, "0001-01-01"},
		{column.T(column.Date), `"2026-13-02"`, "!2026-13-02"}, {column.T(column.Date), "20000", "!a string is wanted"},
		{column.T(column.Date), `"9999-12-31"`, "9999-12-31"},
		{column.T(column.UUID), `"01234567-89ab-cdef-0123-456789abcdef"`, "01234567-89ab-cdef-0123-456789abcdef"},
		{column.T(column.Time), `"03:04:05.5"`, "03:04:05.5"},
		{column.T(column.Interval), `"1 day"`, "1 day"}, {column.T(column.Blob), `"a\\x00"`, `a\x00`},
	}
	for _, c := range cases {
		d := NewNDJSON([]column.Field{{Name: "v", Type: c.typ}}, Options{})
		r, err := d.Decode([]byte(`{"v": ` + c.json + `}`))
		if reason, ok := strings.CutPrefix(c.want, "!"); ok {
			var e *RowError
			if !errors.As(err, &e) || e.Row != 1 || e.Column != "v" || e.Offset < 6 || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s as %s: %+v, which should mention %q", c.json, c.typ, err, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s as %s: %v", c.json, c.typ, err)
			continue
		}
		checkRows(t, r)
		if got := show(&r.Cols[0], 0); got != c.want {
			t.Errorf("%s as %s is %s, not %s", c.json, c.typ, got, c.want)
		}
	}
}

func TestNDJSONErrors(t *testing.T) {
	const good = `{"id":1,"user_id":"a","region":"b","amount":2,"kind":"c"}`
	cases := []struct {
		body        string
		row, offset int
		column      string
		reason      string
	}{
		{good + "\n" + `{"id":1,"x":2}`, 2, 66, "x", "no such column"},
		{`{"id":1,"_deleted":true}`, 1, 8, "_deleted", "primary key"},
		{`{"id":1,"id":2}`, 1, 13, "id", "twice"},
		{`{"user_id":"a"}`, 1, 0, "id", "missing"},
		{`{"id":null}`, 1, 6, "id", "NOT NULL"},
		{good + good, 1, 57, "", "one object a line"},
		{good + " x", 1, 58, "", "one object a line"},
		{good + "\n{\"id\":2,\"user_id\":\"u", 2, 78, "user_id", "ends inside"},
		{good + "\n{\"id\":2,", 2, 66, "", "ends inside"},
		{good + "\n{\"id\"", 2, 63, "", "ends inside"},
		{good + "\n{\"id\":", 2, 64, "", "ends inside"},
		{`{"id":1`, 1, 7, "", "ends inside"},
		{`{"id":1,}`, 1, 8, "", "field name"},
		{`{"id" 1}`, 1, 6, "id", "colon"},
		{`{"id":1 "kind":"a"}`, 1, 8, "id", "comma"},
		{`{id:1}`, 1, 1, "", "field name"},
		{"[" + good + "," + "]", 2, 59, "", "a row is a JSON object"},
		{"[" + good, 1, 58, "", "cut short"},
		{"[" + good + "] x", 1, 60, "", "follows the array"},
		{"[" + good + good + "]", 1, 58, "", "commas"},
		{"17", 1, 0, "", "a row is a JSON object"},
		{"\xef\xbb\xbf" + good, 1, 0, "", "a row is a JSON object"},
	}
	for _, c := range cases {
		_, err := NewNDJSON(flowFields, Options{}).Decode([]byte(c.body))
		var e *RowError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if e.Row != c.row || e.Offset != c.offset || e.Column != c.column || !strings.Contains(e.Reason, c.reason) || len(e.Value) > 100 {
			t.Errorf("%s: %+v\nwant row %d, offset %d, column %q, reason ...%s...", c.body, *e, c.row, c.offset, c.column, c.reason)
		}
	}
	// No prefix of a body ends in anything but rows or an error.
	body := good + "\r\n" + good
	for i := range body {
		r, err := NewNDJSON(flowFields, Options{}).Decode([]byte(body[:i]))
		if whole := i == 0 || i >= len(good) && i <= len(good)+2; whole != (err == nil) {
			t.Errorf("%q: %v, %v", body[:i], r, err)
		}
	}
}

func TestNDJSONKeyed(t *testing.T) {
	fields := []column.Field{
		{Name: "id", Type: column.T(column.Int64), NotNull: true},
		{Name: "must", Type: column.T(column.Double), NotNull: true},
		{Name: "dflt", Type: column.T(column.Varchar), NotNull: true},
	}
	d := NewNDJSON(fields, Options{Key: []int{0}, HasDefault: []bool{false, false, true}})
	r := mustDecode(t, d, `{"id":1,"must":1.5,"dflt":"x"}
{"id":2,"must":2}
{"id":3,"_deleted":true}
{"_deleted":true,"must":null,"id":4}
{"id":5,"_deleted":false,"must":5,"dflt":"y"}`)
	if r.N != 5 || r.Deleted[0] != 0b01100 || r.Present[0] != nil || r.Present[1][0] != 0b11011 || r.Present[2][0] != 0b10001 {
		t.Errorf("%d rows, deleted %b, present %b", r.N, r.Deleted, r.Present)
	}
	if got := rowOf(r, 1) + ";" + rowOf(r, 2) + ";" + rowOf(r, 4); got != "2|2.0|NULL;3|NULL|NULL;5|5.0|y" {
		t.Error(got)
	}
	for body, reason := range map[string]string{
		`{"must":1,"_deleted":true}`:               "needs the key",
		`{"id":null,"_deleted":true}`:              "NOT NULL",
		`{"id":1,"must":null,"_deleted":false}`:    "NOT NULL",
		`{"id":1,"must":1,"dflt":null}`:            "NOT NULL",
		`{"id":1,"_deleted":1}`:                    "true or false",
		`{"id":1,"_deleted":null}`:                 "true or false",
		`{"_deleted":true,"id":1,"_deleted":true}`: "twice",
		`{"id":1}`:                                      "missing",
		`{"id":1,"must":null,"dflt":"x"}` + "\n":        "NOT NULL",
		`{"id":1,"_deleted":true,"must":{},"dflt":"x"}`: "objects",
	} {
		if _, err := d.Decode([]byte(body)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, which should mention %q", body, err, reason)
		}
	}
}

func TestNDJSONBound(t *testing.T) {
	body := strings.Repeat("{}\n", 100_000)
	_, err := NewNDJSON([]column.Field{{Name: "v", Type: column.T(column.HugeInt)}}, Options{MaxBytes: 1 << 20}).Decode([]byte(body))
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("rows beyond the bound: %v", err)
	}
}

func TestNDJSONKeepsNothingOfTheBody(t *testing.T) {
	d := NewNDJSON(flowFields, Options{})
	body := flowBody(100)
	first, err := d.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	before := rowOf(first, 99)
	clear(body)
	second := mustDecode(t, d, string(flowBody(3)))
	if rowOf(first, 99) != before || second.N != 3 {
		t.Error("the rows changed with the body or with the next one")
	}
}

func TestNDJSONAllocations(t *testing.T) {
	d := NewNDJSON(flowFields, Options{})
	small, large := flowBody(1000), flowBody(2000)
	allocs := func(b []byte) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := d.Decode(b); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := allocs(small), allocs(large); a > 20 || b > a+3 {
		t.Errorf("%v allocations for 1,000 rows, %v for 2,000", a, b)
	}
}

func TestFloatFastPathIsExact(t *testing.T) {
	for _, s := range []string{"0.1", "123.456", "9007199254740992", "9007199254740993", "0.0000000000000001", "1234567.8901234567", "-0", "-0.0", "0.30000000000000004"} {
		d := NewNDJSON([]column.Field{{Name: "v", Type: column.T(column.Double)}}, Options{})
		r := mustDecode(t, d, `{"v":`+s+`}`)
		var want float64
		if _, err := fmt.Sscan(s, &want); err != nil {
			t.Fatal(err)
		}
		if got := column.Values[float64](&r.Cols[0])[0]; math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s is %v, not %v", s, got, want)
		}
	}
}
