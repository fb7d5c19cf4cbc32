package agg

// pickFirst is first, any_value and arg_min, and arg_max whose order is turned: the argument of the group's first row
// in the stated order, else in that of the argument. Its result costs a search in the trace.
func pickFirst(m *multiset) (result, bool) {
	return m.pick(func(t Trace) finder { return t.First }), m.sameType()
}

// pickLast is last.
func pickLast(m *multiset) (result, bool) {
	return m.pick(func(t Trace) finder { return t.Last }), m.sameType()
}

type finder func(slot int32) (value []byte, ok bool, err error)

func (m *multiset) pick(which func(Trace) finder) result {
	return func(slot int32) (string, error) {
		entry, ok, err := which(m.trace)(slot)
		if !ok || err != nil {
			return "", err
		}
		return string(m.rows.argsOf(entry)), nil
	}
}

// sameType reports whether the result is one of the arguments.
func (m *multiset) sameType() bool { return m.spec.Result == m.spec.Args[0] }
