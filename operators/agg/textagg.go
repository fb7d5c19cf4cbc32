package agg

import "tidemill/state/column"

// joinTexts is string_agg: the texts in their order with the separator between them. Its result costs a step for each
// of the group's rows, as many as the text that is shown has parts.
func joinTexts(m *multiset) (result, bool) {
	ok := m.spec.Args[0].Kind == column.Varchar && m.sameType()
	sep := m.spec.Params.Separator
	return func(slot int32) (string, error) {
		col, w, err := m.values(slot)
		if err != nil || len(w) == 0 {
			return "", err
		}
		size := int64(-len(sep))
		for i, n := range w {
			one := int64(len(col.Bytes(i)) + len(sep))
			if n > maxResultBytes/max(one, 1)+1 || size+n*one > maxResultBytes {
				return bad("string_agg is longer than %d bytes", maxResultBytes), nil
			}
			size += n * one
		}
		text := make([]byte, 0, size)
		first := true
		for i, n := range w {
			for range n {
				if !first {
					text = append(text, sep...)
				}
				first = false
				text = append(text, col.Bytes(i)...)
			}
		}
		return m.encode(column.OfStrings(m.spec.Result, []string{string(text)})), nil
	}, ok
}
