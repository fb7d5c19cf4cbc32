package httpd

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemill/state/column"
	"tidemill/views/duck"
)

// nestedSource gives the rows of a query with columns of types that package column lacks. The numbers in
// lists and structs keep all their digits as those in plain columns do: arrow-go's own JSON would turn
// decimals to strings and fail on NaN.
type nestedSource struct {
	rows   *duck.Rows
	values []jsonValue
}

// jsonValue appends the value at row i as JSON.
type jsonValue func(dst []byte, i int) []byte

func (q *nestedSource) load() (int, error) {
	rec, err := q.rows.NextArrow()
	if err != nil {
		return 0, err
	}
	// The closures of the batch before are dropped with it: nothing here is released, since the batch's
	// memory is its own and finalizers free it.
	defer rec.Release()
	q.values = q.values[:0]
	for i := range int(rec.NumCols()) {
		q.values = append(q.values, jsonOf(rec.Column(i), rec.Schema().Field(i).Metadata))
	}
	return int(rec.NumRows()), nil
}

func (q *nestedSource) value(dst []byte, col, row int) []byte { return q.values[col](dst, row) }

// jsonOf returns how the values of an array are written: a LIST or ARRAY as an array, a STRUCT as an object,
// a MAP as an object when its keys are plain and as an array of {"key","value"} otherwise, a UNION as the
// value that it holds. What has no form of its own is the text that arrow-go has for it.
func jsonOf(a arrow.Array, meta arrow.Metadata) jsonValue {
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
	case array.Union:
		return jsonUnion(a)
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

func jsonUnion(a array.Union) jsonValue {
	children := make([]jsonValue, a.NumFields())
	for k := range children {
		children[k] = jsonOf(a.Field(k), arrow.Metadata{})
	}
	dense, _ := a.(*array.DenseUnion)
	return func(dst []byte, i int) []byte {
		child := children[a.ChildID(i)]
		if dense != nil {
			i = int(dense.ValueOffset(i))
		}
		return child(dst, i)
	}
}
