package duck

import (
	"fmt"
	"strings"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
	sqltoken "tidemill/views/plan/token"
)

// typeIDs pairs our kinds with DuckDB's type numbers. DECIMAL stands apart for its parameters.
var typeIDs = map[column.Kind]m.Type{
	column.Bool: m.TypeBoolean, column.Int8: m.TypeTinyInt, column.Int16: m.TypeSmallInt,
	column.Int32: m.TypeInteger, column.Int64: m.TypeBigInt, column.UInt8: m.TypeUTinyInt,
	column.UInt16: m.TypeUSmallInt, column.UInt32: m.TypeUInteger, column.UInt64: m.TypeUBigInt,
	column.HugeInt: m.TypeHugeInt, column.Float: m.TypeFloat, column.Double: m.TypeDouble,
	column.Varchar: m.TypeVarchar, column.Blob: m.TypeBlob, column.Date: m.TypeDate,
	column.Time: m.TypeTime, column.TimestampS: m.TypeTimestampS, column.TimestampMS: m.TypeTimestampMS,
	column.Timestamp: m.TypeTimestamp, column.TimestampNS: m.TypeTimestampNS,
	column.TimestampTZ: m.TypeTimestampTZ, column.Interval: m.TypeInterval, column.UUID: m.TypeUUID,
}

var kindsByID = func() map[m.Type]column.Kind {
	out := make(map[m.Type]column.Kind, len(typeIDs))
	for k, id := range typeIDs {
		out[id] = k
	}
	return out
}()

// logicalType makes DuckDB's type of t; the caller destroys it.
func logicalType(t column.Type) m.LogicalType {
	if t.Kind == column.Decimal {
		return m.CreateDecimalType(t.Width, t.Scale)
	}
	return m.CreateLogicalType(typeIDs[t.Kind])
}

// columnType reads one of DuckDB's types; ok is false for a type that columns cannot hold.
func columnType(lt m.LogicalType) (t column.Type, ok bool) {
	id := m.GetTypeId(lt)
	if id == m.TypeDecimal {
		return column.DecimalOf(int(m.DecimalWidth(lt)), int(m.DecimalScale(lt))), true
	}
	// An alias is a type of its own to DuckDB's functions: JSON is a VARCHAR that prints and compares
	// as one, all others are unknown to us.
	if alias := m.LogicalTypeGetAlias(lt); alias != "" && alias != "JSON" {
		return column.Type{}, false
	}
	k, ok := kindsByID[id]
	return column.T(k), ok
}

// typeNames are the types that a result may have and a column may not.
var typeNames = map[m.Type]string{
	m.TypeUHugeInt: "UHUGEINT", m.TypeEnum: "ENUM", m.TypeUnion: "UNION", m.TypeBit: "BIT",
	m.TypeTimeTZ: "TIME WITH TIME ZONE", m.TypeBigNum: "BIGNUM", m.TypeSQLNull: "NULL",
	m.TypeTimeNS: "TIME_NS", m.TypeGeometry: "GEOMETRY", m.TypeVariant: "VARIANT", m.TypeMap: "MAP",
	m.TypeInvalid: "UNKNOWN",
}

// typeName prints any of DuckDB's types as SQL writes it.
func typeName(lt m.LogicalType) string {
	if t, ok := columnType(lt); ok {
		return t.String()
	}
	child := func(c m.LogicalType) string {
		defer m.DestroyLogicalType(&c)
		return typeName(c)
	}
	switch id := m.GetTypeId(lt); id {
	case m.TypeList:
		return child(m.ListTypeChildType(lt)) + "[]"
	case m.TypeArray:
		return fmt.Sprintf("%s[%d]", child(m.ArrayTypeChildType(lt)), m.ArrayTypeArraySize(lt))
	case m.TypeMap:
		return "MAP(" + child(m.MapTypeKeyType(lt)) + ", " + child(m.MapTypeValueType(lt)) + ")"
	case m.TypeStruct:
		var parts []string
		for i := range m.StructTypeChildCount(lt) {
			parts = append(parts, QuoteIdent(m.StructTypeChildName(lt, i))+" "+child(m.StructTypeChildType(lt, i)))
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	default:
		if alias := m.LogicalTypeGetAlias(lt); alias != "" {
			return alias
		}
		if n, ok := typeNames[id]; ok {
			return n
		}
		return fmt.Sprintf("TYPE(%d)", id)
	}
}

// QuoteIdent returns name as a quoted SQL identifier.
func QuoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteName returns the SQL of a relation's full name, as token.Join writes it.
func QuoteName(full string) string {
	schema, name, ok := sqltoken.Cut(full)
	switch {
	case !ok:
		return QuoteIdent(full)
	case schema == "":
		return QuoteIdent(name)
	}
	return QuoteIdent(schema) + "." + QuoteIdent(name)
}

// makeSchema makes the schema that a full name is in.
func (c *conn) makeSchema(full string) error {
	if schema, _, ok := sqltoken.Cut(full); ok && schema != "" {
		return c.exec("CREATE SCHEMA IF NOT EXISTS " + QuoteIdent(schema))
	}
	return nil
}

// QuoteString returns s as a SQL string literal.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
