package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
)

var mutateSeed = flag.Uint64("mutate.seed", 1, "seed of TestDecodeMutatedPlans")

// TestDecodeMutatedPlans decodes plans of DuckDB in which a value was lost, copied from elsewhere or
// replaced: the answer is an *Error or a tree that is well formed, before and after the rules.
func TestDecodeMutatedPlans(t *testing.T) {
	t.Logf("seed %d", *mutateSeed)
	b := newBinder(t, fewDisabled)
	b.define("t", "a INTEGER, b BIGINT NOT NULL, s VARCHAR, d DOUBLE, m DECIMAL(18,3), bo BOOLEAN")
	var plans []any
	var donors [][]any
	for _, sql := range []string{
		"SELECT a + 1 AS x, s FROM t WHERE b > 3 AND a < 5 AND s LIKE 'ab%' AND bo",
		"SELECT s, count(*), sum(b), avg(d) FILTER (WHERE a > 1), count(DISTINCT a) FROM t GROUP BY s HAVING count(*) > 1",
		"WITH c AS MATERIALIZED (SELECT a, b FROM t WHERE b > 1) SELECT a FROM c UNION ALL SELECT b FROM c UNION ALL VALUES (1), (2)",
		"SELECT DISTINCT CASE WHEN bo THEN 'x' ELSE s END, a IN (1, 2, b), COALESCE(a, 1), TRY(s::INT), m::DECIMAL(10,2), 'nan'::DOUBLE FROM t ORDER BY 1",
		"SELECT list_contains([1, a + 2], b), {'x': a}.x, s->>'a' FROM t WHERE a BETWEEN 1 AND b",
		"SELECT sum(a) OVER () FROM t",
		"SELECT t.a FROM t LEFT JOIN t u ON t.a = u.a",
	} {
		text, err := b.Plan(sql, true)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(quoteFloats(text)))
		dec.UseNumber() // for indexes of 64 bits
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, v)
		donors = append(donors, collect(v, nil))
	}
	rng := rand.New(rand.NewPCG(*mutateSeed, 0))
	decoded := 0
	const mutations = 3000
	for i := range mutations {
		v := plans[i%len(plans)]
		for range 1 + rng.IntN(2) {
			donor := donors[rng.IntN(len(donors))]
			v = mutate(v, rng.IntN(size(v)), donor[rng.IntN(len(donor))], rng)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		n, err := Decode(text, b.lookup)
		var e *Error
		switch {
		case errors.As(err, &e):
			continue
		case err != nil:
			t.Fatalf("mutation %d: error of type %T: %v\n%s", i, err, err, text)
		}
		decoded++
		if err := check(n); err != nil {
			t.Fatalf("mutation %d decoded: %v\n%s", i, err, text)
		}
		if err := check(Optimize(n)); err != nil {
			t.Fatalf("mutation %d after the rules: %v\n%s\n%s", i, err, Explain(n, nil), text)
		}
	}
	t.Logf("%d of %d decoded", decoded, mutations)
}

// collect returns every value in v.
func collect(v any, out []any) []any {
	out = append(out, v)
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			out = collect(x, out)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			out = collect(v[k], out)
		}
	}
	return out
}

// size returns how many values collect finds in v.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			n += size(x)
		}
	case map[string]any:
		for _, x := range v {
			n += size(x)
		}
	}
	return n
}

// mutate returns a copy of v whose n-th value, in collect's order, is changed.
func mutate(v any, n int, donor any, rng *rand.Rand) any {
	if n == 0 {
		return change(v, donor, rng)
	}
	n--
	switch v := v.(type) {
	case []any:
		out := append([]any(nil), v...)
		for i, x := range v {
			if here := size(x); n < here {
				out[i] = mutate(x, n, donor, rng)
				return out
			} else {
				n -= here
			}
		}
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = x
		}
		for _, k := range sortedKeys(v) {
			if here := size(v[k]); n < here {
				out[k] = mutate(v[k], n, donor, rng)
				return out
			} else {
				n -= here
			}
		}
	}
	return v
}

func change(v, donor any, rng *rand.Rand) any {
	switch v := v.(type) {
	case json.Number:
		return rng.IntN(12) - 2
	case []any:
		if len(v) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(v))
			return append(append([]any(nil), v[:i]...), v[i+1:]...)
		}
		return append(append([]any(nil), v...), donor)
	case bool:
		return !v
	}
	if rng.IntN(3) == 0 {
		return nil
	}
	return donor
}
