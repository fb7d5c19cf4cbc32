package expr

import "tidemill/state/column"

func runGreatest(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	return extremes(f, nd, opGT)
}

func runLeast(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	return extremes(f, nd, opLT)
}

// extremes is greatest or least: of the arguments that are not NULL, the first that no other beats.
// Between 0 and -0, which are equal, DuckDB takes the first or the last by the form of its vectors.
func extremes(f *frame, nd *node, better comparison) (vec, *RowErrors, error) {
	var best vec
	var errs *RowErrors
	wins := make([]uint8, f.n)
	cmp := comparerOf(nd.typ)
	for i, a := range nd.args {
		v, e, err := f.eval(a, true)
		if err != nil {
			return v, nil, err
		}
		errs = MergeErrors(errs, e)
		if v.konst {
			v = vec{Column: repeat(&v.Column, f.n)}
		}
		if i == 0 {
			best = v
			continue
		}
		cmp(better, wins, &v, &best)
		var rows []int32
		for i, w := range wins {
			if !v.IsNull(i) && (w != 0 || best.IsNull(i)) {
				rows = append(rows, int32(i))
			}
		}
		if len(rows) > 0 {
			best = merge(nd.typ, f.n, []pick{{v: best}, {v: vec{Column: v.Gather(rows)}, rows: rows}})
		}
	}
	best.mask(errs, f.n)
	return best, errs, nil
}

// runConcat joins the texts that are not NULL.
func runConcat(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	args := make([]vec, len(nd.args))
	var errs *RowErrors
	for i, a := range nd.args {
		v, e, err := f.eval(a, true)
		if err != nil {
			return v, nil, err
		}
		errs = MergeErrors(errs, e)
		args[i] = v
	}
	offs := make([]int32, f.n+1)
	var b []byte
	for row := range f.n {
		for i := range args {
			if a := &args[i]; !a.nullAt(row) {
				if a.konst {
					b = append(b, a.Bytes(0)...)
				} else {
					b = append(b, a.Bytes(row)...)
				}
			}
		}
		offs[row+1] = int32(len(b))
	}
	out := vec{Column: column.Column{Type: nd.typ, N: f.n, Data: b, Offsets: offs}}
	if errs != nil {
		b := column.NewBuilder(nd.typ, f.n)
		for row := range f.n {
			if _, failed := errs.reason(int32(row)); failed {
				b.AppendNull()
			} else {
				b.AppendRaw(out.Bytes(row))
			}
		}
		out.Column = b.Finish()
	}
	return out, errs, nil
}
