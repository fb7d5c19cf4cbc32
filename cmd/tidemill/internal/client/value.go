package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Float returns a column as a number; NULL, text and what is not there are 0.
func (r Row) Float(column string) float64 {
	switch v := r[column].(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case string: // NaN and the infinities
		f, _ := strconv.ParseFloat(v, 64)
		return f
	}
	return 0
}

// Int returns a column as an integer; NULL, text and what is not there are 0.
func (r Row) Int(column string) int64 {
	n, ok := r[column].(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil { // a sum is a decimal without a fraction
		f, _ := n.Float64()
		return int64(f)
	}
	return i
}

// Text returns a column as SQL writes it, and NULL for what is not there.
func (r Row) Text(column string) string {
	switch v := r[column].(type) {
	case nil:
		return "NULL"
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// One runs a query that gives one row.
func (c *Client) One(ctx context.Context, sql string) (Row, error) {
	rows, err := c.SQL(ctx, sql)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("%s: %d rows instead of one", firstLine(sql), len(rows))
	}
	return rows[0], nil
}
