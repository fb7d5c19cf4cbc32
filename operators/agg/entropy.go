package agg

import (
	"math"

	"tidemill/operators/agg/exact"
	"tidemill/state/column"
)

// entropy is the entropy in bits of how often each value comes: log2(n) less the mean of log2 of the counts. NULLs do
// not count; of no rows it is 0. Values are equal as GROUP BY sees it; DuckDB counts NaNs and equal INTERVALs apart. Its result costs a step for each of the group's different values.
func entropy(m *multiset) (result, bool) {
	ok := m.spec.Result == column.T(column.Double)
	m.none = m.double(0)
	return func(slot int32) (string, error) {
		counts := map[string]int64{}
		n := int64(0)
		var kerr error
		err := m.each(slot, func(entry []byte, w int64) bool {
			var key string
			key, kerr = m.rows.keyOf(entry)
			counts[key] += w
			n += w
			return kerr == nil
		})
		if err == nil {
			err = kerr
		}
		if err != nil {
			return "", err
		}
		if n == 0 {
			return "", nil
		}
		var sum exact.Sum
		for _, c := range counts {
			p := float64(c) / float64(n)
			sum.Add(-p*math.Log2(p), 1)
		}
		return m.double(max(sum.Float64(), 0)), nil
	}, ok
}
