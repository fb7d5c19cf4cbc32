package expr_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// duck is plain DuckDB: the oracle, and an Evaluator for what has no kernel. Its optimizer is off:
// that makes a call with an argument known to be NULL NULL, so that the errors of the other
// arguments are lost or not by the form of the expression and by statistics, and it moves
// subexpressions that can fail out of TRY to share them.
type duck struct {
	db    *sql.DB
	calls int // of Evaluate
}

func openDuck(t testing.TB) *duck {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET threads = 1; PRAGMA disable_optimizer"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &duck{db: db}
}

// literalOf is row i of c as SQL.
func literalOf(c *column.Column, i int) string {
	v := &expr.Value{Null: true}
	if !c.IsNull(i) {
		v = &expr.Value{Raw: c.Raw(i)}
	}
	return (&expr.Expr{Kind: expr.Constant, Type: c.Type, Const: v}).SQL(nil)
}

func colName(i int) string { return fmt.Sprintf("c%d", i) }

// values is a FROM item with the rows of cols and their number i.
func values(cols []column.Column, n int) string {
	var b strings.Builder
	b.WriteString("(VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "(%d", i)
		for c := range cols {
			b.WriteString(", " + literalOf(&cols[c], i))
		}
		b.WriteString(")")
	}
	b.WriteString(") t(i")
	for c := range cols {
		b.WriteString(", " + colName(c))
	}
	b.WriteString(")")
	return b.String()
}

func (d *duck) Evaluate(e *expr.Expr, inputs []column.Column, n int) (column.Column, *expr.RowErrors, error) {
	d.calls++
	return d.eval(e, values(inputs, n), n)
}

// eval evaluates e over a FROM item with n rows numbered i. TRY tells which rows fail; each of
// those is then asked for its message.
func (d *duck) eval(e *expr.Expr, from string, n int) (column.Column, *expr.RowErrors, error) {
	text := e.SQL(colName)
	rows, err := d.db.Query("SELECT TRY(struct_pack(v := " + text + ")) FROM " + from + " ORDER BY i")
	if err != nil {
		return column.Column{}, nil, fmt.Errorf("%w in %s", err, text)
	}
	defer rows.Close()
	b := column.NewBuilder(e.Type, n)
	var failed []int32
	for rows.Next() {
		var v any
		if err := rows.Scan(&v); err != nil {
			return column.Column{}, nil, err
		}
		if v == nil {
			failed = append(failed, int32(b.Len()))
			b.AppendNull()
			continue
		}
		appendValue(b, e.Type, v.(map[string]any)["v"])
	}
	if err := rows.Err(); err != nil {
		return column.Column{}, nil, fmt.Errorf("%w in %s", err, text)
	}
	var errs *expr.RowErrors
	for i, row := range failed {
		reason := "another row's"
		if i < 4 {
			var v any
			err := d.db.QueryRow(fmt.Sprintf("SELECT %s FROM %s WHERE i = %d", text, from, row)).Scan(&v)
			if reason = message(err); err == nil {
				reason = "TRY alone fails"
			}
		}
		if errs == nil {
			errs = &expr.RowErrors{}
		}
		errs.Rows, errs.Reasons = append(errs.Rows, row), append(errs.Reasons, reason)
	}
	return b.Finish(), errs, nil
}

// message is DuckDB's error without its kind and without the excerpt of the SQL.
func message(err error) string {
	var de *duckdb.Error
	if !errors.As(err, &de) {
		return fmt.Sprint(err)
	}
	s, _, _ := strings.Cut(de.Msg, "\n\nLINE ")
	if _, rest, ok := strings.Cut(s, " Error: "); ok {
		s = rest
	}
	s, _, _ = strings.Cut(s, " when casting from source column ")
	return s
}

func appendValue(b *column.Builder, t column.Type, v any) {
	switch x := v.(type) {
	case nil:
		b.AppendNull()
	case bool:
		u := uint8(0)
		if x {
			u = 1
		}
		column.Append(b, u)
	case int8:
		column.Append(b, x)
	case int16:
		column.Append(b, x)
	case int32:
		column.Append(b, x)
	case int64:
		column.Append(b, x)
	case uint8:
		column.Append(b, x)
	case uint16:
		column.Append(b, x)
	case uint32:
		column.Append(b, x)
	case uint64:
		column.Append(b, x)
	case float32:
		column.Append(b, x)
	case float64:
		column.Append(b, x)
	case *big.Int:
		column.Append(b, int128Of(x))
	case duckdb.Decimal:
		column.Append(b, int128Of(x.Value))
	case string:
		b.AppendString(x)
	case []byte:
		b.AppendRaw(x)
	case duckdb.UUID:
		b.AppendRaw(x[:])
	case duckdb.Interval:
		column.Append(b, column.IntervalValue{Months: x.Months, Days: x.Days, Micros: x.Micros})
	case time.Time:
		switch t.Kind {
		case column.Date:
			column.Append(b, int32(x.Unix()/86400))
		case column.Time:
			column.Append(b, x.Sub(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)).Microseconds())
		case column.TimestampS:
			column.Append(b, x.Unix())
		case column.TimestampMS:
			column.Append(b, x.UnixMilli())
		case column.TimestampNS:
			column.Append(b, x.UnixNano())
		default:
			column.Append(b, x.UnixMicro())
		}
	default:
		panic(fmt.Sprintf("value %T of %s", v, t))
	}
}

func int128Of(v *big.Int) column.Int128 {
	lo := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64))
	hi := new(big.Int).Rsh(v, 64)
	return column.Int128{Lo: lo.Uint64(), Hi: hi.Int64()}
}
