package decode

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// csvTable has a key and one column of the kinds that matter to CSV.
var csvTable = []column.Field{
	{Name: "id", Type: column.T(column.Int64), NotNull: true}, {Name: "s", Type: column.T(column.Varchar)},
	{Name: "d", Type: column.DecimalOf(9, 2)}, {Name: "ts", Type: column.T(column.Timestamp)}, {Name: "b", Type: column.T(column.Blob)},
}

func TestCSV(t *testing.T) {
	for i, c := range []struct {
		form CSVForm
		read Reading
		body string
		want string // rows of cells, or ! and what the error says
	}{
		{body: "id,s,d,ts,b\n1,a,1.5,2026-01-02 03:04:05,x\\x00\n", want: `1|a|1.50|2026-01-02 03:04:05|x\x00`},
		{body: "\xef\xbb\xbfs,id\r\n\"a,\"\"b\"\"\r\nc\",1\r\n\r\n,2", want: "1|a,\"b\"\r\nc|NULL|NULL|NULL;2|NULL|NULL|NULL|NULL"},
		{body: "id,s\n1,\"\"\n2,\n", want: "1||NULL|NULL|NULL;2|NULL|NULL|NULL|NULL"},
		{form: CSVForm{Null: "NA"}, body: "id,s,d\n1,NA,NA\n2,\"NA\",3\n3,,3\n", want: "1|NULL|NULL|NULL|NULL;2|NA|3.00|NULL|NULL;3||3.00|NULL|NULL"},
		{form: CSVForm{NoHeader: true}, body: "1,a,2,,\n", want: "1|a|2.00|NULL|NULL"},
		{form: CSVForm{NoHeader: true, Columns: []string{"s", "id"}, Delimiter: '\t', Quote: '\''}, body: "'x\ty'\t5\n", want: "5|x\ty|NULL|NULL|NULL"},
		{form: CSVForm{Columns: []string{"id", "s"}}, body: "Nr,Name\n7,x\n", want: "7|x|NULL|NULL|NULL"},
		{form: CSVForm{Quote: NoQuote}, body: "id,s\n1,\"a\n", want: `1|"a|NULL|NULL|NULL`},
		{read: Reading{Epoch: EpochMillis}, body: "id,ts\n1,1700000000123\n2,-1\n3,2026-01-02\n", want: "1|NULL|NULL|2023-11-14 22:13:20.123|NULL;2|NULL|NULL|1969-12-31 23:59:59.999|NULL;3|NULL|NULL|2026-01-02 00:00:00|NULL"},
		{read: Reading{Epoch: EpochSeconds}, body: "id,ts\n1,1700000000.5\n", want: "1|NULL|NULL|2023-11-14 22:13:20.5|NULL"},
		{read: Reading{Epoch: EpochNanos}, body: "id,ts\n1,1700000000000000001\n", want: "!not a valid TIMESTAMP"},
		{read: Reading{Blob: BlobBase64}, body: "id,b\n1,AP8\n2,AP8=\n3,-_8=\n", want: `1|NULL|NULL|NULL|\x00\xFF;2|NULL|NULL|NULL|\x00\xFF;3|NULL|NULL|NULL|\xFB\xFF`},
		{read: Reading{Blob: BlobHex}, body: "id,b\n1,00fF\n", want: `1|NULL|NULL|NULL|\x00\xFF`},
		{read: Reading{Blob: BlobHex}, body: "id,b\n1,0\n", want: "!two hexadecimal digits"},
		{body: "", want: ""}, {body: "\n\nid\n\n", want: ""},
		{body: "id,s\n1\n", want: `!row 1 (byte 5): 1 fields, and there are 2 columns: 1`},
		{body: "id\n1,2\n", want: "!2 fields"}, {body: "id,x\n", want: `!header, column "x" (byte 3): the table has no such column`},
		{body: "id,id\n", want: "!named twice"}, {body: "_deleted,id\n", want: "!primary key"},
		{body: "id\nx\n", want: `!row 1, column "id" (byte 3)`}, {body: "s\na\n", want: "!the field is missing"}, {body: "id,s\n,a\n", want: "!NOT NULL"},
		{body: "id,s\n1,\"a\n", want: "!row 1 (byte 7): the quote is not closed"}, {body: "id,s\n1,\"a\"b\n", want: "!written twice"},
		{body: "id,s\n1,a\"b\n", want: "!a quote stands inside"}, {body: "id,s\n1,\xff\n", want: "!UTF-8"},
		{body: "id,s\n1,\"a\"\rb\n", want: "!carriage return"}, {body: "id\n 1\n", want: `!" 1" is not a valid BIGINT`},
		{body: "id,d\n1,1.555\n", want: "!more decimals"}, {body: "id,ts\n1,1700000000\n", want: "!not a valid TIMESTAMP"},
		{body: "id\n9223372036854775808\n", want: "!out of range"},
	} {
		d := NewCSV(csvTable, Options{})
		d.Form, d.Reading = c.form, c.read
		r, err := d.Decode([]byte(c.body))
		if reason, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("case %d: %v, which should mention %q", i, err, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		checkRows(t, r)
		if got := rowsOf(r); got != c.want {
			t.Errorf("case %d: %q, want %q", i, got, c.want)
		}
	}
}

func rowsOf(r *Rows) string {
	var rows []string
	for i := range r.N {
		rows = append(rows, rowOf(r, i))
	}
	return strings.Join(rows, ";")
}

func TestCSVDeletes(t *testing.T) {
	d := NewCSV(csvTable, Options{Key: []int{0}})
	r, err := d.Decode([]byte("id,_deleted,s\n1,true,\n2,,x\n3,false,y\n"))
	if err != nil || r.Deleted[0] != 1 || rowsOf(r) != "1|NULL|NULL|NULL|NULL;2|x|NULL|NULL|NULL;3|y|NULL|NULL|NULL" {
		t.Fatalf("%v, %+v", err, r)
	}
	if _, err := d.Decode([]byte("id,_deleted\n1,maybe\n")); err == nil || !strings.Contains(err.Error(), `"_deleted"`) {
		t.Error(err)
	}
}

// TestCSVOfColumns: what column.AppendText writes comes back as it was, for every type, quoted or not.
func TestCSVOfColumns(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range columntest.Types() {
		d := NewCSV([]column.Field{{Name: "v", Type: typ}, {Name: "w", Type: typ}}, Options{})
		for _, n := range []int{1, 8, 50} {
			c := columntest.Random(r, typ, n)
			body := []byte("w,v\n")
			for i := range n {
				cell := ""
				if !c.IsNull(i) {
					cell = `"` + strings.ReplaceAll(cellOf(&c, i), `"`, `""`) + `"`
				}
				body = fmt.Appendf(body, "%s,%s\n", cell, cell)
			}
			rows, err := d.Decode(body)
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			checkRows(t, rows)
			for i := range n {
				if a, b := oneNaN(show(&c, i)), oneNaN(show(&rows.Cols[1], i)); a != b {
					t.Fatalf("%s, row %d: %s became %s", typ, i, a, b)
				}
			}
		}
	}
}

// cellOf is a value in CSV: nested ones are JSON.
func cellOf(c *column.Column, i int) string {
	if c.Type.Nested() {
		return string(column.AppendJSON(nil, c, i))
	}
	return show(c, i)
}

// oneNaN leaves out the sign of NaNs, which text has no more.
func oneNaN(s string) string { return strings.ReplaceAll(s, "-nan", "nan") }

// badLines makes lines of a body, some of them bad in ways that lie at any place of a row.
func badLines(r *rand.Rand, csv bool) []string {
	json := []string{`{"id":%d}`, `{"id":%d,"s":"é"}`, `{"s":"x","id":%d,"d":1.25}`, `{"id":%d,"s":null,"b":"a"}`, ` {"id":%d} `,
		`{"id":"x%d"}`, `{"s":"left%d"}`, `{"id":%d,"s":"open`, `{"id":%d`, `{"id":%d,"id":2}`, `{"id":%d} x`, `nonsense %d`, `{"id":%d,"d":1.001}`, `{"id":%d,"z":1}`, "[%d]"}
	lines := []string{"%d,a,,,", "%d,\"é\",1,2026-01-01,x", "%d,,,,", "%d,\"a\"\"\",,,", "%d,b", "x%d,b,,,", ",b%d,,,", "%d,\"open,,,", "%d,a\"b,,,", "%d,b,1.001,,", "%d,b,,,,,"}
	if !csv {
		lines = json
	}
	out := make([]string, 1+r.IntN(40))
	out[0] = []string{`{"id":0}`, "0,,,,"}[btoi(csv)] // a body that begins with [ is an array
	for i := 1; i < len(out); i++ {
		out[i] = fmt.Sprintf(lines[r.IntN(len(lines))], i)
	}
	return out
}

// TestBadRows: with OnErrorRow the rows that are taken are those that decode alone, and the others are kept with
// their bytes and places; with OnErrorStop those before the first bad one are.
func TestBadRows(t *testing.T) {
	r := columntest.Rand(t)
	for range 300 {
		for _, csv := range []bool{false, true} {
			decode := func(how OnError, body string) (*Rows, error) {
				if csv {
					d := NewCSV(csvTable, Options{})
					d.Form.NoHeader, d.Reading.OnError = true, how
					return d.Decode([]byte(body))
				}
				d := NewNDJSON(csvTable, Options{})
				d.Reading.OnError = how
				return d.Decode([]byte(body))
			}
			lines := badLines(r, csv)
			body := strings.Join(lines, "\n")
			got, err := decode(OnErrorRow, body)
			if err != nil {
				t.Fatalf("%s\n%v", body, err)
			}
			checkRows(t, got)
			good, bad, first := []string{}, got.Bad, len(lines)
			at := 0
			for i, line := range lines {
				if one, err := decode(OnErrorAll, line); err == nil {
					good = append(good, rowsOf(one))
				} else {
					first = min(first, i)
					if len(bad) == 0 || string(bad[0].Raw) != line || bad[0].Row != i+1 || bad[0].Start != at || bad[0].Offset < at || bad[0].Offset > len(body) || bad[0].Reason == "" {
						t.Fatalf("line %d of\n%s\nis not among the bad rows: %+v", i+1, body, bad)
					}
					bad = bad[1:]
				}
				at += len(line) + 1
			}
			if len(bad) > 0 || rowsOf(got) != strings.Join(good, ";") || got.N != len(good) {
				t.Fatalf("%s\n%d rows %s\nwant %s\nand %v too many", body, got.N, rowsOf(got), strings.Join(good, ";"), bad)
			}
			got, err = decode(OnErrorStop, body)
			var e *RowError
			if (first < len(lines)) != errors.As(err, &e) || rowsOf(got) != strings.Join(good[:first], ";") {
				t.Fatalf("stop at the first bad row of\n%s\n%v %s", body, err, rowsOf(got))
			}
		}
	}
}

// TestBadElements: elements of an array are told apart by its brackets.
func TestBadElements(t *testing.T) {
	d := NewNDJSON(csvTable, Options{})
	d.Reading.OnError = OnErrorRow
	r, err := d.Decode([]byte(`[{"id":1}, {"id":"x,]}", "s":[1,{"a":"]"}]}, 7, {"id":2,"s":"\"}"} , {}]`))
	if err != nil || rowsOf(r) != `1|NULL|NULL|NULL|NULL;2|"}|NULL|NULL|NULL` || len(r.Bad) != 3 || string(r.Bad[0].Raw) != `{"id":"x,]}", "s":[1,{"a":"]"}]}` || r.Bad[2].Row != 5 {
		t.Fatalf("%v %+v", err, r)
	}
	if _, err := d.Decode([]byte(`[{"id":1}`)); err == nil {
		t.Error("an array that is cut short was taken")
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("id,s\n1,\"a\"\"\n\"\n"), byte(','), byte('"'))
	f.Add([]byte("\xef\xbb\xbfid\r\n1\r\n"), byte(';'), byte(NoQuote))
	f.Fuzz(func(t *testing.T, body []byte, delim, quote byte) {
		for _, how := range []OnError{OnErrorAll, OnErrorRow, OnErrorStop} {
			d := NewCSV(csvTable, Options{MaxBytes: 1 << 20, Key: []int{0}})
			d.Form, d.Reading = CSVForm{Delimiter: delim, Quote: quote}, Reading{OnError: how, Epoch: EpochNanos, Blob: BlobBase64}
			if r, err := d.Decode(body); r != nil {
				checkRows(t, r)
			} else if err == nil {
				t.Fatal("neither rows nor an error")
			}
		}
	})
}
