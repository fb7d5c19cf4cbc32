package column_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

func one[V column.Fixed](t column.Type, v V) column.Column { return column.Of(t, []V{v}, nil) }

func i128(hi int64, lo uint64) column.Int128 { return column.Int128{Hi: hi, Lo: lo} }

// TestText holds what DuckDB 1.5 prints for these values cast to VARCHAR, time zone UTC. json is ""
// where it is the text in quotes.
func TestText(t *testing.T) {
	f64, f32 := column.T(column.Double), column.T(column.Float)
	ts, tsS, tsMS, tsNS, tz := column.T(column.Timestamp), column.T(column.TimestampS), column.T(column.TimestampMS), column.T(column.TimestampNS), column.T(column.TimestampTZ)
	iv := column.T(column.Interval)
	same := "=" // JSON is the bare text
	for _, tt := range []struct {
		c          column.Column
		text, json string
	}{
		{one(column.T(column.Bool), uint8(1)), "true", same},
		{one(column.T(column.Bool), uint8(0)), "false", same},
		{one(column.T(column.Int8), int8(-128)), "-128", same},
		{one(column.T(column.Int16), int16(-32768)), "-32768", same},
		{one(column.T(column.Int32), int32(math.MinInt32)), "-2147483648", same},
		{one(column.T(column.Int64), int64(math.MinInt64)), "-9223372036854775808", same},
		{one(column.T(column.UInt8), uint8(255)), "255", same},
		{one(column.T(column.UInt16), uint16(65535)), "65535", same},
		{one(column.T(column.UInt32), uint32(math.MaxUint32)), "4294967295", same},
		{one(column.T(column.UInt64), uint64(math.MaxUint64)), "18446744073709551615", same},
		{one(column.T(column.HugeInt), i128(math.MinInt64, 0)), "-170141183460469231731687303715884105728", same},
		{one(column.T(column.HugeInt), i128(math.MaxInt64, math.MaxUint64)), "170141183460469231731687303715884105727", same},
		{one(column.T(column.HugeInt), i128(0, 0)), "0", same},
		{one(column.T(column.HugeInt), i128(0, 10_000_000_000_000_000_000)), "10000000000000000000", same},
		{one(f64, 1.0), "1.0", same},
		{one(f64, 0.1), "0.1", same},
		{one(f64, 1e15), "1000000000000000.0", same},
		{one(f64, 9999999999999998.0), "9999999999999998.0", same},
		{one(f64, 1e16), "1e+16", same},
		{one(f64, 12345678901234567.0), "1.2345678901234568e+16", same},
		{one(f64, 1.5e100), "1.5e+100", same},
		{one(f64, math.MaxFloat64), "1.7976931348623157e+308", same},
		{one(f64, 5e-324), "5e-324", same},
		{one(f64, 0.0001), "0.0001", same},
		{one(f64, 0.00001), "1e-05", same},
		{one(f64, 1.5e-5), "1.5e-05", same},
		{one(f64, math.Copysign(0, -1)), "-0.0", same},
		{one(f64, 123456.789), "123456.789", same},
		{one(f64, math.Float64frombits(0x7ff8000000000000)), "nan", `"NaN"`},
		{one(f64, math.Float64frombits(0xfff8000000000000)), "-nan", `"NaN"`},
		{one(f64, math.Inf(1)), "inf", `"Infinity"`},
		{one(f64, math.Inf(-1)), "-inf", `"-Infinity"`},
		{one(f32, float32(0.1)), "0.1", same},
		{one(f32, float32(1e7)), "10000000.0", same},
		{one(f32, float32(123456789)), "123456790.0", same},
		{one(f32, float32(1e15)), "1000000000000000.0", same},
		{one(f32, float32(1e16)), "1e+16", same},
		{one(f32, float32(1e-4)), "0.0001", same},
		{one(f32, float32(1e-5)), "1e-05", same},
		{one(f32, float32(3.4028235e38)), "3.4028235e+38", same},
		{one(f32, float32(1e-45)), "1e-45", same},
		{one(f32, float32(333079.125)), "333079.125", same}, // where the shortest digits are a tie
		{one(f32, float32(39709.9375)), "39709.9375", same},
		{one(f32, float32(64954.6875)), "64954.6875", same},
		{one(f32, float32(46570408)), "46570408.0", same}, // or half way to a neighbour
		{one(f32, float32(1008810432)), "1008810432.0", same},
		{one(column.DecimalOf(4, 4), i128(0, 5000)), ".5000", "0.5000"},
		{one(column.DecimalOf(4, 4), column.Int128Of(-5000)), "-.5000", "-0.5000"},
		{one(column.DecimalOf(4, 4), i128(0, 0)), ".0000", "0.0000"},
		{one(column.DecimalOf(5, 4), i128(0, 5000)), "0.5000", same},
		{one(column.DecimalOf(4, 1), i128(0, 0)), "0.0", same},
		{one(column.DecimalOf(4, 2), column.Int128Of(-5)), "-0.05", same},
		{one(column.DecimalOf(4, 2), column.Int128Of(-9999)), "-99.99", same},
		{one(column.DecimalOf(10, 0), i128(0, 12345)), "12345", same},
		{one(column.T(column.Date), int32(20455)), "2026-01-02", ""},
		{one(column.T(column.Date), int32(-719162)), "0001-01-01", ""},
		{one(column.T(column.Date), int32(-719163)), "0001-12-31 (BC)", ""},
		{one(column.T(column.Date), int32(-719528)), "0001-01-01 (BC)", ""},
		{one(column.T(column.Date), int32(-719562)), "0002-11-28 (BC)", ""},
		{one(column.T(column.Date), int32(2932897)), "10000-01-01", ""},
		{one(column.T(column.Date), int32(math.MaxInt32-1)), "5881580-07-10", ""},
		{one(column.T(column.Date), int32(-math.MaxInt32+1)), "5877642-06-25 (BC)", ""},
		{one(column.T(column.Date), int32(math.MaxInt32)), "infinity", ""},
		{one(column.T(column.Date), int32(-math.MaxInt32)), "-infinity", ""},
		{one(column.T(column.Time), int64(0)), "00:00:00", ""},
		{one(column.T(column.Time), int64(3723_500_000)), "01:02:03.5", ""},
		{one(column.T(column.Time), int64(3723_000_001)), "01:02:03.000001", ""},
		{one(column.T(column.Time), int64(86400_000_000)), "24:00:00", ""},
		{one(ts, int64(1767323045_123400)), "2026-01-02 03:04:05.1234", ""},
		{one(ts, int64(1767312000_000000)), "2026-01-02 00:00:00", ""},
		{one(ts, int64(-1)), "1969-12-31 23:59:59.999999", ""},
		{one(ts, int64(-9223372022400000000)), "290309-12-22 (BC) 00:00:00", ""},
		{one(ts, int64(math.MaxInt64-1)), "294247-01-10 04:00:54.775806", ""},
		{one(ts, int64(math.MaxInt64)), "infinity", ""},
		{one(ts, int64(-math.MaxInt64)), "-infinity", ""},
		{one(tsS, int64(1767323045)), "2026-01-02 03:04:05", ""},
		{one(tsS, int64(-1)), "1969-12-31 23:59:59", ""},
		{one(tsS, int64(math.MaxInt64)), "infinity", ""},
		{one(tsMS, int64(1767323045_120)), "2026-01-02 03:04:05.12", ""},
		{one(tsMS, int64(-math.MaxInt64)), "-infinity", ""},
		{one(tsNS, int64(1767323045_123456789)), "2026-01-02 03:04:05.123456789", ""},
		{one(tsNS, int64(1767323045_100000000)), "2026-01-02 03:04:05.1", ""},
		{one(tsNS, int64(-1)), "1969-12-31 23:59:59.999999999", ""},
		{one(tsNS, int64(-999_999)), "1969-12-31 23:59:59.999000001", ""},
		{one(tz, int64(1767323045_500000)), "2026-01-02 03:04:05.5+00", ""},
		{one(tz, int64(-62135683200_000000)), "0001-12-31 (BC) 00:00:00+00", ""},
		{one(tz, int64(math.MaxInt64)), "infinity", ""},
		{one(iv, column.IntervalValue{}), "00:00:00", ""},
		{one(iv, column.IntervalValue{Months: 1}), "1 month", ""},
		{one(iv, column.IntervalValue{Months: 12}), "1 year", ""},
		{one(iv, column.IntervalValue{Months: -14}), "-1 year -2 months", ""},
		{one(iv, column.IntervalValue{Days: -1}), "-1 day", ""},
		{one(iv, column.IntervalValue{Days: 2}), "2 days", ""},
		{one(iv, column.IntervalValue{Micros: 3600_000_000_000}), "1000:00:00", ""},
		{one(iv, column.IntervalValue{Micros: -1}), "-00:00:00.000001", ""},
		{one(iv, column.IntervalValue{Months: 1, Days: -1, Micros: -1}), "1 month -1 day -00:00:00.000001", ""},
		{one(iv, column.IntervalValue{Months: 12, Days: 2, Micros: 1_500_000}), "1 year 2 days 00:00:01.5", ""},
		{one(iv, column.IntervalValue{Micros: math.MaxInt64}), "2562047788:00:54.775807", ""},
		{one(iv, column.IntervalValue{Micros: math.MinInt64}), "-2562047788:00:54.775808", ""},
		{one(column.T(column.UUID), [16]byte{0x55, 0x0e, 0x84, 0x00, 0xe2, 0x9b, 0x41, 0xd4, 0xa7, 0x16, 0x44, 0x66, 0x55, 0x44, 0, 0}), "550e8400-e29b-41d4-a716-446655440000", ""},
		{column.OfStrings(column.T(column.Blob), []string{"\x00\xffab"}), `\x00\xFFab`, `"\\x00\\xFFab"`},
		{column.OfStrings(column.T(column.Blob), []string{"a\"b'\\n\x7f\t ~"}), `a\x22b\x27\x5Cn\x7F\x09 ~`, `"a\\x22b\\x27\\x5Cn\\x7F\\x09 ~"`},
		{column.OfStrings(column.T(column.Varchar), []string{"plain text, longer than eight"}), "plain text, longer than eight", ""},
		{column.OfStrings(column.T(column.Varchar), []string{"z\u00fcrich \U0001f30a"}), "z\u00fcrich \U0001f30a", ""},
		{column.OfStrings(column.T(column.Varchar), []string{"a\"b\\c\n\r\t\x00\x1f\x7f"}), "a\"b\\c\n\r\t\x00\x1f\x7f", "\"a\\\"b\\\\c\\n\\r\\t\\u0000\\u001f\x7f\""},
		{column.Nulls(column.T(column.Double), 1), "NULL", "null"},
	} {
		if got := string(column.AppendText(nil, &tt.c, 0)); got != tt.text {
			t.Errorf("%v: %q, want %q", tt.c.Type, got, tt.text)
		}
		want := tt.json
		switch want {
		case same:
			want = tt.text
		case "":
			want = `"` + tt.text + `"`
		}
		if got := string(column.AppendJSON(nil, &tt.c, 0)); got != want {
			t.Errorf("%v as JSON: %s, want %s", tt.c.Type, got, want)
		}
		if tt.c.IsNull(0) {
			continue
		}
		raw, err := column.ParseText(tt.c.Type, tt.text)
		if err != nil || !bytes.Equal(raw, tt.c.Raw(0)) {
			t.Errorf("%v %q reads back as %x, %v, want %x", tt.c.Type, tt.text, raw, err, tt.c.Raw(0))
		}
	}
}

// TestTextRoundTrip: every value reads back from its text, bit for bit but for the payload of NaN,
// and its JSON is JSON.
func TestTextRoundTrip(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range columntest.Types() {
		c := columntest.Random(r, typ, 500)
		for i := range c.N {
			text := column.AppendText(nil, &c, i)
			js := column.AppendJSON(nil, &c, i)
			if !json.Valid(js) {
				t.Fatalf("%v: not JSON: %s", typ, js)
			}
			if c.IsNull(i) || typ.Nested() || strings.Contains(string(text), "nan") {
				continue
			}
			raw, err := column.ParseText(typ, string(text))
			if err != nil || !bytes.Equal(raw, c.Raw(i)) {
				t.Fatalf("%v %q reads back as %x, %v", typ, text, raw, err)
			}
		}
	}
}

func TestJSONStringOfAnyBytes(t *testing.T) {
	r := columntest.Rand(t)
	for range 3000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			switch r.IntN(6) {
			case 0:
				b[i] = byte(r.Uint32())
			case 1:
				b[i] = `"\`[r.IntN(2)]
			default:
				b[i] = byte(' ' + r.IntN(95))
			}
		}
		js := column.AppendJSONString(nil, b)
		var got string
		if err := json.Unmarshal(js, &got); err != nil || !utf8.Valid(js) {
			t.Fatalf("%q as %s: %v", b, js, err)
		}
		want := ""
		for _, x := range string(b) { // bytes that are not UTF-8 become U+FFFD one by one
			want += string(x)
		}
		if got != want {
			t.Fatalf("%q reads back as %q", b, got)
		}
	}
}

// TestParse holds texts with the value that DuckDB 1.5 gives them, printed, or the reason why they
// are refused here.
func TestParse(t *testing.T) {
	d41 := column.DecimalOf(4, 1)
	for _, tt := range []struct {
		t          column.Type
		text, want string // want with ! in front is part of the error
	}{
		{column.T(column.Date), "2024-02-29", "2024-02-29"},
		{column.T(column.Date), "0000-01-01", "0001-01-01 (BC)"},
		{column.T(column.Date), "0044-03-15 (BC)", "0044-03-15 (BC)"},
		{column.T(column.Date), "abc", `!"abc" is not a valid DATE`},
		{column.T(column.Date), "2026-02-29", "!there is no such day"},
		{column.T(column.Date), "2026-13-01", "!there is no such day"},
		{column.T(column.Date), "0000-01-01 (BC)", "!there is no such year"},
		{column.T(column.Date), "2026-1-2", "!YYYY-MM-DD"},
		{column.T(column.Date), "26-01-02", "!YYYY-MM-DD"},
		{column.T(column.Date), "2026-01-02x", "!more text"},
		{column.T(column.Date), "2026-01-02 03:04:05", "!more text"},
		{column.T(column.Date), "5881580-07-11", "!out of range"},
		{column.T(column.Date), "", "!not a valid DATE"},
		{column.T(column.Time), "03:04", "03:04:00"},
		{column.T(column.Time), "03:04:05.1234567", "03:04:05.123456"},
		{column.T(column.Time), "03:04:05.9999999", "03:04:05.999999"},
		{column.T(column.Time), "24:00:00", "24:00:00"},
		{column.T(column.Time), "24:00:00.000001", "!no such time"},
		{column.T(column.Time), "23:59:60", "!no such time"},
		{column.T(column.Time), "03:04:05Z", "!more text"},
		{column.T(column.Time), "03:04:05.", "!digits are missing"},
		{column.T(column.Timestamp), "2026-01-02", "2026-01-02 00:00:00"},
		{column.T(column.Timestamp), "2026-01-02T03:04:05Z", "2026-01-02 03:04:05"},
		{column.T(column.Timestamp), "2026-01-02 03:04", "2026-01-02 03:04:00"},
		{column.T(column.Timestamp), "2026-01-02 24:00:00", "2026-01-03 00:00:00"},
		{column.T(column.Timestamp), "2026-01-02 03:04:05.1234567", "2026-01-02 03:04:05.123456"},
		{column.T(column.Timestamp), "2026-01-02 03:04:05.9999999", "2026-01-02 03:04:05.999999"},
		{column.T(column.Timestamp), "2026-01-02T03:04:05+02", "!only a TIMESTAMP WITH TIME ZONE"},
		{column.T(column.Timestamp), "2026-01-02t03:04:05", "!a blank or T"},
		{column.T(column.Timestamp), "2026-01-02 ", "!HH:MM:SS"},
		{column.T(column.Timestamp), "2026-01-02 03:04:05 UTC", "!more text"},
		{column.T(column.Timestamp), "2026-01-02 03:04:60", "!no such time"},
		{column.T(column.Timestamp), "294247-01-10 04:00:54.775806", "294247-01-10 04:00:54.775806"},
		{column.T(column.Timestamp), "294247-01-10 04:00:54.775807", "!out of range"},
		{column.T(column.Timestamp), "294247-01-10 05:00:00", "!out of range"},
		{column.T(column.Timestamp), "290309-12-22 (BC) 00:00:00", "290309-12-22 (BC) 00:00:00"},
		{column.T(column.Timestamp), "290309-12-21 (BC) 00:00:00", "!out of range"},
		{column.T(column.TimestampS), "2026-01-02 03:04:05.4", "2026-01-02 03:04:05"},
		{column.T(column.TimestampS), "2026-01-02 03:04:05.5", "2026-01-02 03:04:06"},
		{column.T(column.TimestampS), "1969-12-31 23:59:59.5", "1969-12-31 23:59:59"},
		{column.T(column.TimestampMS), "2026-01-02 03:04:05.1234", "2026-01-02 03:04:05.123"},
		{column.T(column.TimestampMS), "2026-01-02 03:04:05.1235", "2026-01-02 03:04:05.124"},
		{column.T(column.TimestampMS), "1969-12-31 23:59:59.9996", "1970-01-01 00:00:00"},
		{column.T(column.TimestampNS), "2026-01-02 03:04:05.1234567896", "2026-01-02 03:04:05.123456789"},
		{column.T(column.TimestampNS), "2262-04-11 23:47:16.854775806", "2262-04-11 23:47:16.854775806"},
		{column.T(column.TimestampNS), "2262-04-11 23:47:16.854775807", "!out of range"},
		{column.T(column.TimestampNS), "1677-09-22 00:00:00", "1677-09-22 00:00:00"},
		{column.T(column.TimestampNS), "1677-09-21 00:12:43", "!out of range"},
		{column.T(column.TimestampNS), "2262-04-12", "!out of range"},
		{column.T(column.TimestampTZ), "2026-01-02 03:04:05", "2026-01-02 03:04:05+00"},
		{column.T(column.TimestampTZ), "2026-01-02 03:04:05+02", "2026-01-02 01:04:05+00"},
		{column.T(column.TimestampTZ), "2026-01-02T03:04:05-02:30", "2026-01-02 05:34:05+00"},
		{column.T(column.TimestampTZ), "2026-01-02 03:04:05+0230", "2026-01-02 00:34:05+00"},
		{column.T(column.TimestampTZ), "2026-01-02 03:04:05+02:30:15", "2026-01-02 00:33:50+00"},
		{column.T(column.TimestampTZ), "2026-01-02 03:04:05.1234565+00", "2026-01-02 03:04:05.123456+00"},
		{column.T(column.TimestampTZ), "2026-01-02 03:04:05+2", "!more text"},
		{column.T(column.TimestampTZ), "2026-01-02 03:04:05 Europe/Paris", "!more text"},
		{d41, "1.2", "1.2"}, {d41, "1.20", "1.2"}, {d41, "1e2", "100.0"}, {d41, ".5", "0.5"}, {d41, "5.", "5.0"},
		{d41, "+5", "5.0"}, {d41, "-0", "0.0"}, {d41, "0e99", "0.0"}, {d41, "12e-1", "1.2"}, {d41, "00001.0", "1.0"},
		{d41, "1.25", "!more decimals than the type keeps"}, {d41, "1000", "!out of range"}, {d41, "1e40", "!out of range"},
		{d41, "abc", `!"abc" is not a valid DECIMAL(4,1)`}, {d41, "1.2.3", "!not a valid"}, {d41, "1e", "!not a valid"},
		{d41, "-", "!not a valid"}, {d41, ".", "!not a valid"}, {d41, " 5", "!not a valid"}, {d41, "1e1_0", "!not a valid"},
		{column.DecimalOf(38, 0), "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
		{column.DecimalOf(38, 0), "100000000000000000000000000000000000000", "!out of range"},
		{column.DecimalOf(38, 0), strings.Repeat("9", 60), "!too many digits"},
		{column.DecimalOf(38, 38), "0." + strings.Repeat("0", 37) + "1", "." + strings.Repeat("0", 37) + "1"},
		{column.T(column.Int32), "12.0", "12"}, {column.T(column.Int32), "1e3", "1000"}, {column.T(column.Int32), "007", "7"},
		{column.T(column.Int32), "12.5", "!more decimals"}, {column.T(column.Int32), "0x1F", "!not a valid INTEGER"},
		{column.T(column.Int32), "2147483648", "!out of range"}, {column.T(column.Int32), "-2147483648", "-2147483648"},
		{column.T(column.Int64), "9223372036854775808", "!out of range"}, {column.T(column.Int64), "-9223372036854775808", "-9223372036854775808"},
		{column.T(column.UInt8), "-0", "0"}, {column.T(column.UInt8), "-1", "!out of range"}, {column.T(column.UInt8), "256", "!out of range"},
		{column.T(column.UInt64), "18446744073709551615", "18446744073709551615"}, {column.T(column.UInt64), "18446744073709551616", "!out of range"},
		{column.T(column.HugeInt), "-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"},
		{column.T(column.HugeInt), "170141183460469231731687303715884105728", "!out of range"},
		{column.T(column.Double), "+inf", "inf"}, {column.T(column.Double), "-Infinity", "-inf"}, {column.T(column.Double), "NaN", "nan"},
		{column.T(column.Double), ".5", "0.5"}, {column.T(column.Double), "1e-400", "0.0"}, {column.T(column.Double), "-1.5E3", "-1500.0"},
		{column.T(column.Double), "1e400", "!out of range"}, {column.T(column.Float), "1e39", "!out of range"}, {column.T(column.Float), "0.1", "0.1"},
		{column.T(column.Double), "0x10", "!not a valid DOUBLE"}, {column.T(column.Double), "1_0", "!not a valid"}, {column.T(column.Double), "--1", "!not a valid"},
		{column.T(column.Double), "-+1", "!not a valid"}, {column.T(column.Double), "", "!not a valid"}, {column.T(column.Double), "1,5", "!not a valid"},
		{column.T(column.Bool), "TRUE", "true"}, {column.T(column.Bool), "f", "false"}, {column.T(column.Bool), "1", "true"},
		{column.T(column.Bool), "on", `!"on" is not a valid BOOLEAN`},
		{column.T(column.UUID), "550E8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-446655440000"},
		{column.T(column.UUID), "550e8400-e29b-41d4-a716-44665544000", "!not a valid UUID"},
		{column.T(column.UUID), "550e8400-e29b-41d4-a716-4466-5440000", "!not a valid UUID"},
		{column.T(column.Blob), `\xff`, `\xFF`}, {column.T(column.Blob), `\xf`, "!backslash"}, {column.T(column.Blob), "\u00e9", "!ASCII"},
		{column.T(column.Blob), `\xZZ`, "!backslash"}, {column.T(column.Blob), `a\b`, "!backslash"},
		{column.T(column.Varchar), "\xff", "!not UTF-8"},
		{column.T(column.Interval), "1 year 2 months -3 days -00:00:00.5", "1 year 2 months -3 days -00:00:00.5"},
		{column.T(column.Interval), "2147483647 days", "2147483647 days"},
		{column.T(column.Interval), "2147483648 days", "!not a valid INTERVAL"},
		{column.T(column.Interval), "1 day 1 month", "!not a valid INTERVAL"},
		{column.T(column.Interval), "1 day ", "!not a valid"}, {column.T(column.Interval), "", "!not a valid"}, {column.T(column.Interval), "P1D", "!not a valid"},
		{column.T(column.Interval), "1 day 00:00:00.5 ", "!not a valid"}, {column.T(column.Interval), "2562047788:00:54.775808", "!not a valid"},
	} {
		raw, err := column.ParseText(tt.t, tt.text)
		if want, refused := strings.CutPrefix(tt.want, "!"); refused {
			if !errors.Is(err, column.ErrText) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v %q: %x, %v, want an error with %q", tt.t, tt.text, raw, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v %q: %v", tt.t, tt.text, err)
			continue
		}
		b := column.NewBuilder(tt.t, 1)
		b.AppendRaw(raw)
		c := b.Finish()
		if got := string(column.AppendText(nil, &c, 0)); got != tt.want {
			t.Errorf("%v %q: %s, want %s", tt.t, tt.text, got, tt.want)
		}
	}
	if _, err := column.ParseText(column.T(column.Date), strings.Repeat("x", 500)); len(err.Error()) > 150 {
		t.Error("a long text is quoted whole")
	}
}

// FuzzParseText: never a panic; what is read has the type's size, prints, and its text reads back to
// the same value.
func FuzzParseText(f *testing.F) {
	types := columntest.Types()
	for _, s := range []string{"2026-01-02 03:04:05.5+02:30", "0044-03-15 (BC)", "-12.50e1", "1 year 2 days -00:00:01", `\x00ab`, "nan", "550e8400-e29b-41d4-a716-446655440000"} {
		for i := range types {
			f.Add(uint8(i), s)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, s string) {
		typ := types[int(which)%len(types)]
		raw, err := column.ParseText(typ, s)
		if err != nil {
			return
		}
		if size := typ.Size(); size > 0 && len(raw) != size {
			t.Fatalf("%v %q: %d bytes", typ, s, len(raw))
		}
		b := column.NewBuilder(typ, 1)
		b.AppendRaw(raw)
		c := b.Finish()
		text := column.AppendText(nil, &c, 0)
		if again, err := column.ParseText(typ, string(text)); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%v %q prints as %q, which reads as %x, %v, not %x", typ, s, text, again, err, raw)
		}
		if js := column.AppendJSON(nil, &c, 0); !json.Valid(js) {
			t.Fatalf("%s is not JSON", js)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	r := columntest.Rand(b)
	for _, typ := range []column.Type{column.T(column.Int64), column.T(column.Double), column.T(column.Varchar), column.DecimalOf(18, 3), column.T(column.Timestamp)} {
		c := columntest.Random(r, typ, 1024)
		b.Run(typ.String(), func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = dst[:0]
				for i := range c.N {
					dst = column.AppendJSON(dst, &c, i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/value")
		})
	}
}
