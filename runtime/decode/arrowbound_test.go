package decode

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/state/column"
)

// TestArrowIsZeroCopy: columns of Arrow's own layout lie in the body.
func TestArrowIsZeroCopy(t *testing.T) {
	body := arrowFlowBody(t, 1000)
	r, err := DecodeArrowStream(body, flowFields, Options{})
	if err != nil {
		t.Fatal(err)
	}
	inside := func(p unsafe.Pointer) bool {
		return uintptr(p) >= uintptr(unsafe.Pointer(&body[0])) && uintptr(p) <= uintptr(unsafe.Pointer(&body[len(body)-1]))
	}
	for i := range r.Cols {
		c := &r.Cols[i]
		if !inside(unsafe.Pointer(&c.Data[0])) || c.Offsets != nil && !inside(unsafe.Pointer(&c.Offsets[0])) {
			t.Errorf("column %s was copied", flowFields[i].Name)
		}
	}
	d := NewArrow(flowFields, Options{})
	if n := testing.AllocsPerRun(5, func() { _, err = d.Decode(body) }); n > 15 || err != nil {
		t.Errorf("%v allocations for a body: %v", n, err)
	}
}

// TestArrowExpansionIsBounded: small streams of what is large once decoded are refused before it is
// allocated.
func TestArrowExpansionIsBounded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	dt := dictOf(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String)
	texts, bools := make([]string, 1000), make([]string, 100_000)
	for i := range texts {
		texts[i] = long
	}
	for i := range bools {
		bools[i] = "true"
	}
	bit := arrow.FixedWidthTypes.Boolean
	str := column.Field{Name: "v", Type: column.T(column.Varchar)}
	flag := column.Field{Name: "v", Type: column.T(column.Bool)}
	wide := []column.Field{flag}
	for i := range 20 {
		wide = append(wide, column.Field{Name: fmt.Sprint("absent", i), Type: column.T(column.HugeInt)})
	}
	for name, c := range map[string]struct {
		body  []byte
		table []column.Field
		max   int64
	}{
		"dictionary": {writeStream(t, []arrow.Field{field("v", dt)}, [][]arrow.Array{{arr(t, dt, texts...)}}), []column.Field{str}, 1 << 20},
		"bits":       {writeStream(t, []arrow.Field{field("v", bit)}, [][]arrow.Array{{arr(t, bit, bools...)}}), []column.Field{flag}, 90_000},
		"absent":     {writeStream(t, []arrow.Field{field("v", bit)}, [][]arrow.Array{{arr(t, bit, bools...)}}), wide, 1 << 20},
		"zstd":       {writeStream(t, []arrow.Field{field("v", arrow.BinaryTypes.String)}, [][]arrow.Array{{arr(t, arrow.BinaryTypes.String, texts...)}}, ipc.WithZstd()), []column.Field{str}, 1 << 20},
		"lz4":        {writeStream(t, []arrow.Field{field("v", arrow.BinaryTypes.String)}, [][]arrow.Array{{arr(t, arrow.BinaryTypes.String, texts...)}}, ipc.WithLZ4()), []column.Field{str}, 1 << 20},
	} {
		if _, err := DecodeArrowStream(c.body, c.table, Options{MaxBytes: c.max}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: a stream of %d bytes under a bound of %d: %v", name, len(c.body), c.max, err)
		}
		if r, err := DecodeArrowStream(c.body, c.table, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			checkRows(t, r)
		}
	}
}
