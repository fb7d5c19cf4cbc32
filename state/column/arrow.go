package column

import (
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Field metadata that Arrow's own types leave open. The first two are Arrow's canonical extension
// marks; the third tells a HUGEINT from the DECIMAL(38,0) that it travels as.
const (
	metaExtension     = "ARROW:extension:name"
	metaExtensionData = "ARROW:extension:metadata"
	metaType          = "tidemill:type"
	extensionUUID     = "arrow.uuid"
	extensionJSON     = "arrow.json"
	extensionOpaque   = "arrow.opaque" // DuckDB marks its own types so
	opaqueBit         = `{"type_name":"bit","vendor_name":"DuckDB"}`
	opaqueTimeTZ      = `{"type_name":"time_tz","vendor_name":"DuckDB"}`
)

// ArrowType returns the Arrow type that a column of type t becomes: the one of the same layout where
// there is one. DECIMAL is decimal128; HUGEINT decimal128(38,0); UHUGEINT decimal256(39,0); UUID
// fixed_size_binary(16); TIMESTAMPTZ a timestamp in UTC; INTERVAL month_day_nano; TIMETZ and BIT the bytes
// that DuckDB has, marked as opaque; ENUM a dictionary; UNION a sparse union with one member more, of type
// null, for the NULLs, since Arrow's unions have none of their own. ArrowField adds the metadata that tells
// UUID, HUGEINT and others from more of their Arrow type; it is in the fields of nested types too.
func ArrowType(t Type) arrow.DataType {
	switch t.Kind {
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Int8:
		return arrow.PrimitiveTypes.Int8
	case Int16:
		return arrow.PrimitiveTypes.Int16
	case Int32:
		return arrow.PrimitiveTypes.Int32
	case Int64:
		return arrow.PrimitiveTypes.Int64
	case UInt8:
		return arrow.PrimitiveTypes.Uint8
	case UInt16:
		return arrow.PrimitiveTypes.Uint16
	case UInt32:
		return arrow.PrimitiveTypes.Uint32
	case UInt64:
		return arrow.PrimitiveTypes.Uint64
	case HugeInt:
		return &arrow.Decimal128Type{Precision: 38}
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Width), Scale: int32(t.Scale)}
	case UHugeInt:
		return &arrow.Decimal256Type{Precision: 39}
	case Varchar, JSON:
		return arrow.BinaryTypes.String
	case Blob, BitString:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		return arrow.FixedWidthTypes.Time64us
	case TimestampS:
		return &arrow.TimestampType{Unit: arrow.Second}
	case TimestampMS:
		return &arrow.TimestampType{Unit: arrow.Millisecond}
	case Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case TimestampNS:
		return &arrow.TimestampType{Unit: arrow.Nanosecond}
	case TimestampTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case Interval:
		return arrow.FixedWidthTypes.MonthDayNanoInterval
	case UUID:
		return &arrow.FixedSizeBinaryType{ByteWidth: 16}
	case TimeTZ:
		return &arrow.FixedSizeBinaryType{ByteWidth: 8}
	case TimeNS:
		return arrow.FixedWidthTypes.Time64ns
	case Enum, List, Array, Struct, Map, Union:
		return nestedArrowType(t)
	}
	panic("column: no Arrow type for " + t.String())
}

// ArrowField returns f as an Arrow field, with the metadata by which FromArrowType finds f.Type
// again.
func ArrowField(f Field) arrow.Field {
	out := arrow.Field{Name: f.Name, Type: ArrowType(f.Type), Nullable: !f.NotNull}
	switch f.Type.Kind {
	case UUID:
		out.Metadata = arrow.NewMetadata([]string{metaExtension, metaExtensionData}, []string{extensionUUID, ""})
	case HugeInt, UHugeInt, Enum:
		out.Metadata = arrow.NewMetadata([]string{metaType}, []string{f.Type.String()})
	case JSON:
		out.Metadata = arrow.NewMetadata([]string{metaExtension, metaExtensionData}, []string{extensionJSON, ""})
	case BitString:
		out.Metadata = arrow.NewMetadata([]string{metaExtension, metaExtensionData}, []string{extensionOpaque, opaqueBit})
	case TimeTZ:
		out.Metadata = arrow.NewMetadata([]string{metaExtension, metaExtensionData}, []string{extensionOpaque, opaqueTimeTZ})
	}
	return out
}

// FromArrowType returns the type that takes in an Arrow field of type dt with metadata meta, and an
// error for Arrow types without a counterpart. FromArrow with that type reads any array of dt,
// except values that the type cannot hold exactly.
func FromArrowType(dt arrow.DataType, meta arrow.Metadata) (Type, error) {
	switch dt := dt.(type) {
	case *arrow.DictionaryType:
		if sql, _ := meta.GetValue(metaType); strings.HasPrefix(sql, "ENUM(") {
			return ParseType(sql)
		}
		return FromArrowType(dt.ValueType, meta)
	case *arrow.ListType, *arrow.FixedSizeListType, *arrow.StructType, *arrow.MapType, arrow.UnionType:
		return fromNestedArrowType(dt)
	case arrow.ExtensionType:
		if t := ExtensionType(dt.ExtensionName(), dt.Serialize()); t.Valid() {
			return t, nil
		}
		return FromArrowType(dt.StorageType(), meta)
	case *arrow.FixedSizeBinaryType:
		if t := extensionOf(meta); t.Size() == dt.ByteWidth {
			return t, nil
		}
		return T(Blob), nil
	case *arrow.StringType, *arrow.BinaryType:
		if t := extensionOf(meta); t.Varlen() {
			return t, nil
		}
	case *arrow.TimestampType:
		return fromArrowTimestamp(dt), nil
	case *arrow.Time64Type:
		if dt.Unit == arrow.Nanosecond {
			return T(TimeNS), nil
		}
	case arrow.DecimalType:
		p, s := dt.GetPrecision(), dt.GetScale()
		if name, _ := meta.GetValue(metaType); name == "UHUGEINT" && p == 39 && s == 0 {
			return T(UHugeInt), nil
		}
		if name, _ := meta.GetValue(metaType); name == "HUGEINT" && p == 38 && s == 0 {
			return T(HugeInt), nil
		}
		if dt.ID() != arrow.DECIMAL256 && p >= 1 && p <= 38 && s >= 0 && s <= p {
			return DecimalOf(int(p), int(s)), nil
		}
	}
	if k, ok := arrowKinds[dt.ID()]; ok {
		return T(k), nil
	}
	return Type{}, fmt.Errorf("type %s of Arrow is not supported", dt)
}

// ExtensionType returns the type that an extension of Arrow's marks, the zero Type for others.
func ExtensionType(name, data string) Type {
	switch {
	case name == extensionUUID:
		return T(UUID)
	case name == extensionJSON:
		return T(JSON)
	case name == extensionOpaque && strings.Contains(data, `"time_tz"`):
		return T(TimeTZ)
	case name == extensionOpaque && strings.Contains(data, `"bit"`):
		return T(BitString)
	}
	return Type{}
}

func extensionOf(meta arrow.Metadata) Type {
	name, _ := meta.GetValue(metaExtension)
	data, _ := meta.GetValue(metaExtensionData)
	return ExtensionType(name, data)
}

func fromArrowTimestamp(dt *arrow.TimestampType) Type {
	if dt.TimeZone != "" {
		return T(TimestampTZ)
	}
	return T([...]Kind{arrow.Second: TimestampS, arrow.Millisecond: TimestampMS, arrow.Microsecond: Timestamp, arrow.Nanosecond: TimestampNS}[dt.Unit])
}

var arrowKinds = map[arrow.Type]Kind{
	arrow.NULL: Int32, // as DuckDB types a bare NULL
	arrow.BOOL: Bool, arrow.INT8: Int8, arrow.INT16: Int16, arrow.INT32: Int32, arrow.INT64: Int64,
	arrow.UINT8: UInt8, arrow.UINT16: UInt16, arrow.UINT32: UInt32, arrow.UINT64: UInt64,
	arrow.FLOAT16: Float, arrow.FLOAT32: Float, arrow.FLOAT64: Double,
	arrow.STRING: Varchar, arrow.LARGE_STRING: Varchar, arrow.STRING_VIEW: Varchar,
	arrow.BINARY: Blob, arrow.LARGE_BINARY: Blob, arrow.BINARY_VIEW: Blob,
	arrow.DATE32: Date, arrow.DATE64: Date, arrow.TIME32: Time, arrow.TIME64: Time,
	arrow.INTERVAL_MONTHS: Interval, arrow.INTERVAL_DAY_TIME: Interval, arrow.INTERVAL_MONTH_DAY_NANO: Interval,
}

// ToArrow returns c as an array of ArrowType(c.Type). It aliases c's buffers, BOOLEAN, INTERVAL and UHUGEINT
// excepted. The array is garbage collected like the column: releasing it is allowed and frees
// nothing. The error wraps ErrNotLossless and names the row: a HUGEINT of 39 digits, or an INTERVAL
// whose microseconds overflow as nanoseconds.
func ToArrow(c *Column) (arrow.Array, error) {
	if c.Type.more != nil {
		data, err := nestedArrow(c)
		if err != nil {
			return nil, err
		}
		defer data.Release()
		return array.MakeFromData(data), nil
	}
	bufs := make([]*memory.Buffer, 2, 3)
	nulls := c.NullCount()
	if nulls > 0 {
		bufs[0] = memory.NewBufferBytes(c.Valid)
	}
	switch c.Type.Kind {
	case Varchar, Blob, BitString, JSON:
		text := []byte{}
		if c.N > 0 {
			text = c.Data
		}
		offs := c.Offsets
		if offs == nil {
			offs = []int32{0}
		}
		bufs[1] = memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offs))), 4*(c.N+1)))
		bufs = append(bufs, memory.NewBufferBytes(text))
	case Bool:
		bits := NewBitmap(c.N, false)
		for i, v := range c.Data[:c.N] {
			bits[i>>3] |= v & 1 << (i & 7)
		}
		bufs[1] = memory.NewBufferBytes(bits)
	case Interval:
		nanos := make([]IntervalValue, c.N)
		for i, v := range Values[IntervalValue](c) {
			if v.Micros > math.MaxInt64/1000 || v.Micros < math.MinInt64/1000 {
				return nil, fmt.Errorf("row %d: INTERVAL of %d microseconds as nanoseconds: %w", i, v.Micros, ErrNotLossless)
			}
			v.Micros *= 1000
			nanos[i] = v
		}
		bufs[1] = memory.NewBufferBytes(Of(c.Type, nanos, nil).Data)
	case HugeInt:
		for i, v := range Values[Int128](c) {
			if !v.fitsDecimal(38) {
				return nil, fmt.Errorf("row %d: HUGEINT %v as decimal128(38,0): %w", i, v, ErrNotLossless)
			}
		}
		bufs[1] = memory.NewBufferBytes(c.Data[:c.N*16])
	case UHugeInt: // four words, of which the upper two are 0
		words := make([]uint64, 4*c.N)
		for i, v := range Values[Int128](c) {
			words[4*i], words[4*i+1] = v.Lo, uint64(v.Hi)
		}
		bufs[1] = memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 32*c.N))
	default:
		bufs[1] = memory.NewBufferBytes(c.Data[:c.N*c.Type.Size()])
	}
	data := array.NewData(ArrowType(c.Type), c.N, bufs, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}
