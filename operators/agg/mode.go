package agg

// mostFrequent is mode: the value that most of the group's rows have; of several, the one whose first row comes first.
// Values are equal as GROUP BY sees it; DuckDB's mode counts each NaN apart. Its result costs a step for each of the group's different values.
func mostFrequent(m *multiset) (result, bool) {
	return func(slot int32) (string, error) {
		type seen struct {
			n  int64
			at int
		}
		counts, shown := map[string]*seen{}, []string(nil)
		var ferr error
		err := m.each(slot, func(entry []byte, w int64) bool {
			var key string
			if key, ferr = m.rows.keyOf(entry); ferr != nil {
				return false
			}
			s := counts[key]
			if s == nil { // of equal values that differ in their bits the first one is shown
				s = &seen{at: len(shown)}
				counts[key] = s
				var v string
				if v, ferr = m.argument(entry); ferr != nil {
					return false
				}
				shown = append(shown, v)
			}
			s.n += w
			return true
		})
		if err == nil {
			err = ferr
		}
		if err != nil || len(shown) == 0 {
			return "", err
		}
		best := &seen{}
		for _, s := range counts {
			if s.n > best.n || s.n == best.n && s.at < best.at {
				best = s
			}
		}
		return shown[best.at], nil
	}, m.sameType()
}
