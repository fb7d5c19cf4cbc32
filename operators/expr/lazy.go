package expr

import (
	"tidemill/state/column"
)

// pick is a value and the rows of the whole that it is for; rows that are nil mean all, and then
// later picks write over it.
type pick struct {
	v    vec
	rows []int32
}

// merge puts parts together to n rows; rows in no part are NULL.
func merge(t column.Type, n int, picks []pick) vec {
	which := make([]int32, n)
	at := make([]int32, n)
	for p, pk := range picks {
		if pk.rows == nil {
			for i := range n {
				which[i], at[i] = int32(p+1), int32(i)
			}
			if pk.v.konst {
				clear(at)
			}
			continue
		}
		for j, row := range pk.rows {
			which[row], at[row] = int32(p+1), int32(j)
			if pk.v.konst {
				at[row] = 0
			}
		}
	}
	out := column.Column{Type: t, N: n}
	switch t.Size() {
	case 0:
		b := column.NewBuilder(t, n)
		for i, p := range which {
			if p == 0 {
				b.AppendNull()
			} else {
				b.AppendFrom(&picks[p-1].v.Column, int(at[i]))
			}
		}
		return vec{Column: b.Finish()}
	case 1:
		out = mergeFixed[uint8](out, picks, which, at)
	case 2:
		out = mergeFixed[uint16](out, picks, which, at)
	case 4:
		out = mergeFixed[uint32](out, picks, which, at)
	case 8:
		out = mergeFixed[uint64](out, picks, which, at)
	case 16:
		out = mergeFixed[column.Int128](out, picks, which, at)
	}
	return vec{Column: out}
}

func mergeFixed[V column.Fixed](out column.Column, picks []pick, which, at []int32) column.Column {
	dst := make([]V, out.N)
	views := make([][]V, len(picks))
	nulls := false
	for i := range picks {
		views[i] = column.Values[V](&picks[i].v.Column)
		nulls = nulls || picks[i].v.Valid != nil
	}
	for i, p := range which {
		if p > 0 {
			dst[i] = views[p-1][at[i]]
		} else {
			nulls = true
		}
	}
	c := column.Of(out.Type, dst, nil)
	if nulls {
		c.Valid = column.NewBitmap(out.N, false)
		for i, p := range which {
			if p > 0 && !picks[p-1].v.IsNull(int(at[i])) {
				column.SetBit(c.Valid, i)
			}
		}
	}
	return c
}

// branch evaluates nd for some rows of f; rows that are nil mean all.
func (f *frame) branch(nd *node, rows []int32) (pick, *RowErrors, error) {
	if rows == nil || len(rows) == f.n {
		v, errs, err := f.eval(nd, true)
		return pick{v, rows}, errs, err
	}
	if nd.konst {
		v, errs, err := f.part(rows).eval(nd, true)
		return pick{v, rows}, errs.at(rows), err
	}
	v, errs, err := f.part(rows, nd).eval(nd, true)
	return pick{v, rows}, errs.at(rows), err
}

// runCase evaluates CASE: each condition for the rows that no earlier one took, each branch for
// the rows that take it. Errors of what is not evaluated do not exist.
func runCase(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	if nd.eager {
		return runEagerCase(f, nd, fresh)
	}
	rest := allRows(f.n)
	var errs *RowErrors
	var picks []pick
	take := func(branch *node, rows []int32) error {
		if len(rows) == 0 {
			return nil
		}
		pk, e, err := f.branch(branch, rows)
		picks, errs = append(picks, pk), MergeErrors(errs, e)
		return err
	}
	n := len(nd.args) &^ 1
	for i := 0; i < n && len(rest) > 0; i += 2 {
		cond, e, err := f.branch(nd.args[i], rest)
		if err != nil {
			return vec{}, nil, err
		}
		errs = MergeErrors(errs, e)
		yes, no := split(&cond.v, rest, e)
		if err := take(nd.args[i+1], yes); err != nil {
			return vec{}, nil, err
		}
		rest = no
	}
	if n < len(nd.args) {
		if err := take(nd.args[n], rest); err != nil {
			return vec{}, nil, err
		}
	}
	if len(picks) == 1 && len(picks[0].rows) == f.n {
		return picks[0].v, errs, nil
	}
	return merge(nd.typ, f.n, picks), errs, nil
}

// eagerCase reports whether it is cheaper to evaluate all of a CASE for all rows and to pick: when
// nothing can fail or is DuckDB's work, and values are of fixed width.
func eagerCase(nd *node) bool {
	if nd.e.Kind != Case || nd.calls > 0 || nd.fallible || nd.typ.Size() == 0 || len(nd.args) > 7 {
		return false
	}
	for _, a := range nd.args {
		if !a.fixedWidth() {
			return false
		}
	}
	return true
}

// fixedWidth reports whether nothing under nd computes a text.
func (nd *node) fixedWidth() bool {
	if nd.typ.Size() == 0 {
		return len(nd.args) == 0
	}
	for _, a := range nd.args {
		if !a.fixedWidth() {
			return false
		}
	}
	return true
}

func runEagerCase(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	vs := make([]vec, len(nd.args))
	nullable := len(nd.args)&1 == 0
	for i, a := range nd.args {
		v, _, err := f.eval(a, false)
		if err != nil {
			return v, nil, err
		}
		if v.konst {
			v = vec{Column: repeat(&v.Column, f.n)}
		}
		nullable = nullable || v.Valid != nil && (i&1 == 1 || i == len(nd.args)-1)
		vs[i] = v
	}
	k := &kcall{p: f.p, nd: nd, n: f.n, fresh: fresh}
	switch nd.typ.Size() {
	case 1:
		caseFixed[uint8](k, vs)
	case 2:
		caseFixed[uint16](k, vs)
	case 4:
		caseFixed[uint32](k, vs)
	case 8:
		caseFixed[uint64](k, vs)
	case 16:
		caseFixed[column.Int128](k, vs)
	}
	out := vec{Column: k.out, scratch: k.scratch}
	if nullable {
		out.Valid = caseValid(vs, f.n)
	}
	for i := range vs {
		f.release(&vs[i])
	}
	return out, nil, nil
}

// caseFixed writes the ELSE branch and then each branch, from the last, where its condition holds.
func caseFixed[V column.Fixed](k *kcall, vs []vec) {
	dst := outVals[V](k)
	n := len(vs) &^ 1
	if n < len(vs) {
		copy(dst, viewAs[V](&vs[n]))
	}
	for b := n - 2; b >= 0; b -= 2 {
		cond, valid, branch := vs[b].Data, vs[b].Valid, viewAs[V](&vs[b+1])
		branch, cond = branch[:len(dst)], cond[:len(dst)]
		if valid == nil {
			for i, t := range cond {
				if t&1 != 0 {
					dst[i] = branch[i]
				}
			}
			continue
		}
		for i, t := range cond {
			if t&(valid[i>>3]>>(i&7))&1 != 0 {
				dst[i] = branch[i]
			}
		}
	}
}

// caseValid is the validity of the branch that each row takes.
func caseValid(vs []vec, n int) []byte {
	out := column.NewBitmap(n, false)
	for i := range n {
		taken := -1
		for b := 0; b+1 < len(vs); b += 2 {
			if vs[b].Data[i]&1 != 0 && !vs[b].IsNull(i) {
				taken = b + 1
				break
			}
		}
		if taken < 0 && len(vs)&1 == 1 {
			taken = len(vs) - 1
		}
		if taken >= 0 && !vs[taken].IsNull(i) {
			column.SetBit(out, i)
		}
	}
	return out
}

// split parts rows by a condition's value: those where it is true, and the others without those
// where it failed.
func split(cond *vec, rows []int32, errs *RowErrors) (yes, no []int32) {
	if cond.konst {
		if errs != nil {
			return nil, nil
		}
		if !cond.IsNull(0) && cond.Data[0] != 0 {
			return rows, nil
		}
		return nil, rows
	}
	yes, no = make([]int32, len(rows)), make([]int32, len(rows))
	y, m := 0, 0
	vals := cond.Data
	for j, row := range rows {
		t := int(vals[j] & 1)
		if cond.Valid != nil {
			t &= int(cond.Valid[j>>3] >> (j & 7))
		}
		yes[y], no[m] = row, row
		y += t
		m += 1 - t
	}
	yes, no = yes[:y], no[:m]
	if errs != nil {
		kept := no[:0]
		e := 0
		for _, row := range no {
			for e < len(errs.Rows) && errs.Rows[e] < row {
				e++
			}
			if e == len(errs.Rows) || errs.Rows[e] != row {
				kept = append(kept, row)
			}
		}
		no = kept
	}
	return yes, no
}

// runCoalesce evaluates each argument for the rows where all earlier ones are NULL.
func runCoalesce(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	rest := allRows(f.n)
	var errs *RowErrors
	var picks []pick
	for _, a := range nd.args {
		pk, e, err := f.branch(a, rest)
		if err != nil {
			return vec{}, nil, err
		}
		errs = MergeErrors(errs, e)
		picks = append(picks, pk)
		var null []int32
		switch {
		case pk.v.konst && pk.v.IsNull(0):
			null = rest
		case !pk.v.konst && pk.v.Valid != nil:
			for j, row := range rest {
				if pk.v.IsNull(j) {
					null = append(null, row)
				}
			}
		}
		if e != nil {
			_, null = split(&vec{Column: column.Nulls(column.T(column.Bool), len(null))}, null, e)
		}
		if rest = null; len(rest) == 0 {
			break
		}
	}
	if len(picks) == 1 {
		return picks[0].v, errs, nil
	}
	return merge(nd.typ, f.n, picks), errs, nil
}

func allRows(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// runTry turns errors into the NULLs that already stand in their rows.
func runTry(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	v, errs, err := f.eval(nd.args[0], fresh)
	if errs != nil && v.konst {
		v.Column = column.Nulls(nd.typ, 1)
	}
	return v, nil, err
}
