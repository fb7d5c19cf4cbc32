package viewtest

import (
	"strings"
)

// transaction is statements between BEGIN and COMMIT, or ROLLBACK.
type transaction struct {
	Steps    []operation // with Change or Insert only
	Rollback bool
}

// transaction makes one over the tables that are there.
func (w *world) transaction() operation {
	t := &transaction{Rollback: w.r.IntN(5) == 0}
	for range 1 + w.r.IntN(4) {
		rel := pick(w.r, w.tables())
		switch w.r.IntN(3) {
		case 0:
			t.Steps = append(t.Steps, operation{Insert: w.insert(rel.table)})
		default:
			if op := w.change(rel); op.Change != nil {
				t.Steps = append(t.Steps, op)
			}
		}
	}
	return operation{Block: t}
}

// sql writes the statement of a Change or Insert as a user does, and the oracle's statements for it; "" when its
// table is not there.
func (x *runner) statement(op *operation) (string, []string) {
	switch {
	case op.Change != nil:
		if rel := x.find(op.Change.Table); rel != nil {
			x.touch(rel.name)
			return op.Change.sql(rel.table), op.Change.plain(rel.table)
		}
	case op.Insert != nil:
		if rel := x.find(op.Insert.Table); rel != nil {
			x.touch(rel.name)
			in := op.Insert
			return "INSERT INTO " + in.Table + " (" + strings.Join(rel.table.names(in.Cols), ", ") + ") VALUES " + tuples(in.Rows), rel.table.insert(in.Cols, in.Rows)
		}
	}
	return "", nil
}

// block runs a transaction on both sides.
func (x *runner) block(t *transaction) error {
	var stmts, plain []string
	for i := range t.Steps {
		if q, o := x.statement(&t.Steps[i]); q != "" {
			stmts, plain = append(stmts, q), append(plain, o...)
		}
	}
	if len(stmts) == 0 {
		return nil
	}
	end := "COMMIT"
	if t.Rollback {
		end = "ROLLBACK"
	}
	plain = append(plain, end)
	return x.both("BEGIN;\n"+strings.Join(stmts, ";\n")+";\n"+end, plain)
}

// unique is a statement of the oracle that fails when two rows of the table have one key.
func (t *table) unique() string {
	key := strings.Join(t.names(t.Key), ", ")
	return "SELECT error('two rows have one key') FROM (SELECT " + key + " FROM " + t.Name + " GROUP BY " + key + " HAVING count(*) > 1)"
}
