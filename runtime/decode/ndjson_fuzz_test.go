package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"tidemill/state/column"
)

// The invariant: what NDJSON takes, encoding/json takes too, and with the same values. The reverse
// does not hold, on purpose (unknown and repeated fields, bad UTF-8, half surrogates, types).

var mixedFields = []column.Field{
	{Name: "i", Type: column.T(column.Int64), NotNull: true}, {Name: "s", Type: column.T(column.Varchar)},
	{Name: "d", Type: column.T(column.Double)}, {Name: "m", Type: column.DecimalOf(20, 4)},
	{Name: "b", Type: column.T(column.Bool)}, {Name: "u", Type: column.T(column.UInt8)},
	{Name: "h", Type: column.T(column.HugeInt)}, {Name: "a_name_of_more_than_sixteen_bytes", Type: column.T(column.Varchar)},
	{Name: "f", Type: column.T(column.Float)}, {Name: "t", Type: column.T(column.Timestamp)},
}

// compareJSON checks rows against encoding/json's reading of the same body.
func compareJSON(body []byte, r *Rows) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	array := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
	if array {
		if _, err := dec.Token(); err != nil {
			return err
		}
	}
	for i := range r.N {
		var row map[string]any
		if err := dec.Decode(&row); err != nil {
			return fmt.Errorf("row %d: encoding/json: %w", i+1, err)
		}
		for k, f := range mixedFields {
			v, given := row[f.Name]
			if r.Present != nil && r.Present[k] != nil && column.Bit(r.Present[k], i) != given {
				return fmt.Errorf("row %d: %s present %v", i+1, f.Name, given)
			}
			if got := show(&r.Cols[k], i); !sameJSON(&r.Cols[k], i, v) {
				return fmt.Errorf("row %d: %s is %s, and encoding/json has %v", i+1, f.Name, got, v)
			}
		}
	}
	if array {
		if _, err := dec.Token(); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("encoding/json finds more after row %d: %v", r.N, err)
	}
	return nil
}

func sameJSON(c *column.Column, i int, v any) bool {
	if v == nil || c.IsNull(i) {
		return v == nil && c.IsNull(i)
	}
	n, number := v.(json.Number)
	switch {
	case c.Type.Kind == column.Timestamp:
		s, ok := v.(string)
		raw, err := column.ParseText(c.Type, s)
		return ok && err == nil && bytes.Equal(raw, c.Raw(i))
	case c.Type.Floating() && !number:
		return map[any]string{"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[v] == show(c, i)
	case c.Type.Kind == column.Double:
		f, err := strconv.ParseFloat(string(n), 64)
		return err == nil && f == column.Values[float64](c)[i]
	case c.Type.Kind == column.Float:
		f, err := strconv.ParseFloat(string(n), 32)
		return err == nil && float32(f) == column.Values[float32](c)[i]
	case c.Type.Kind == column.Decimal || c.Type.Integer():
		if len(n) > 60 { // an exponent or a long tail that big.Rat would spell out
			return true
		}
		want, ok := new(big.Rat).SetString(string(n))
		got, ok2 := new(big.Rat).SetString(show(c, i))
		return ok && ok2 && want.Cmp(got) == 0
	}
	return fmt.Sprint(v) == show(c, i)
}

// randomBody writes rows in every style that NDJSON allows.
func randomBody(r *rand.Rand) []byte {
	var b bytes.Buffer
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	array := r.IntN(4) == 0
	space := pick("", "", " ")
	if array {
		b.WriteString("[")
	}
	for i := range r.IntN(12) {
		if i > 0 && array {
			b.WriteString("," + space)
		}
		b.WriteString("{")
		order := r.Perm(len(mixedFields))
		if r.IntN(3) > 0 {
			order = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		}
		first := true
		for _, k := range order {
			if k > 0 && r.IntN(5) == 0 {
				continue
			}
			if !first {
				b.WriteString("," + space)
			}
			first = false
			text := pick(`""`, `"u17"`, `"a longer text than the others"`, `"café"`, `"\u00e9\n\\"`, `"\ud83d\ude00x"`, `"日本"`, `"tab\tand \"quotes\" in a text"`)
			v := []string{
				pick("0", "-1", "9223372036854775807", "-9223372036854775808", "1234567890123456789"), text,
				pick("0", "-0.5", "1e10", "3.141592653589793", "2.2250738585072014e-308", "12345.678", `"NaN"`),
				pick("1", "-0.25", "123456789012.3456", "1e3", "5.50000"), pick("true", "false"), pick("0", "255"),
				pick("-170141183460469231731687303715884105728", "99999999999999999999"), text,
				pick("1.5", "16777217", "3e38"), pick(`"2026-01-02T03:04:05.123Z"`, `"1999-12-31 23:59:59"`, `"2026-01-02"`),
			}[k]
			if k > 0 && r.IntN(8) == 0 {
				v = "null"
			}
			fmt.Fprintf(&b, `"%s"%s:%s%s`, mixedFields[k].Name, pick("", "", " "), space, v)
		}
		b.WriteString("}")
		if !array {
			b.WriteString(pick("\n", "\n", "\r\n", "\n\n", " \n"))
		}
	}
	if array {
		b.WriteString("]" + pick("", "\n"))
	}
	return b.Bytes()
}

func TestNDJSONAgainstEncodingJSON(t *testing.T) {
	seed := testSeed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	d := NewNDJSON(mixedFields, Options{})
	taken := 0
	for i := range 300 {
		body := randomBody(r)
		rows, err := d.Decode(body)
		if err == nil {
			checkRows(t, rows)
			err = compareJSON(body, rows)
		}
		if err != nil {
			t.Fatalf("seed %d, body %d: %v\n%s", seed, i, err, body)
		}
		for k := range 50 {
			bad := mutateJSON(r, body)
			rows, err := d.Decode(bad)
			if err != nil {
				var e *RowError
				if !errors.As(err, &e) || e.Row < 1 || e.Offset < 0 || e.Offset > len(bad) || len(e.Value) > 100 || e.Reason == "" {
					t.Fatalf("seed %d, body %d.%d: %#v\n%q", seed, i, k, err, bad)
				}
				continue
			}
			taken++
			checkRows(t, rows)
			if err := compareJSON(bad, rows); err != nil {
				t.Fatalf("seed %d, body %d.%d: %v\n%q", seed, i, k, err, bad)
			}
		}
	}
	t.Logf("seed %d: %d of 15,000 mutated bodies were taken", seed, taken)
}

// mutateJSON changes a few bytes, mostly to ones that mean something in JSON.
func mutateJSON(r *rand.Rand, body []byte) []byte {
	b := bytes.Clone(body)
	const meaningful = "{}[],:\"\\0123456789.-+eEtfn \n\r\x00\x1f\x80\xc3\xff"
	for range 1 + r.IntN(2) {
		if len(b) == 0 {
			return b
		}
		i := r.IntN(len(b))
		switch c := meaningful[r.IntN(len(meaningful))]; r.IntN(4) {
		case 0:
			b[i] = c
		case 1:
			b = append(b[:i], b[i+1:]...)
		case 2:
			b = append(b[:i], append([]byte{c}, b[i:]...)...)
		case 3:
			b = b[:i]
		}
	}
	return b
}

func FuzzNDJSON(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 20 {
		f.Add(randomBody(r))
	}
	f.Add([]byte(`{"i":1,"s":"\ud800"}`))
	f.Add([]byte(strings.Repeat("{\"i\":1}\n", 70)))
	f.Fuzz(func(t *testing.T, body []byte) {
		rows, err := NewNDJSON(mixedFields, Options{MaxBytes: 1 << 22}).Decode(body)
		if err != nil {
			return
		}
		checkRows(t, rows)
		if err := compareJSON(body, rows); err != nil {
			t.Fatal(err)
		}
	})
}
