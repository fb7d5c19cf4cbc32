package duck

import (
	"fmt"
	"strings"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
	sqltoken "tidemill/views/plan/token"
)

// typeIDs pairs our kinds with DuckDB's type numbers. DECIMAL, JSON, ENUM and the nested types stand apart.
var typeIDs = map[column.Kind]m.Type{
	column.Bool: m.TypeBoolean, column.Int8: m.TypeTinyInt, column.Int16: m.TypeSmallInt,
	column.Int32: m.TypeInteger, column.Int64: m.TypeBigInt, column.UInt8: m.TypeUTinyInt,
	column.UInt16: m.TypeUSmallInt, column.UInt32: m.TypeUInteger, column.UInt64: m.TypeUBigInt,
	column.HugeInt: m.TypeHugeInt, column.Float: m.TypeFloat, column.Double: m.TypeDouble,
	column.Varchar: m.TypeVarchar, column.Blob: m.TypeBlob, column.Date: m.TypeDate,
	column.Time: m.TypeTime, column.TimestampS: m.TypeTimestampS, column.TimestampMS: m.TypeTimestampMS,
	column.Timestamp: m.TypeTimestamp, column.TimestampNS: m.TypeTimestampNS,
	column.TimestampTZ: m.TypeTimestampTZ, column.Interval: m.TypeInterval, column.UUID: m.TypeUUID,
	column.UHugeInt: m.TypeUHugeInt, column.TimeTZ: m.TypeTimeTZ, column.TimeNS: m.TypeTimeNS, column.BitString: m.TypeBit,
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
	switch t.Kind {
	case column.Decimal:
		return m.CreateDecimalType(t.Width, t.Scale)
	case column.JSON:
		lt := m.CreateLogicalType(m.TypeVarchar)
		m.LogicalTypeSetAlias(lt, "JSON")
		return lt
	case column.Enum:
		return m.CreateEnumType(t.Labels())
	case column.List, column.Array, column.Struct, column.Map, column.Union:
		return nestedType(t)
	}
	return m.CreateLogicalType(typeIDs[t.Kind])
}

func nestedType(t column.Type) m.LogicalType {
	types := t.Kids()
	switch t.Kind {
	case column.Map:
		types = types[0].Kids()
	case column.Union:
		types = types[1:]
	}
	kids := make([]m.LogicalType, len(types))
	names := make([]string, len(types))
	for i, k := range types {
		kids[i] = logicalType(k)
	}
	defer func() {
		for i := range kids {
			m.DestroyLogicalType(&kids[i])
		}
	}()
	switch t.Kind {
	case column.List:
		return m.CreateListType(kids[0])
	case column.Array:
		return m.CreateArrayType(kids[0], m.IdxT(t.Length()))
	case column.Map:
		return m.CreateMapType(kids[0], kids[1])
	}
	for i, mb := range t.Members() {
		names[i] = mb.Name
	}
	if t.Kind == column.Union {
		return m.CreateUnionType(kids, names)
	}
	return m.CreateStructType(kids, names)
}

// columnType reads one of DuckDB's types; ok is false for a type that columns cannot hold.
func columnType(lt m.LogicalType) (t column.Type, ok bool) {
	ok = true
	child := func(c m.LogicalType) column.Type {
		defer m.DestroyLogicalType(&c)
		ct, held := columnType(c)
		ok = ok && held
		return ct
	}
	var members []column.Member
	id := m.GetTypeId(lt)
	// An alias is a type of its own to DuckDB's functions. Of those only JSON is known here.
	if alias := m.LogicalTypeGetAlias(lt); alias != "" {
		return column.T(column.JSON), alias == "JSON" && id == m.TypeVarchar
	}
	switch id {
	case m.TypeDecimal:
		return column.DecimalOf(int(m.DecimalWidth(lt)), int(m.DecimalScale(lt))), true
	case m.TypeSQLNull: // of [] and the like
		return column.T(column.Int32), true
	case m.TypeEnum:
		labels := make([]string, m.EnumDictionarySize(lt))
		for i := range labels {
			labels[i] = m.EnumDictionaryValue(lt, m.IdxT(i))
		}
		t, err := column.EnumOf(labels)
		return t, err == nil
	case m.TypeList:
		if elem := child(m.ListTypeChildType(lt)); ok {
			return column.ListOf(elem), true
		}
	case m.TypeArray:
		if elem := child(m.ArrayTypeChildType(lt)); ok {
			return column.ArrayOf(elem, int(m.ArrayTypeArraySize(lt))), true
		}
	case m.TypeMap:
		key := child(m.MapTypeKeyType(lt))
		if value := child(m.MapTypeValueType(lt)); ok {
			return column.MapOf(key, value), true
		}
	case m.TypeStruct:
		for i := range m.StructTypeChildCount(lt) {
			members = append(members, column.Member{Name: m.StructTypeChildName(lt, i), Type: child(m.StructTypeChildType(lt, i))})
		}
		if ok && len(members) > 0 {
			return column.StructOf(members...), true
		}
	case m.TypeUnion:
		for i := range m.UnionTypeMemberCount(lt) {
			members = append(members, column.Member{Name: m.UnionTypeMemberName(lt, i), Type: child(m.UnionTypeMemberType(lt, i))})
		}
		if ok && len(members) > 0 {
			return column.UnionOf(members...), true
		}
	default:
		k, known := kindsByID[id]
		return column.T(k), known
	}
	return column.Type{}, false
}

// typeNames are the types that a result may have and a column may not.
var typeNames = map[m.Type]string{
	m.TypeBigNum: "BIGNUM", m.TypeGeometry: "GEOMETRY", m.TypeVariant: "VARIANT", m.TypeInvalid: "UNKNOWN",
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
	case m.TypeUnion:
		var parts []string
		for i := range m.UnionTypeMemberCount(lt) {
			parts = append(parts, QuoteIdent(m.UnionTypeMemberName(lt, i))+" "+child(m.UnionTypeMemberType(lt, i)))
		}
		return "UNION(" + strings.Join(parts, ", ") + ")"
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
