package decode

import (
	"fmt"

	"tidemill/state/column"
)

// The numbers of Arrow's format, from its Schema.fbs and Message.fbs. They are Arrow's to change.
const (
	messageSchema     = 1
	messageDictionary = 2
	messageBatch      = 3

	metadataV4 = 3
	metadataV5 = 4

	arrowNull        = 1
	arrowInt         = 2
	arrowFloat       = 3
	arrowBinary      = 4
	arrowUtf8        = 5
	arrowBool        = 6
	arrowDecimal     = 7
	arrowDate        = 8
	arrowTime        = 9
	arrowTimestamp   = 10
	arrowInterval    = 11
	arrowList        = 12
	arrowStruct      = 13
	arrowUnion       = 14
	arrowFixedBinary = 15
	arrowFixedList   = 16
	arrowMap         = 17
	arrowLargeBinary = 19
	arrowLargeUtf8   = 20
	arrowLargeList   = 21
	arrowBinaryView  = 23
	arrowUtf8View    = 24
)

var arrowNames = map[int64]string{
	arrowNull: "null", arrowBinary: "binary", arrowUtf8: "utf8", arrowBool: "bool",
	arrowList: "list", arrowStruct: "struct", arrowUnion: "union", arrowFixedList: "fixed_size_list", arrowMap: "map", 18: "duration",
	arrowLargeBinary: "large_binary", arrowLargeUtf8: "large_utf8", arrowLargeList: "large_list", 22: "run_end_encoded",
	arrowBinaryView: "binary_view", arrowUtf8View: "utf8_view", 25: "list_view", 26: "large_list_view",
}

// layout is how an Arrow array lies in its buffers.
type layout uint8

const (
	layoutNone      layout = iota // not supported
	layoutNull                    // no buffers
	layoutBits                    // validity, bits
	layoutFixed                   // validity, values of size bytes
	layoutText                    // validity, 32-bit offsets, bytes
	layoutLarge                   // validity, 64-bit offsets, bytes
	layoutView                    // validity, views, any number of bytes buffers
	layoutList                    // validity, 32-bit offsets; kids: the elements, of a map a struct
	layoutLargeList               // validity, 64-bit offsets; kids: the elements
	layoutArray                   // validity; kids: the elements
	layoutStruct                  // validity; kids
	layoutUnion                   // types, for a dense one also offsets; kids
)

// arrowType is the type of an Arrow field.
type arrowType struct {
	name   string
	layout layout
	size   int // of a fixed value
	utf8   bool
	fixed  bool // fixed_size_binary: a UUID or a BLOB, as the table has it
	// native is the table's type that holds every value of this one exactly, and raise turns what
	// lies in the buffer into it when the layouts differ.
	native column.Type
	raise  func(raw []byte, n int, out []byte) int

	kids    []arrowKid     // of a nested type, else nil
	length  int            // of layoutArray
	codes   map[int8]int   // of layoutUnion: a type's place among the kids
	dense   bool           // of layoutUnion
	entries bool           // of layoutStruct: key and value of a map
	enc     *arrowEncoding // how the values come as places in a dictionary, or nil
}

// readType reads the type of a field; layoutNone marks one that no table has.
func readType(f *flatbuf, field table, fields *int, depth int) arrowType {
	out := readLayout(f, field, fields, depth)
	if dict, encoded := f.sub(field, 4); encoded {
		out.enc = &arrowEncoding{dict: f.integer(dict, 0, 8, 0), index: intType(32, true)}
		if index, ok := f.sub(dict, 1); ok {
			out.enc.index = intType(f.integer(index, 0, 4, 0), f.integer(index, 1, 1, 0) != 0)
		}
		if out.kids != nil || out.layout == layoutNull || out.enc.index.layout == layoutNone {
			out.layout, out.kids = layoutNone, nil
		}
	}
	return out
}

func readLayout(f *flatbuf, field table, fields *int, depth int) arrowType {
	id := f.integer(field, 2, 1, 0)
	t, _ := f.sub(field, 3)
	switch id {
	case arrowList, arrowLargeList, arrowFixedList, arrowMap, arrowStruct, arrowUnion:
		return nestedType(f, field, t, id, fields, depth)
	case arrowInt:
		return intType(f.integer(t, 0, 4, 0), f.integer(t, 1, 1, 0) != 0)
	case arrowFloat:
		return floatType(f.integer(t, 0, 2, 0))
	case arrowDecimal:
		return decimalType(f.integer(t, 0, 4, 0), f.integer(t, 1, 4, 0), f.integer(t, 2, 4, 128))
	case arrowDate:
		if f.integer(t, 0, 2, 1) == 0 {
			return arrowType{name: "date32", layout: layoutFixed, size: 4, native: column.T(column.Date)}
		}
		return arrowType{name: "date64", layout: layoutFixed, size: 8, native: column.T(column.Date), raise: raiseDate64}
	case arrowTime:
		return timeType(f.integer(t, 0, 2, 1), f.integer(t, 1, 4, 32))
	case arrowTimestamp:
		return timestampType(f.integer(t, 0, 2, 0), f.str(t, 1))
	case arrowInterval:
		return intervalType(f.integer(t, 0, 2, 0))
	case arrowFixedBinary:
		w := f.integer(t, 0, 4, 0)
		out := arrowType{name: fmt.Sprintf("fixed_size_binary[%d]", w), native: column.T(column.Blob), fixed: true}
		if w == 16 {
			out.native = column.T(column.UUID)
		}
		if w > 0 {
			out.layout, out.size = layoutFixed, int(w)
		}
		return out
	}
	out := arrowType{name: arrowNames[id]}
	if out.name == "" {
		out.name = fmt.Sprintf("type %d", id)
	}
	switch id {
	case arrowNull:
		out.layout = layoutNull
	case arrowBool:
		out.layout, out.native = layoutBits, column.T(column.Bool)
	case arrowUtf8, arrowLargeUtf8, arrowUtf8View:
		out.utf8, out.native = true, column.T(column.Varchar)
	case arrowBinary, arrowLargeBinary, arrowBinaryView:
		out.native = column.T(column.Blob)
	}
	switch id {
	case arrowUtf8, arrowBinary:
		out.layout = layoutText
	case arrowLargeUtf8, arrowLargeBinary:
		out.layout = layoutLarge
	case arrowUtf8View, arrowBinaryView:
		out.layout = layoutView
	}
	return out
}

func intType(width int64, signed bool) arrowType {
	name, kinds := "uint", map[int64]column.Kind{8: column.UInt8, 16: column.UInt16, 32: column.UInt32, 64: column.UInt64}
	if signed {
		name, kinds = "int", map[int64]column.Kind{8: column.Int8, 16: column.Int16, 32: column.Int32, 64: column.Int64}
	}
	out := arrowType{name: fmt.Sprintf("%s%d", name, width)}
	if k, ok := kinds[width]; ok {
		out.layout, out.size, out.native = layoutFixed, int(width/8), column.T(k)
	}
	return out
}

func floatType(precision int64) arrowType {
	switch precision {
	case 0:
		return arrowType{name: "float16", layout: layoutFixed, size: 2, native: column.T(column.Float), raise: raiseFloat16}
	case 1:
		return arrowType{name: "float32", layout: layoutFixed, size: 4, native: column.T(column.Float)}
	}
	return arrowType{name: "float64", layout: layoutFixed, size: 8, native: column.T(column.Double)}
}

func decimalType(precision, scale, width int64) arrowType {
	out := arrowType{name: fmt.Sprintf("decimal%d(%d,%d)", width, precision, scale)}
	if width == 256 && precision <= 39 && precision > 0 && scale == 0 {
		out.native, out.layout, out.size, out.raise = column.T(column.UHugeInt), layoutFixed, 32, raiseDecimal256
		return out
	}
	if precision < 1 || precision > 38 || scale < 0 || scale > precision {
		return out
	}
	out.native = column.DecimalOf(int(precision), int(scale))
	switch width {
	case 32:
		out.layout, out.size, out.raise = layoutFixed, 4, raiseDecimal32
	case 64:
		out.layout, out.size, out.raise = layoutFixed, 8, raiseDecimal64
	case 128:
		out.layout, out.size = layoutFixed, 16
	}
	return out
}

var unitNames = [4]string{"s", "ms", "us", "ns"}

func timeType(unit, width int64) arrowType {
	if unit < 0 || unit > 3 || width != 32 && width != 64 || (width == 32) != (unit < 2) {
		return arrowType{name: "time of an unknown unit"}
	}
	out := arrowType{name: fmt.Sprintf("time%d[%s]", width, unitNames[unit]), layout: layoutFixed, size: int(width / 8), native: column.T(column.Time)}
	if unit == 3 {
		out.native = column.T(column.TimeNS)
	}
	out.raise = [4]func([]byte, int, []byte) int{raiseTime32s, raiseTime32ms, nil, nil}[unit]
	return out
}

func timestampType(unit int64, zone string) arrowType {
	if unit < 0 || unit > 3 {
		return arrowType{name: "timestamp of an unknown unit"}
	}
	out := arrowType{name: "timestamp[" + unitNames[unit] + "]", layout: layoutFixed, size: 8}
	if zone == "" {
		out.native = column.T([4]column.Kind{column.TimestampS, column.TimestampMS, column.Timestamp, column.TimestampNS}[unit])
		return out
	}
	out.name = fmt.Sprintf("timestamp[%s, %s]", unitNames[unit], shorten([]byte(zone)))
	out.native = column.T(column.TimestampTZ)
	out.raise = [4]func([]byte, int, []byte) int{raiseSeconds, raiseMillis, nil, raiseNanos}[unit]
	return out
}

func intervalType(unit int64) arrowType {
	out := arrowType{name: "interval of an unknown unit", native: column.T(column.Interval)}
	switch unit {
	case 0:
		out.name, out.layout, out.size, out.raise = "interval[year_month]", layoutFixed, 4, raiseMonths
	case 1:
		out.name, out.layout, out.size, out.raise = "interval[day_time]", layoutFixed, 8, raiseDayTime
	case 2:
		out.name, out.layout, out.size, out.raise = "interval[month_day_nano]", layoutFixed, 16, raiseMonthDayNano
	}
	return out
}
