package duck

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"tidemill/state/column"
)

// benchRows is the size of the relation that is scanned.
const benchRows = 5_000_000

func benchExec(b *testing.B) (*Exec, tables) {
	x := openTestExec(b)
	define(b, x, "r", field("k", column.Int64), field("v", column.Double), field("s", column.Varchar))
	const per = 122_880
	var chunks Chunks
	for at := 0; at < benchRows; at += per {
		n := min(per, benchRows-at)
		ks, vs, ss := make([]int64, n), make([]float64, n), column.NewBuilder(column.T(column.Varchar), n)
		for i := range ks {
			ks[i], vs[i] = int64(at+i), float64(i)
			ss.AppendString("BTC-USDT" + strconv.Itoa(i%100))
		}
		chunks = append(chunks, Chunk{Cols: []column.Column{ints(ks...), column.Of(column.T(column.Double), vs, nil), ss.Finish()}, N: n, BaseRowID: uint64(at)})
	}
	return x, tables{"r": chunks}
}

func benchQuery(b *testing.B, sql string) {
	x, snap := benchExec(b)
	b.ReportAllocs()
	for b.Loop() {
		read(b, x, sql, snap)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkScanSum(b *testing.B)   { benchQuery(b, "SELECT sum(v) FROM r") }
func BenchmarkScanGroup(b *testing.B) { benchQuery(b, "SELECT s, avg(v) FROM r GROUP BY s") }
func BenchmarkScanCount(b *testing.B) { benchQuery(b, "SELECT count(*) FROM r") }

// The first batch of a large result, and its close.
func BenchmarkFirstBatch(b *testing.B) {
	x, snap := benchExec(b)
	b.ReportAllocs()
	for b.Loop() {
		r, err := x.Query(context.Background(), "SELECT * FROM r", nil, snap)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := r.NextColumns(); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func BenchmarkSmallSelect(b *testing.B) {
	x := openTestExec(b)
	define(b, x, "r", field("k", column.Int64), field("s", column.Varchar))
	snap := tables{"r": {{Cols: []column.Column{ints(1, 2, 3), column.OfStrings(column.T(column.Varchar), []string{"a", "b", "c"})}, N: 3}}}
	b.ReportAllocs()
	for b.Loop() {
		read(b, x, "SELECT s, k + 1 FROM r WHERE k > 1 ORDER BY s", snap)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			v := openTestEvaluator(b)
			in := column.NewBuilder(column.T(column.Varchar), n)
			for i := range n {
				in.AppendString("some text " + strconv.Itoa(i))
			}
			cols := []column.Column{in.Finish()}
			e := opaque("regexp_replace({0}, '[0-9]+', 'x')", column.Varchar, col(0, column.T(column.Varchar)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := v.Evaluate(e, cols, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlan(b *testing.B) {
	p := openTestPlanner(b)
	for b.Loop() {
		if _, err := p.Plan("SELECT auction, count(*), sum(price) FROM bid WHERE price > 10 GROUP BY auction", true); err != nil {
			b.Fatal(err)
		}
	}
}

// residentKB reads the process's resident memory where the system tells it.
func residentKB(b *testing.B) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return n
}

// Opening an instance: time, and resident memory while it is open.
func BenchmarkOpen(b *testing.B) {
	open := map[string]func() func(){
		"planner": func() func() {
			p, err := OpenPlanner()
			if err != nil {
				b.Fatal(err)
			}
			return p.Close
		},
		"exec": func() func() { return openExecForBench(b) },
		"evaluator": func() func() {
			v := OpenEvaluator()
			if err := v.open(); err != nil {
				b.Fatal(err)
			}
			return v.Close
		},
	}
	for _, name := range []string{"planner", "exec", "evaluator"} {
		b.Run(name, func(b *testing.B) {
			before, after := residentKB(b), 0
			for b.Loop() {
				closeIt := open[name]()
				if after == 0 {
					after = residentKB(b)
				}
				b.StopTimer()
				closeIt()
				b.StartTimer()
			}
			b.ReportMetric(float64(after-before), "KB-first")
		})
	}
}

func openExecForBench(b *testing.B) func() {
	x, err := OpenExec(Options{Threads: 2, MemoryLimit: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	return x.Close
}
