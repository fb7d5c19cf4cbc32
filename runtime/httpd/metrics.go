package httpd

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tidemill/views/catalog"
)

// metrics counts requests. What a request adds to is found by index: looking labels up would cost it more
// than routing.
type metrics struct {
	seconds [routes]prometheus.Observer
	classes [routes][6]prometheus.Counter // by the first digit of the status; 0 is an answer that broke off
}

// requestBuckets go from a lookup to a long query.
var requestBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}

func newMetrics(reg prometheus.Registerer, status Status) (*metrics, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tidemill_http_requests_total",
		Help: "Requests answered, by call and class of status; code broken is an answer that broke off."}, []string{"call", "code"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tidemill_http_request_seconds",
		Help: "Time from a request's headers to the end of its answer.", Buckets: requestBuckets}, []string{"call"})
	for _, c := range []prometheus.Collector{requests, seconds, &engineCollector{status}} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	m := &metrics{}
	for r := range routes {
		m.seconds[r] = seconds.WithLabelValues(routeNames[r])
		for class := range m.classes[r] {
			code := strconv.Itoa(class) + "xx"
			if class == 0 {
				code = "broken"
			}
			m.classes[r][class] = requests.WithLabelValues(routeNames[r], code)
		}
	}
	return m, nil
}

func (m *metrics) observe(c *call) {
	class := c.status / 100
	if c.status == statusBroken {
		class = 0
	}
	m.classes[c.route][class].Inc()
	m.seconds[c.route].Observe(time.Since(c.start).Seconds())
}

func scrapeHandler(reg *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// engineCollector shows an engine's Stats.
type engineCollector struct{ status Status }

var (
	statCounters = []struct{ name, help string }{
		{"tidemill_commits_total", "Commits made since the start, replayed ones included."},
		{"tidemill_appended_rows_total", "Rows appended."},
		{"tidemill_rejected_rows_total", "Rows of appends that went to rejects."},
		{"tidemill_appended_bytes_total", "Bytes of appended rows in memory."},
		{"tidemill_step_seconds_total", "Time that commits took to bring views up to date."},
		{"tidemill_sync_seconds_total", "Time that the log took to reach the disk."},
		{"tidemill_checkpoints_total", "Checkpoints finished."},
		{"tidemill_cache_evictions_total", "Entries of state dropped from memory; they are read back when needed."},
		{"tidemill_queries_total", "Queries started."},
		{"tidemill_lookups_total", "Lookups by key."},
		{"tidemill_result_cache_hits_total", "Queries answered from the result cache while the answer was right."},
		{"tidemill_result_cache_stale_total", "Queries answered with an old answer, as they allowed."},
		{"tidemill_result_cache_misses_total", "Queries computed and kept, or too large to keep."},
		{"tidemill_result_cache_evictions_total", "Answers dropped for lack of room."},
	}
	statGauges = []struct{ name, help string }{
		{"tidemill_commit", "The newest published commit."},
		{"tidemill_checkpoint_commit", "The commit of the last checkpoint."},
		{"tidemill_log_bytes", "Size of the commit log."},
		{"tidemill_state_disk_bytes", "Size of the state on disk."},
		{"tidemill_memory_limit_bytes", "What --memory allows."},
		{"tidemill_spilled_bytes", "What running queries have put on disk because it does not fit their memory."},
		{"tidemill_queue_requests", "Requests that wait for the committer."},
		{"tidemill_failed", "1 when the engine has stopped taking changes."},
	}
	memoryDesc    = prometheus.NewDesc("tidemill_memory_bytes", "Memory in use, by account; that of relations by its parts: tables, views, images, checkpoint.", []string{"part"}, nil)
	shareDesc     = prometheus.NewDesc("tidemill_memory_share_bytes", "What --memory allows each account.", []string{"account"}, nil)
	relationDescs = map[string]*prometheus.Desc{
		"rows":    prometheus.NewDesc("tidemill_relation_rows", "Rows of a table.", relationLabels, nil),
		"groups":  prometheus.NewDesc("tidemill_relation_groups", "Groups that a view keeps.", relationLabels, nil),
		"rejects": prometheus.NewDesc("tidemill_relation_rejects", "Rows that a view could not use, now in its rejects.", relationLabels, nil),
		"bytes":   prometheus.NewDesc("tidemill_relation_bytes", "Memory of a relation.", relationLabels, nil),
	}
	relationLabels = []string{"relation", "kind"}
	counterDescs   = descs(statCounters)
	gaugeDescs     = descs(statGauges)
)

func descs(of []struct{ name, help string }) []*prometheus.Desc {
	out := make([]*prometheus.Desc, len(of))
	for i, d := range of {
		out[i] = prometheus.NewDesc(d.name, d.help, nil, nil)
	}
	return out
}

// Describe implements prometheus.Collector.
func (e *engineCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range counterDescs {
		ch <- d
	}
	for _, d := range gaugeDescs {
		ch <- d
	}
	for _, d := range relationDescs {
		ch <- d
	}
	ch <- memoryDesc
	ch <- shareDesc
}

// Collect implements prometheus.Collector.
func (e *engineCollector) Collect(ch chan<- prometheus.Metric) {
	st := e.status.Stats()
	for i, v := range []float64{float64(st.Commits), float64(st.Rows), float64(st.Rejected), float64(st.Bytes), st.StepSeconds, st.SyncSeconds,
		float64(st.Checkpoints), float64(st.Evicted), float64(st.Queries), float64(st.Lookups),
		float64(st.ResultCache.Hits), float64(st.ResultCache.Stale), float64(st.ResultCache.Misses), float64(st.ResultCache.Evicted)} {
		ch <- prometheus.MustNewConstMetric(counterDescs[i], prometheus.CounterValue, v)
	}
	failed := 0.0
	if st.Failed != "" {
		failed = 1
	}
	for i, v := range []float64{float64(st.Commit), float64(st.Checkpoint), float64(st.LogBytes), float64(st.StateDiskBytes),
		float64(st.MemoryLimit), float64(st.SpilledBytes), float64(st.RequestsInQueue), failed} {
		ch <- prometheus.MustNewConstMetric(gaugeDescs[i], prometheus.GaugeValue, v)
	}
	for part, v := range st.Memory {
		ch <- prometheus.MustNewConstMetric(memoryDesc, prometheus.GaugeValue, float64(v), part)
	}
	for account, v := range st.MemoryShares {
		ch <- prometheus.MustNewConstMetric(shareDesc, prometheus.GaugeValue, float64(v), account)
	}
	for _, r := range st.Relations {
		values := map[string]int64{"bytes": r.Bytes, "groups": r.Groups, "rejects": r.Rejects}
		if r.Kind == string(catalog.Table) {
			values = map[string]int64{"bytes": r.Bytes, "rows": r.Rows}
		}
		for what, v := range values {
			ch <- prometheus.MustNewConstMetric(relationDescs[what], prometheus.GaugeValue, float64(v), r.Name, r.Kind)
		}
	}
}
