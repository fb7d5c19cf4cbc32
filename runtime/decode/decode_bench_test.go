package decode

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/state/column"
)

func benchNDJSON(b *testing.B, fields []column.Field, body []byte, rows int) {
	d := NewNDJSON(fields, Options{})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := d.Decode(body)
		if err != nil || r.N != rows {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkNDJSONFlow1000(b *testing.B) { benchNDJSON(b, flowFields, flowBody(1000), 1000) }

func BenchmarkNDJSONFlow100(b *testing.B) { benchNDJSON(b, flowFields, flowBody(100), 100) }

func BenchmarkNDJSONFlow1(b *testing.B) { benchNDJSON(b, flowFields, flowBody(1), 1) }

// BenchmarkNDJSONTypes1000 has a column of each type that is read from a string or a fraction.
func BenchmarkNDJSONTypes1000(b *testing.B) {
	fields := []column.Field{
		{Name: "at", Type: column.T(column.TimestampTZ)}, {Name: "day", Type: column.T(column.Date)},
		{Name: "price", Type: column.T(column.Double)}, {Name: "fee", Type: column.DecimalOf(18, 2)},
		{Name: "ref", Type: column.T(column.UUID)}, {Name: "note", Type: column.T(column.Varchar)},
	}
	var body []byte
	for i := range 1000 {
		body = fmt.Appendf(body, `{"at":"2026-01-02T03:%02d:05.%03dZ","day":"2026-01-%02d","price":%d.25,"fee":%d.5,"ref":"01234567-89ab-cdef-0123-%012d","note":"caf\u00e9 no %d"}`+"\n", i%60, i, i%28+1, i, i, i, i)
	}
	benchNDJSON(b, fields, body, 1000)
}

func benchArrow(b *testing.B, body []byte, fields []column.Field, rows int) {
	d := NewArrow(fields, Options{})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := d.Decode(body)
		if err != nil || r.N != rows {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkArrowFlow100000(b *testing.B) {
	benchArrow(b, arrowFlowBody(b, 100_000), flowFields, 100_000)
}

func BenchmarkArrowFlow100000Zstd(b *testing.B) {
	benchArrow(b, arrowFlowBody(b, 100_000, ipc.WithZstd()), flowFields, 100_000)
}

func BenchmarkArrowFlow1000(b *testing.B) { benchArrow(b, arrowFlowBody(b, 1000), flowFields, 1000) }

func BenchmarkArrowFlow1(b *testing.B) { benchArrow(b, arrowFlowBody(b, 1), flowFields, 1) }

// BenchmarkArrowInt64x100000 is the body that needs no work but its checks.
func BenchmarkArrowInt64x100000(b *testing.B) {
	vals := make([]string, 100_000)
	for i := range vals {
		vals[i] = fmt.Sprint(i)
	}
	body := writeStream(b, []arrow.Field{field("id", arrow.PrimitiveTypes.Int64)}, [][]arrow.Array{{arr(b, arrow.PrimitiveTypes.Int64, vals...)}})
	benchArrow(b, body, flowFields[:1], 100_000)
}

// BenchmarkArrowDictionary100000 has a text column as a dictionary.
func BenchmarkArrowDictionary100000(b *testing.B) {
	vals := make([]string, 100_000)
	for i := range vals {
		vals[i] = fmt.Sprintf("r%d", i%8)
	}
	dt := dictOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)
	body := writeStream(b, []arrow.Field{field("region", dt)}, [][]arrow.Array{{arr(b, dt, vals...)}})
	benchArrow(b, body, flowFields[2:3], 100_000)
}

func BenchmarkUncompressZstd(b *testing.B) {
	plain := flowBody(1000)
	body := zstded(b, plain)
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Uncompress("zstd", body, Limits{MaxBytes: 1 << 20}); err != nil {
			b.Fatal(err)
		}
	}
}
