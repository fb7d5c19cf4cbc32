package duck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// maxPrepared bounds the prepared expressions kept; the one used longest ago goes first.
const maxPrepared = 512

// maxReasons bounds the failing rows of one call that are evaluated alone for their own message, at
// some 50 microseconds each. Rows with equal inputs count once. A batch with more different failures
// than this is data of another kind than expected: its other rows get manyReasons.
const maxReasons = 1024

const manyReasons = "the expression cannot be evaluated (one of too many different failures in one batch)"

// Evaluator is expr.Evaluator by DuckDB. It is safe for concurrent use; calls take turns. Its instance
// is opened by the first call. Rows keep their order and a value depends on its row alone: the
// instance has one thread, and each row carries its ordinal through.
type Evaluator struct {
	mu       sync.Mutex // guards everything
	in       *instance
	conn     *conn
	closed   bool
	clock    uint64
	prepared map[string]*prepared
}

var _ expr.Evaluator = (*Evaluator)(nil)

// prepared is an expression over inputs of given types.
type prepared struct {
	name   string // of the relation that stands for the inputs
	sql    string
	plain  m.PreparedStatement // ordinal and value; fails when a row does
	tried  m.PreparedStatement // ordinal and TRY({v: value}), made at the first failure
	notTry bool                // TRY does not take the expression
	used   uint64
}

// OpenEvaluator returns an evaluator; DuckDB is opened when it is first used.
func OpenEvaluator() *Evaluator { return &Evaluator{prepared: map[string]*prepared{}} }

// Close frees the instance. Later calls return ErrClosed.
func (v *Evaluator) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	if v.in == nil {
		return
	}
	for _, p := range v.prepared {
		p.destroy()
	}
	v.conn.close()
	v.in.close()
	v.in = nil
}

func (p *prepared) destroy() {
	m.DestroyPrepare(&p.plain)
	if p.tried.Ptr != nil {
		m.DestroyPrepare(&p.tried)
	}
}

// Evaluate implements expr.Evaluator. A row's reason is DuckDB's message for that row alone. The
// error is of the machinery: an expression that does not bind, a type that columns cannot hold, a
// lack of memory.
func (v *Evaluator) Evaluate(e *expr.Expr, inputs []column.Column, n int) (column.Column, *expr.RowErrors, error) {
	if !e.Type.Valid() {
		return column.Column{}, nil, fmt.Errorf("evaluate expression: its type is not supported")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.open(); err != nil {
		return column.Column{}, nil, err
	}
	p, err := v.prepare(e.SQL(inputName), inputs)
	if err != nil {
		return column.Column{}, nil, fmt.Errorf("evaluate expression: %w", err)
	}
	r := &evaluation{v: v, p: p, t: e.Type, inputs: inputs, used: usedColumns(e, nil), known: map[string]string{}}
	out, errs, err := r.all(n)
	if err != nil {
		return column.Column{}, nil, fmt.Errorf("evaluate expression: %w", err)
	}
	return out, errs, nil
}

func inputName(i int) string { return fmt.Sprintf("c%d", i) }

func (v *Evaluator) open() error {
	if v.closed {
		return ErrClosed
	}
	if v.in != nil {
		return nil
	}
	in, err := openInstance(settings{threads: 1})
	if err != nil {
		return err
	}
	if v.conn, err = in.connect(); err != nil {
		in.close()
		return err
	}
	// The optimiser shares and folds what can fail out of TRY, and drops errors that we must see.
	if err := v.conn.exec("PRAGMA disable_optimizer"); err != nil {
		v.conn.close()
		in.close()
		return err
	}
	v.in = in
	return nil
}

// prepare returns the prepared form of an expression's SQL over columns of the inputs' types.
func (v *Evaluator) prepare(sql string, inputs []column.Column) (*prepared, error) {
	var b strings.Builder
	for i := range inputs {
		b.WriteString(inputs[i].Type.String())
		b.WriteByte(';')
	}
	name := b.String()
	v.clock++
	if p, ok := v.prepared[name+sql]; ok {
		p.used = v.clock
		return p, nil
	}
	fields := make([]column.Field, len(inputs))
	for i := range inputs {
		fields[i] = column.Field{Name: inputName(i), Type: inputs[i].Type}
	}
	v.in.define(name, fields)
	p := &prepared{name: name, sql: sql, used: v.clock}
	var err error
	if p.plain, err = v.conn.prepare(p.query(sql)); err != nil {
		return nil, err
	}
	if len(v.prepared) >= maxPrepared {
		v.evict()
	}
	v.prepared[name+sql] = p
	return p, nil
}

func (p *prepared) query(value string) string {
	return `SELECT "` + rowIDColumn + `", ` + value + ` FROM tidemill_scan_rowid(` + QuoteString(p.name) + `)`
}

func (v *Evaluator) evict() {
	var oldest string
	for k, p := range v.prepared {
		if oldest == "" || p.used < v.prepared[oldest].used {
			oldest = k
		}
	}
	v.prepared[oldest].destroy()
	delete(v.prepared, oldest)
}

func usedColumns(e *expr.Expr, cols []int) []int {
	if e.Kind == expr.Column {
		for _, c := range cols {
			if c == e.Col {
				return cols
			}
		}
		return append(cols, e.Col)
	}
	for _, a := range e.Args {
		cols = usedColumns(a, cols)
	}
	return cols
}

// evaluation is one call of Evaluate.
type evaluation struct {
	v      *Evaluator
	p      *prepared
	t      column.Type
	inputs []column.Column
	used   []int
	known  map[string]string // reasons by the row's inputs
}

// batch is rows lo to hi of the inputs as a snapshot; row lo has the ordinal 0.
type batch struct {
	cols []column.Column
	n    int
}

func (b batch) Relation(string) (Chunks, error) { return Chunks{{Cols: b.cols, N: b.n}}, nil }

func (r *evaluation) slice(lo, hi int) batch {
	b := batch{cols: make([]column.Column, len(r.inputs)), n: hi - lo}
	for i := range r.inputs {
		b.cols[i] = r.inputs[i].Slice(lo, hi)
	}
	return b
}

// all evaluates the whole in one go, and when that fails finds out which rows did.
func (r *evaluation) all(n int) (column.Column, *expr.RowErrors, error) {
	if n == 0 {
		return column.Nulls(r.t, 0), nil, nil
	}
	out, err := r.run(r.p.plain, r.slice(0, n), false)
	if err == nil {
		return out.value, nil, nil
	}
	if !ofData(err) {
		return column.Column{}, nil, err
	}
	out, err = r.try(n)
	switch {
	case err != nil && ofData(err):
		return r.halves(n)
	case err != nil:
		return column.Column{}, nil, err
	}
	errs := &expr.RowErrors{}
	for _, i := range out.failed {
		reason, err := r.reason(int(i))
		if err != nil {
			return column.Column{}, nil, err
		}
		errs.Rows, errs.Reasons = append(errs.Rows, i), append(errs.Reasons, reason)
	}
	return out.value, errs, nil
}

// ofData reports whether an error can be a row's: all that DuckDB raises while it computes values.
func ofData(err error) bool {
	var e *SQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case "Conversion", "Out of Range", "Invalid Input", "Divide by Zero", "Invalid Type", "Mismatch Type",
		"Not Implemented", "Expression", "Executor", "Decimal", "Object Size", "Invalid":
		return true
	}
	return false
}

// try evaluates with each row's failure caught: TRY({v: e}) is NULL where e fails and {v: NULL}
// where e is NULL.
func (r *evaluation) try(n int) (evaluated, error) {
	refused := &SQLError{Kind: "Invalid", Position: -1}
	if r.p.notTry {
		return evaluated{}, refused
	}
	if r.p.tried.Ptr == nil {
		stmt, err := r.v.conn.prepare(r.p.query("TRY(struct_pack(v := " + r.p.sql + "))"))
		if err != nil {
			r.p.notTry = true
			return evaluated{}, refused
		}
		r.p.tried = stmt
	}
	return r.run(r.p.tried, r.slice(0, n), true)
}

// reason returns the message of a row that failed.
func (r *evaluation) reason(i int) (string, error) {
	key := r.key(i)
	if s, ok := r.known[key]; ok {
		return s, nil
	}
	if len(r.known) >= maxReasons {
		return manyReasons, nil
	}
	_, err := r.run(r.p.plain, r.slice(i, i+1), false)
	if err == nil {
		return "", fmt.Errorf("row %d fails in a batch and not alone", i)
	}
	var e *SQLError
	if !ofData(err) || !errors.As(err, &e) {
		return "", err
	}
	r.known[key] = reasonText(e)
	return r.known[key], nil
}

// reasonText is an error's message without the names that the inputs have here.
func reasonText(e *SQLError) string {
	s := e.Message
	if i := strings.LastIndex(s, " when casting from source column c"); i >= 0 {
		s = s[:i]
	}
	return s
}

// key is the used inputs of row i, so that equal rows share a message.
func (r *evaluation) key(i int) string {
	var b []byte
	for _, c := range r.used {
		col := &r.inputs[c]
		if col.IsNull(i) {
			b = append(b, 0)
			continue
		}
		raw := col.Raw(i)
		b = append(b, 1, byte(len(raw)), byte(len(raw)>>8), byte(len(raw)>>16), byte(len(raw)>>24))
		b = append(b, raw...)
	}
	return string(b)
}

// halves finds the failing rows by evaluating halves, for the few expressions that TRY does not take
// or whose errors it does not catch.
func (r *evaluation) halves(n int) (column.Column, *expr.RowErrors, error) {
	errs := &expr.RowErrors{}
	out := column.NewBuilder(r.t, n)
	var visit func(lo, hi int) error
	visit = func(lo, hi int) error {
		got, err := r.run(r.p.plain, r.slice(lo, hi), false)
		switch {
		case err == nil:
			out.AppendColumn(&got.value)
			return nil
		case !ofData(err):
			return err
		case hi-lo > 1:
			mid := lo + (hi-lo)/2
			if err := visit(lo, mid); err != nil {
				return err
			}
			return visit(mid, hi)
		}
		var e *SQLError
		errors.As(err, &e)
		out.AppendNull()
		errs.Rows, errs.Reasons = append(errs.Rows, int32(lo)), append(errs.Reasons, reasonText(e))
		return nil
	}
	if err := visit(0, n); err != nil {
		return column.Column{}, nil, err
	}
	return out.Finish(), errs, nil
}

// evaluated is a statement's output in the order of the rows.
type evaluated struct {
	value  column.Column
	failed []int32 // rows that TRY caught
}

// run executes one of the two statements over b. With tried the value is a struct around it.
func (r *evaluation) run(stmt m.PreparedStatement, b batch, tried bool) (evaluated, error) {
	rows, err := r.v.conn.run(context.Background(), execution{sql: r.p.sql, stmt: stmt, q: &query{snap: b}, allowed: anyStatement, release: keepConn})
	if err != nil {
		return evaluated{}, unplaced(err)
	}
	defer rows.Close()
	if !tried && rows.fields[1].Type != r.t {
		return evaluated{}, fmt.Errorf("DuckDB gives %s, the plan says %s", rows.fields[1].SQLType, r.t)
	}
	ordinals, values := newCollector(column.T(column.UInt64)), newCollector(r.t)
	var out evaluated
	for {
		chunk, n, err := rows.fetch()
		if err == io.EOF {
			break
		}
		if err != nil {
			return evaluated{}, unplaced(err)
		}
		vec := m.DataChunkGetVector(chunk, 1)
		if tried {
			out.failed = appendNulls(out.failed, vec, values.n, n)
			vec = m.StructVectorGetChild(vec, 0)
		}
		err = errors.Join(ordinals.add(m.DataChunkGetVector(chunk, 0), n), values.add(vec, n))
		m.DestroyDataChunk(&chunk)
		if err != nil {
			return evaluated{}, err
		}
	}
	if values.n != b.n {
		return evaluated{}, fmt.Errorf("%d rows came back and not %d", values.n, b.n)
	}
	ord := ordinals.finish()
	for i, o := range column.Values[uint64](&ord) {
		if o != uint64(i) {
			return evaluated{}, fmt.Errorf("row %d came back in the place of row %d", o, i)
		}
	}
	out.value = values.finish()
	for _, i := range out.failed {
		if !out.value.IsNull(int(i)) {
			return evaluated{}, fmt.Errorf("row %d failed and has a value", i)
		}
	}
	return out, nil
}
