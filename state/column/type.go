package column

import "fmt"

// Kind is the SQL type family of a column. The numbers are frozen: they stand in the commit log,
// in chunk files and in the catalog.
type Kind uint8

// The kinds, under DuckDB's names. A Kind of 0 is invalid.
const (
	Bool         Kind = 1
	Int8         Kind = 2  // TINYINT
	Int16        Kind = 3  // SMALLINT
	Int32        Kind = 4  // INTEGER
	Int64        Kind = 5  // BIGINT
	UInt8        Kind = 6  // UTINYINT
	UInt16       Kind = 7  // USMALLINT
	UInt32       Kind = 8  // UINTEGER
	UInt64       Kind = 9  // UBIGINT
	HugeInt      Kind = 10 // HUGEINT
	Float        Kind = 11 // FLOAT, 4 bytes
	Double       Kind = 12 // DOUBLE, 8 bytes
	Decimal      Kind = 13 // DECIMAL(Width, Scale), always 16 bytes here
	Varchar      Kind = 14
	Blob         Kind = 15
	Date         Kind = 16 // days since 1970-01-01, int32
	Time         Kind = 17 // microseconds since midnight, int64
	TimestampS   Kind = 18
	TimestampMS  Kind = 19
	Timestamp    Kind = 20 // microseconds since 1970-01-01, int64
	TimestampNS  Kind = 21
	TimestampTZ  Kind = 22 // microseconds since 1970-01-01 UTC, int64
	Interval     Kind = 23 // months int32, days int32, microseconds int64
	UUID         Kind = 24 // 16 bytes, big-endian, as printed
	UHugeInt     Kind = 25 // UHUGEINT, 16 bytes
	TimeTZ       Kind = 26 // TIME WITH TIME ZONE, a TimeTZValue
	TimeNS       Kind = 27 // nanoseconds since midnight, int64
	BitString    Kind = 28 // the number of padding bits (0 to 7), then the bits, padded in front with ones
	JSON         Kind = 29 // a text that is JSON; its equality is the text's
	Enum         Kind = 30 // the place of the label in the type, in 1, 2 or 4 bytes
	List         Kind = 31
	Array        Kind = 32 // a list of a fixed length
	Struct       Kind = 33
	Map          Kind = 34 // a list of the struct (key, value)
	Union        Kind = 35 // the struct of a tag and all members, of which one may have a value
	kindSentinel Kind = 36
)

// Type is a column's SQL type. It is comparable: two columns have the same type when their Types
// are equal. Width is a DECIMAL's, or the bytes of an ENUM's places; Scale is a DECIMAL's; both are 0
// otherwise.
type Type struct {
	Kind  Kind
	Width uint8
	Scale uint8
	// more is what the types from Enum on have beside. There is one of each content in the process.
	more *details
}

// T returns the type of a kind that has no parameters: all but DECIMAL, ENUM and the
// nested ones.
func T(k Kind) Type { return Type{Kind: k} }

// DecimalOf returns DECIMAL(width, scale).
func DecimalOf(width, scale int) Type {
	return Type{Kind: Decimal, Width: uint8(width), Scale: uint8(scale)}
}

var kindInfo = [kindSentinel]struct {
	name string
	size int // bytes of a fixed-width value, 0 for text and blobs
}{
	Bool: {"BOOLEAN", 1}, Int8: {"TINYINT", 1}, Int16: {"SMALLINT", 2}, Int32: {"INTEGER", 4},
	Int64: {"BIGINT", 8}, UInt8: {"UTINYINT", 1}, UInt16: {"USMALLINT", 2}, UInt32: {"UINTEGER", 4},
	UInt64: {"UBIGINT", 8}, HugeInt: {"HUGEINT", 16}, Float: {"FLOAT", 4}, Double: {"DOUBLE", 8},
	Decimal: {"DECIMAL", 16}, Varchar: {"VARCHAR", 0}, Blob: {"BLOB", 0}, Date: {"DATE", 4},
	Time: {"TIME", 8}, TimestampS: {"TIMESTAMP_S", 8}, TimestampMS: {"TIMESTAMP_MS", 8},
	Timestamp: {"TIMESTAMP", 8}, TimestampNS: {"TIMESTAMP_NS", 8},
	TimestampTZ: {"TIMESTAMP WITH TIME ZONE", 8}, Interval: {"INTERVAL", 16}, UUID: {"UUID", 16},
	UHugeInt: {"UHUGEINT", 16}, TimeTZ: {"TIME WITH TIME ZONE", 8}, TimeNS: {"TIME_NS", 8},
	BitString: {"BIT", 0}, JSON: {"JSON", 0}, Enum: {"ENUM", -1},
	List: {"LIST", 0}, Array: {"ARRAY", 0}, Struct: {"STRUCT", 0}, Map: {"MAP", 0}, Union: {"UNION", 0},
}

// Valid reports whether t is a type that this package knows.
func (t Type) Valid() bool {
	return t.Kind > 0 && t.Kind < kindSentinel && (t.Kind >= Enum) == (t.more != nil)
}

// Size returns the bytes of one fixed-width value, or 0 for those that have none: the types for which
// Varlen or Nested hold.
func (t Type) Size() int {
	if s := kindInfo[t.Kind].size; s >= 0 {
		return s
	}
	return int(t.Width)
}

// Varlen reports whether values are texts of their own length: VARCHAR, BLOB, BIT and JSON.
func (t Type) Varlen() bool {
	return t.Kind == Varchar || t.Kind == Blob || t.Kind == BitString || t.Kind == JSON
}

// Nested reports whether values are made of others, in the column's Kids.
func (t Type) Nested() bool { return t.Kind >= List }

// Integer reports whether t is one of the integer types, HUGEINT and UHUGEINT included.
func (t Type) Integer() bool { return t.Kind >= Int8 && t.Kind <= HugeInt || t.Kind == UHugeInt }

// HidesBits reports whether values of t that SQL calls equal may differ in their bits: -0.0 and 0.0, or 30
// days and a month.
func (t Type) HidesBits() bool {
	return t.Floating() || t.Kind == Interval || t.more != nil && t.more.hidesBits
}

// Floating reports whether t is FLOAT or DOUBLE.
func (t Type) Floating() bool { return t.Kind == Float || t.Kind == Double }

// String returns the type as SQL writes it, such as DECIMAL(18,3).
func (t Type) String() string {
	if !t.Valid() {
		return fmt.Sprintf("INVALID(%d)", t.Kind)
	}
	if t.Kind == Decimal {
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Width, t.Scale)
	}
	if t.more != nil {
		return t.more.sql
	}
	return kindInfo[t.Kind].name
}

// Field is a named, typed column of a relation or of an operator's output.
type Field struct {
	Name    string `json:"name"`
	Type    Type   `json:"type"`
	NotNull bool   `json:"not_null,omitempty"`
}
