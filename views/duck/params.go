package duck

import (
	"time"

	m "github.com/duckdb/duckdb-go-bindings"
)

// bindParams binds the values of $1, $2, ... or ?. Each is nil, bool, any Go integer or float,
// string, []byte or time.Time (bound as TIMESTAMP WITH TIME ZONE); DuckDB casts it to what the
// statement needs, so a string serves for every type.
func bindParams(stmt m.PreparedStatement, text string, params []any) error {
	want := int(m.NParams(stmt))
	if want != len(params) {
		return refuse("Invalid Input", "08P01", text, -1, "",
			"the statement has %d parameters and %d values were given", want, len(params))
	}
	for i, v := range params {
		if !bindParam(stmt, m.IdxT(i+1), v) {
			return refuse("Invalid Input", "42804", text, -1, "", "parameter %d cannot be bound from a %T", i+1, v)
		}
	}
	return nil
}

func bindParam(stmt m.PreparedStatement, i m.IdxT, v any) bool {
	var s m.State
	switch v := v.(type) {
	case nil:
		s = m.BindNull(stmt, i)
	case bool:
		s = m.BindBoolean(stmt, i, v)
	case int:
		s = m.BindInt64(stmt, i, int64(v))
	case int8:
		s = m.BindInt8(stmt, i, v)
	case int16:
		s = m.BindInt16(stmt, i, v)
	case int32:
		s = m.BindInt32(stmt, i, v)
	case int64:
		s = m.BindInt64(stmt, i, v)
	case uint:
		s = m.BindUInt64(stmt, i, uint64(v))
	case uint8:
		s = m.BindUInt8(stmt, i, v)
	case uint16:
		s = m.BindUInt16(stmt, i, v)
	case uint32:
		s = m.BindUInt32(stmt, i, v)
	case uint64:
		s = m.BindUInt64(stmt, i, v)
	case float32:
		s = m.BindFloat(stmt, i, v)
	case float64:
		s = m.BindDouble(stmt, i, v)
	case string:
		s = m.BindVarcharLength(stmt, i, v, m.IdxT(len(v)))
	case []byte:
		s = m.BindBlob(stmt, i, v)
	case time.Time:
		ts := m.NewTimestamp(v.UnixMicro())
		s = m.BindTimestampTZ(stmt, i, ts)
	default:
		return false
	}
	return s != m.StateError
}
