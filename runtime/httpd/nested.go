package httpd

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemill/state/column"
)

// nestedSource gives the rows of a query with columns of types that package column lacks. The numbers in
// lists and structs keep all their digits as those in plain columns do: arrow-go's own JSON would turn
// decimals to strings and fail on NaN.
type nestedSource struct {
	rows   arrowSource
	batch  arrow.RecordBatch // that values read, released when the next comes; nil before the first
	values []jsonValue
	// columns are those of the batch that have a plain type, made when text asks for them.
	columns map[int]column.Column
}

// jsonValue appends the value at row i as JSON.
type jsonValue func(dst []byte, i int) []byte

func (q *nestedSource) load() (int, error) {
	q.close()
	rec, err := q.rows.NextArrow()
	if err != nil {
		return 0, err
	}
	q.batch, q.values, q.columns = rec, q.values[:0], nil
	for i := range int(rec.NumCols()) {
		q.values = append(q.values, jsonOf(rec.Column(i), rec.Schema().Field(i).Metadata))
	}
	return int(rec.NumRows()), nil
}

func (q *nestedSource) close() {
	if q.batch != nil {
		q.batch.Release()
		q.batch = nil
	}
}

// text gives plain values and texts as they are, and others as JSON.
func (q *nestedSource) text(dst []byte, col, row int) ([]byte, bool) {
	a := q.batch.Column(col)
	if a.IsNull(row) {
		return dst, true
	}
	if t, err := column.FromArrowType(a.DataType(), q.batch.Schema().Field(col).Metadata); err == nil {
		if q.columns == nil {
			q.columns = map[int]column.Column{}
		}
		c, ok := q.columns[col]
		if !ok {
			if c, err = column.FromArrow(a, t); err == nil {
				q.columns[col] = c
			}
		}
		if err == nil {
			return column.AppendText(dst, &c, row), false
		}
	}
	switch a.(type) {
	case array.ListLike, *array.Struct:
		return q.values[col](dst, row), false
	}
	return append(dst, a.ValueStr(row)...), false
}

func (q *nestedSource) value(dst []byte, col, row int) []byte { return q.values[col](dst, row) }

// jsonOf returns how the values of an array are written: a LIST or ARRAY as an array, a STRUCT as an object,
// a MAP as an object when its keys are plain and as an array of {"key","value"} otherwise. What has
// no form of its own is the text that arrow-go has for it.
func jsonOf(a arrow.Array, meta arrow.Metadata) jsonValue {
	if d, ok := a.DataType().(*arrow.Decimal128Type); ok && d.Scale == 0 { // a HUGEINT may have a digit more
		if c, err := column.FromArrow(a, column.T(column.HugeInt)); err == nil {
			return func(dst []byte, i int) []byte { return column.AppendJSON(dst, &c, i) }
		}
	}
	if t, err := column.FromArrowType(a.DataType(), meta); err == nil {
		if c, err := column.FromArrow(a, t); err == nil {
			return func(dst []byte, i int) []byte { return column.AppendJSON(dst, &c, i) }
		}
	}
	switch a := a.(type) {
	case *array.Map:
		return orNull(a, jsonMap(a))
	case array.ListLike:
		child := jsonOf(a.ListValues(), arrow.Metadata{})
		return orNull(a, func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			dst = append(dst, '[')
			for k := from; k < to; k++ {
				if k > from {
					dst = append(dst, ',')
				}
				dst = child(dst, int(k))
			}
			return append(dst, ']')
		})
	case *array.Struct:
		return orNull(a, jsonStruct(a))
	}
	return orNull(a, func(dst []byte, i int) []byte { return column.AppendJSONString(dst, []byte(a.ValueStr(i))) })
}

func orNull(a arrow.Array, value jsonValue) jsonValue {
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "null"...)
		}
		return value(dst, i)
	}
}

func jsonStruct(a *array.Struct) jsonValue {
	fields := a.DataType().(*arrow.StructType).Fields()
	children := make([]jsonValue, len(fields))
	names := make([]string, len(fields))
	for k, f := range fields {
		children[k] = jsonOf(a.Field(k), f.Metadata)
		if names[k] = f.Name; f.Name == "" { // row(1, 2)
			names[k] = "v" + strconv.Itoa(k+1)
		}
	}
	names = unique(names)
	return func(dst []byte, i int) []byte {
		for k, child := range children {
			dst = append(dst, "{,"[min(k, 1)])
			dst = append(column.AppendJSONString(dst, []byte(names[k])), ':')
			dst = child(dst, i)
		}
		return append(dst, '}')
	}
}

func jsonMap(a *array.Map) jsonValue {
	value := jsonOf(a.Items(), arrow.Metadata{})
	key, plain := mapKey(a.Keys())
	open, between, end := byte('{'), ":", "}"
	if !plain {
		key, open, between, end = jsonOf(a.Keys(), arrow.Metadata{}), '[', `,"value":`, "]"
	}
	return func(dst []byte, i int) []byte {
		from, to := a.ValueOffsets(i)
		dst = append(dst, open)
		for k := from; k < to; k++ {
			if k > from {
				dst = append(dst, ',')
			}
			if !plain {
				dst = append(dst, `{"key":`...)
			}
			dst = append(key(dst, int(k)), between...)
			dst = value(dst, int(k))
			if !plain {
				dst = append(dst, '}')
			}
		}
		return append(dst, end...)
	}
}

// mapKey writes plain keys as JSON strings.
func mapKey(a arrow.Array) (jsonValue, bool) {
	t, err := column.FromArrowType(a.DataType(), arrow.Metadata{})
	if err != nil {
		return nil, false
	}
	c, err := column.FromArrow(a, t)
	if err != nil {
		return nil, false
	}
	var text []byte
	return func(dst []byte, i int) []byte {
		text = column.AppendText(text[:0], &c, i)
		return column.AppendJSONString(dst, text)
	}, true
}

// refusedTypes are those whose Arrow form loses something: UHUGEINT comes as a signed decimal, TIMETZ
// without its zone, BIT and BIGNUM as DuckDB's own bytes, and a UNION does not tell what is in it.
var refusedTypes = []string{"UHUGEINT", "TIME_NS", "TIME WITH TIME ZONE", "TIMETZ", "BIT", "BIGNUM", "VARINT", "VARIANT", "UNION", "GEOMETRY", "TYPE", "UNKNOWN"}

// exactType says whether the values of a type of DuckDB's can be answered without loss.
func exactType(sqlType string) bool {
	rest := sqlType
	for rest != "" {
		if rest[0] == '"' { // the name of a STRUCT's field, quotes in it doubled
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return false
			}
			rest = rest[end+2:]
			continue
		}
		word := rest
		if i := strings.IndexAny(rest, "\",()[]"); i >= 0 {
			word = rest[:i]
		}
		if slices.Contains(refusedTypes, strings.TrimSpace(word)) {
			return false
		}
		rest = rest[max(len(word), 1):]
	}
	return true
}

// checkType refuses a column that no format can hold.
func checkType(name, sqlType string) error {
	if exactType(sqlType) {
		return nil
	}
	return &Problem{Status: http.StatusBadRequest, Slug: "unsupported-type", SQLState: "0A000", Column: name,
		Detail: "column " + name + " has type " + sqlType + ", whose values cannot be answered exactly", Hint: "cast it to VARCHAR or to another type"}
}
