package viewtest

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// shrink leaves out what the failure does not need: operations, rows, parts of views. It returns the smallest history
// that fails in the same way, with its error; a nil error says that the history did not fail again.
func shrink(ops []operation, failure error, run func([]operation) error, deadline time.Time) ([]operation, error) {
	kind := kindOf(failure)
	var last error
	fails := func(ops []operation) bool {
		if time.Now().After(deadline) {
			return false
		}
		err := run(ops)
		if err != nil && kindOf(err) == kind {
			last = err
			return true
		}
		return false
	}
	if !fails(ops) {
		return ops, nil
	}
	for before := -1; before != size(ops); {
		before = size(ops)
		ops = leaveOut(ops, fails)
		for i := range ops {
			for again := true; again; {
				again = false
				for _, smaller := range smallerOps(&ops[i]) {
					try := append([]operation{}, ops...)
					try[i] = smaller
					if fails(try) {
						ops, again = try, true
						break
					}
				}
			}
		}
	}
	return ops, last
}

// kindOf is the first words of a failure: it must not become another one while it shrinks.
func kindOf(err error) string {
	words := strings.Fields(err.Error())
	return strings.Join(words[:min(2, len(words))], " ")
}

func size(ops []operation) int { return len(Script(ops)) }

// leaveOut is delta debugging over the operations.
func leaveOut(ops []operation, fails func([]operation) bool) []operation {
	for n := max(len(ops)/2, 1); ; n /= 2 {
		for at := 0; at < len(ops); {
			try := append(append([]operation{}, ops[:at]...), ops[min(at+n, len(ops)):]...)
			if len(try) < len(ops) && fails(try) {
				ops = try
			} else {
				at += n
			}
		}
		if n <= 1 {
			return ops
		}
	}
}

// smallerOps returns variants of an operation with a part left out.
func smallerOps(op *operation) (out []operation) {
	for i := range op.Appends {
		for _, rows := range smallerRows(&op.Appends[i]) {
			c := *op
			c.Appends = append([]insert{}, op.Appends...)
			c.Appends[i] = rows
			out = append(out, c)
		}
		if len(op.Appends) > 1 {
			c := *op
			c.Appends = append(append([]insert{}, op.Appends[:i]...), op.Appends[i+1:]...)
			out = append(out, c)
		}
	}
	if op.Insert != nil {
		for _, rows := range smallerRows(op.Insert) {
			c := *op
			c.Insert = &rows
			out = append(out, c)
		}
	}
	if op.Change != nil && len(op.Change.Set) > 1 {
		for i := range op.Change.Set {
			c, ch := *op, *op.Change
			ch.Set = maps.Clone(ch.Set)
			delete(ch.Set, i)
			c.Change = &ch
			out = append(out, c)
		}
	}
	if op.Block != nil {
		for i := range op.Block.Steps {
			c, b := *op, *op.Block
			b.Steps = without(op.Block.Steps, i)
			c.Block = &b
			if len(b.Steps) > 0 {
				out = append(out, c)
			}
			for _, step := range smallerOps(&op.Block.Steps[i]) {
				c, b := *op, *op.Block
				b.Steps = append([]operation{}, op.Block.Steps...)
				b.Steps[i] = step
				c.Block = &b
				out = append(out, c)
			}
		}
	}
	if op.View != nil {
		for _, b := range smallerBlocks(op.View.Block) {
			c, v := *op, *op.View
			v.Block = b
			c.View = &v
			out = append(out, c)
		}
	}
	return out
}

func smallerRows(in *insert) (out []insert) {
	cut := func(lo, hi int) {
		c := *in
		c.Rows = append(append([][]value{}, in.Rows[:lo]...), in.Rows[hi:]...)
		if in.Deleted != nil {
			c.Deleted = append(append([]bool{}, in.Deleted[:lo]...), in.Deleted[hi:]...)
		}
		out = append(out, c)
	}
	n := len(in.Rows)
	if n < 2 {
		return nil
	}
	cut(0, n/2)
	cut(n/2, n)
	if n <= 12 {
		for i := range in.Rows {
			cut(i, i+1)
		}
	}
	return out
}

func smallerBlocks(b *block) (out []*block) {
	add := func(change func(c *block)) {
		c := *b
		if change(&c); !c.hollow() {
			out = append(out, &c)
		}
	}
	for i := range b.Outs {
		if len(b.Outs) > 1 {
			add(func(c *block) { c.Outs = without(b.Outs, i); c.prune() })
		}
	}
	for i := range b.Where {
		add(func(c *block) { c.Where = without(b.Where, i) })
	}
	for i := range b.Having {
		add(func(c *block) { c.Having = without(b.Having, i); c.prune() })
	}
	if b.Distinct {
		add(func(c *block) { c.Distinct = false })
	}
	if b.Sets != "" {
		add(func(c *block) { c.Sets = "" })
	}
	for i, s := range b.From {
		if s.Block == nil {
			continue
		}
		for _, in := range smallerBlocks(s.Block) {
			add(func(c *block) {
				c.From = append([]source{}, b.From...)
				c.From[i].Block = in
			})
		}
	}
	for i := range b.Aggs {
		if b.Aggs[i].Filter != nil {
			add(func(c *block) {
				c.Aggs = append([]aggregate{}, b.Aggs...)
				c.Aggs[i].Filter = nil
			})
		}
	}
	return out
}

func without[T any](s []T, i int) []T { return append(append([]T{}, s[:i]...), s[i+1:]...) }

// Script writes operations as SQL, with comments for what is not.
func Script(ops []operation) string {
	return script(ops, map[string]*table{})
}

func script(ops []operation, tables map[string]*table) string {
	var b strings.Builder
	for _, op := range ops {
		switch {
		case op.Table != nil:
			tables[op.Table.Name] = op.Table
			fmt.Fprintf(&b, "%s;\n", op.Table.ddl(true))
		case op.View != nil:
			fmt.Fprintf(&b, "CREATE MATERIALIZED VIEW %s AS %s;\n", op.View.Name, op.View.Block.sql())
		case op.Drop != "":
			fmt.Fprintf(&b, "DROP %s; -- cascade: %v\n", op.Drop, op.Cascade)
		case op.Change != nil && tables[op.Change.Table] != nil:
			fmt.Fprintf(&b, "%s;\n", op.Change.sql(tables[op.Change.Table]))
		case op.Insert != nil:
			fmt.Fprintf(&b, "INSERT INTO %s %v VALUES %s;\n", op.Insert.Table, op.Insert.Cols, tuples(op.Insert.Rows))
		case op.Block != nil:
			end := "COMMIT"
			if op.Block.Rollback {
				end = "ROLLBACK"
			}
			fmt.Fprintf(&b, "BEGIN;\n%s%s;\n", script(op.Block.Steps, tables), end)
		case op.Restart:
			b.WriteString("-- restart\n")
		case op.Save:
			b.WriteString("CHECKPOINT;\n")
		}
		for _, in := range op.Appends {
			fmt.Fprintf(&b, "-- append, producer %q repeat %v gap %v deleted %v\nINSERT INTO %s VALUES %s;\n", in.Producer, in.Repeat, in.Gap, in.Deleted, in.Table, tuples(in.Rows))
		}
		if op.Crash != nil {
			fmt.Fprintf(&b, "-- crash %+v\n", *op.Crash)
		}
	}
	return b.String()
}
