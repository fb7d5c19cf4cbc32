package expr

// MarkColumns sets used[i] for every input column i that e reads.
func MarkColumns(e *Expr, used []bool) {
	if e == nil {
		return
	}
	if e.Kind == Column {
		used[e.Col] = true
	}
	for _, a := range e.Args {
		MarkColumns(a, used)
	}
}
