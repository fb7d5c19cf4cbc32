package column

import (
	"fmt"
	"strconv"
	"strings"
)

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
	kindSentinel Kind = 25
)

// Type is a column's SQL type. It is comparable: two columns have the same type when their Types
// are equal. Width and Scale are used by Decimal only and are 0 otherwise.
type Type struct {
	Kind  Kind  `json:"k"`
	Width uint8 `json:"w,omitempty"`
	Scale uint8 `json:"s,omitempty"`
}

// T returns the type of a kind that has no parameters.
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
}

// Valid reports whether t is a type that this package knows.
func (t Type) Valid() bool { return t.Kind > 0 && t.Kind < kindSentinel }

// Size returns the bytes of one fixed-width value, or 0 for VARCHAR and BLOB.
func (t Type) Size() int { return kindInfo[t.Kind].size }

// Varlen reports whether values have their own length: VARCHAR and BLOB.
func (t Type) Varlen() bool { return t.Kind == Varchar || t.Kind == Blob }

// Integer reports whether t is one of the integer types, HUGEINT included.
func (t Type) Integer() bool { return t.Kind >= Int8 && t.Kind <= HugeInt }

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
	return kindInfo[t.Kind].name
}

var kindAliases = map[string]Kind{
	"TIMESTAMPTZ": TimestampTZ, "TIMESTAMP_US": Timestamp, "BOOL": Bool, "INT": Int32, "REAL": Float,
	"TEXT": Varchar, "STRING": Varchar, "BYTEA": Blob,
}

// ParseType reads a type as DuckDB prints it. The error names the type.
func ParseType(s string) (Type, error) {
	u := strings.ToUpper(strings.TrimSpace(s))
	if u == "DECIMAL" || u == "NUMERIC" {
		return DecimalOf(18, 3), nil // DuckDB's default
	}
	if rest, ok := strings.CutPrefix(u, "DECIMAL("); ok {
		inner, closed := strings.CutSuffix(rest, ")")
		w, sc, scaled := strings.Cut(inner, ",")
		if !scaled {
			sc = "0"
		}
		width, err1 := strconv.Atoi(strings.TrimSpace(w))
		scale, err2 := strconv.Atoi(strings.TrimSpace(sc))
		if !closed || err1 != nil || err2 != nil || width < 1 || width > 38 || scale < 0 || scale > width {
			return Type{}, fmt.Errorf("type %s: a DECIMAL has a width of 1 to 38 and a scale up to its width", s)
		}
		return DecimalOf(width, scale), nil
	}
	if k, ok := kindAliases[u]; ok {
		return T(k), nil
	}
	for k := Bool; k < kindSentinel; k++ {
		if kindInfo[k].name == u && k != Decimal {
			return T(k), nil
		}
	}
	return Type{}, fmt.Errorf("type %s is not supported", s)
}

// Field is a named, typed column of a relation or of an operator's output.
type Field struct {
	Name    string `json:"name"`
	Type    Type   `json:"type"`
	NotNull bool   `json:"not_null,omitempty"`
}
