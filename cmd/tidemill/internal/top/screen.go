package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/table"
)

// order is how relations are sorted.
type order byte

const (
	byName   order = 'n'
	byRows   order = 'r'
	byMemory order = 'm'
	bySpeed  order = 's'
)

// view is how a screen is drawn.
type view struct {
	where         string
	width, height int // 0 for no bound
	unicode       bool
	color         bool
	order         order
}

// render draws the server between two samples; before is nil at first.
func render(before, now *sample, v view) string {
	var b strings.Builder
	for _, line := range head(before, now, v) {
		if v.width > 0 {
			line = table.Cut(line, v.width)
		}
		b.WriteString(line + "\n")
	}
	rels := relations(before, now, v.order)
	hidden := 0
	if room := v.height - strings.Count(b.String(), "\n") - 6; v.height > 0 && len(rels) > max(room, 1) {
		hidden = len(rels) - max(room, 1)
		rels = rels[:max(room, 1)]
	}
	_ = table.Strings(&b, []string{"relation", "kind", "rows", "groups", "change/s", "rejects", "memory"},
		[]bool{false, false, true, true, true, true, true}, rels, table.Options{Width: v.width, Unicode: v.unicode, Color: v.color}) // a Builder takes everything
	s := b.String()
	if hidden > 0 {
		s = strings.TrimSuffix(s, "\n") + fmt.Sprintf(", %d more\n", hidden)
	}
	return s
}

// head is the lines above the relations.
func head(before, now *sample, v view) []string {
	st := now.stats
	status := ""
	if st.Checkpointing {
		status = "  checkpointing"
	}
	if st.Failed != "" {
		status = "  STOPPED: " + table.Clean(st.Failed)
	}
	lines := []string{fmt.Sprintf("tidemill %s  commit %s  %s%s", v.where, table.Group(int64(st.Commit)), now.at.Format(time.TimeOnly), status)}
	old := &sample{at: now.at.Add(-time.Second), stats: &client.Stats{}}
	if before != nil {
		old = before
	} else {
		*old.stats = *st // nothing has happened yet
		old.calls = now.calls
	}
	sec := max(now.at.Sub(old.at).Seconds(), 1e-3)
	commits := st.Commits - old.stats.Commits
	work := ""
	if commits > 0 {
		work = fmt.Sprintf("  step %s  sync %s a commit", millis((st.StepSeconds-old.stats.StepSeconds)/float64(commits)), millis((st.SyncSeconds-old.stats.SyncSeconds)/float64(commits)))
	}
	lines = append(lines, fmt.Sprintf("appended  %s rows/s  %s/s  %s commits/s%s", table.Rate(float64(st.Rows-old.stats.Rows)/sec),
		size(float64(st.Bytes-old.stats.Bytes)/sec), table.Rate(float64(commits)/sec), work))
	var calls []string
	for _, call := range []string{"append", "sql", "lookup"} {
		h := now.calls[call].since(old.calls[call])
		if h.total() == 0 {
			calls = append(calls, call+" 0/s")
			continue
		}
		calls = append(calls, fmt.Sprintf("%s %s/s p50 %s p99 %s", call, table.Rate(h.total()/sec), millis(h.quantile(0.5).Seconds()), millis(h.quantile(0.99).Seconds())))
	}
	lines = append(lines, "requests  "+strings.Join(calls, ", ")+fmt.Sprintf(", %d waiting", st.Queue))
	return append(lines, "memory    "+memory(st)+fmt.Sprintf("  log %s  state %s", size(float64(st.LogBytes)), size(float64(st.StateBytes))))
}

func size(bytes float64) string {
	return cmp.Or(table.Bytes(int64(bytes)), "0 B")
}

func millis(seconds float64) string { return fmt.Sprintf("%.1f ms", 1e3*seconds) }

func memory(st *client.Stats) string {
	var total int64
	var parts []string
	for _, name := range slices.Sorted(mapKeys(st.Memory)) {
		total += st.Memory[name]
		if st.Memory[name] > 0 {
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+table.Bytes(st.Memory[name]))
		}
	}
	s := fmt.Sprintf("%s of %s", size(float64(total)), size(float64(st.MemoryLimit)))
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	return s
}

func mapKeys(m map[string]int64) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// relations are the rows of the table.
func relations(before, now *sample, o order) [][]string {
	speed := map[uint32]float64{}
	if before != nil {
		sec := max(now.at.Sub(before.at).Seconds(), 1e-3)
		for _, r := range before.stats.Relations {
			speed[r.ID] = float64(-r.Rows-r.Groups) / sec
		}
		for _, r := range now.stats.Relations {
			if _, was := speed[r.ID]; was {
				speed[r.ID] += float64(r.Rows+r.Groups) / sec
			}
		}
	}
	rels := slices.Clone(now.stats.Relations)
	slices.SortFunc(rels, func(a, b client.RelationStats) int {
		c := 0
		switch o {
		case byRows:
			c = cmp.Compare(b.Rows+b.Groups, a.Rows+a.Groups)
		case byMemory:
			c = cmp.Compare(b.Bytes, a.Bytes)
		case bySpeed:
			c = cmp.Compare(speed[b.ID], speed[a.ID])
		}
		return cmp.Or(c, strings.Compare(a.Name, b.Name))
	})
	out := make([][]string, len(rels))
	for i, r := range rels {
		out[i] = []string{r.Name, r.Kind, number(r.Rows), number(r.Groups), change(speed[r.ID]), number(r.Rejects), table.Bytes(r.Bytes)}
	}
	return out
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return table.Group(n)
}

func change(perSecond float64) string {
	switch {
	case perSecond > 0.05:
		return "+" + table.Rate(perSecond)
	case perSecond < -0.05:
		return "-" + table.Rate(-perSecond)
	}
	return ""
}
