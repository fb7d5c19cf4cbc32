package httpd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	stdruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"tidemill/runtime"
)

// everyType has a column of each type that every format can hold, two rows and NULLs.
const everyType = `SELECT * FROM (VALUES
	(true, 1::TINYINT, 2::SMALLINT, 3::INTEGER, 4::BIGINT, 5::UTINYINT, 6::USMALLINT, 7::UINTEGER, 8::UBIGINT, 9::HUGEINT, 1.5::FLOAT, 2.5::DOUBLE, 1.25::DECIMAL(9,2),
	 'text', 'ab'::BLOB, DATE '2026-01-02', TIME '03:04:05.678', TIMESTAMP_S '2026-01-02 03:04:05', TIMESTAMP_MS '2026-01-02 03:04:05.678', TIMESTAMP '2026-01-02 03:04:05.678901',
	 TIMESTAMP_NS '2026-01-02 03:04:05.678901234', TIMESTAMPTZ '2026-01-02 03:04:05+00', '00112233-4455-6677-8899-aabbccddeeff'::UUID, [1, NULL], {'a': 1, 'b': 'x'}, MAP {'k': 1}),
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) v`

func query(t *testing.T, addr, params, sql string) (*http.Response, []byte) {
	t.Helper()
	res, err := http.Post("http://"+addr+"/sql?"+params, "", strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %.200s %v", params, sql, res.StatusCode, b, err)
	}
	return res, b
}

// TestParquet: what a Parquet answer holds is what the Arrow answer holds, whatever the type and over row groups.
func TestParquet(t *testing.T) {
	_, addr := serve(t, openEngine(t), Options{})
	for _, c := range []struct {
		sql          string
		rows, groups int
	}{
		{everyType, 2, 1},
		{"SELECT i, 'x' || i AS s FROM range(0) r(i)", 0, 0},
		{"SELECT i, 'x' || i AS s FROM range(300000) r(i)", 300000, 3},
	} {
		_, b := query(t, addr, "format=parquet", c.sql)
		f, err := file.NewParquetReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if f.NumRows() != int64(c.rows) || f.NumRowGroups() < min(c.groups, 2) || c.groups < 2 && f.NumRowGroups() > 1 {
			t.Errorf("%.40s: %d rows in %d groups, want %d in %d", c.sql, f.NumRows(), f.NumRowGroups(), c.rows, c.groups)
		}
		if c.rows > 2 {
			continue
		}
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := r.ReadTable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tbl.Release()
		_, arrowBody := query(t, addr, "format=arrow", c.sql)
		ar, err := ipc.NewReader(bytes.NewReader(arrowBody))
		if err != nil {
			t.Fatal(err)
		}
		defer ar.Release()
		for ar.Next() {
			rec := ar.RecordBatch()
			for i := range int(rec.NumCols()) {
				got := tbl.Column(i).Data().Chunk(0)
				for row := range int(rec.NumRows()) {
					if got.ValueStr(row) != rec.Column(i).ValueStr(row) && !strings.HasPrefix(rec.Column(i).DataType().String(), "timestamp[s") {
						t.Errorf("column %s row %d: Parquet has %s, Arrow %s", rec.ColumnName(i), row, got.ValueStr(row), rec.Column(i).ValueStr(row))
					}
				}
			}
		}
	}
}

// TestLimitTrailer: an answer with limit_rows says behind its rows whether there were more.
func TestLimitTrailer(t *testing.T) {
	_, addr := serve(t, openEngine(t), Options{})
	for _, format := range []string{"json", "ndjson", "csv", "arrow", "parquet"} {
		for limit, cut := range map[int]string{0: "true", 2: "true", 2999: "true", 3000: "false", 5000: "false"} {
			res, _ := query(t, addr, fmt.Sprintf("format=%s&limit_rows=%d", format, limit), "SELECT i FROM range(3000) r(i)")
			if got := res.Trailer.Get(headerTruncated); got != cut {
				t.Errorf("%s, limit %d: %q, want %s", format, limit, got, cut)
			}
		}
	}
}

// endless is a query that runs until it is stopped.
const endless = "SELECT count(*) FROM range(100000000000) a(i) WHERE i % 7 = 3"

// TestTimeout: a statement ends at its timeout_ms, or at the server's, and says so.
func TestTimeout(t *testing.T) {
	_, addr := serve(t, openEngine(t), Options{StatementTimeout: 50 * time.Millisecond})
	for _, params := range []string{"", "timeout_ms=20"} {
		res, err := http.Post("http://"+addr+"/sql?"+params, "", strings.NewReader(endless))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got := body(t, res)
		if res.StatusCode != http.StatusRequestTimeout || !strings.Contains(got, `"sqlstate":"57014"`) || !strings.Contains(got, "urn:tidemill:timeout") || !strings.Contains(got, "took longer than") {
			t.Errorf("%q: %d %s", params, res.StatusCode, got)
		}
	}
	if res, _ := query(t, addr, "timeout_ms=100000", "SELECT 1"); res.StatusCode != http.StatusOK {
		t.Errorf("got %d", res.StatusCode)
	}
}

// TestClientLeaves: the query of a client that closes its connection ends.
func TestClientLeaves(t *testing.T) {
	e := newFake(t)
	real := openEngine(t)
	began, ended := make(chan struct{}), make(chan error, 1)
	e.execute = func(ctx context.Context, sql string) (*runtime.Answer, error) {
		close(began)
		a, err := real.Execute(ctx, sql)
		ended <- err
		return a, err
	}
	_, addr := serve(t, e, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+"/sql?q="+url.QueryEscape(endless), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-began
		cancel()
	}()
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Error("there is an answer")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the query ended with %v", err)
	}
}

// TestFlatMemory: an answer of any size takes the memory of a piece of it.
func TestFlatMemory(t *testing.T) {
	_, addr := serve(t, openEngine(t), Options{})
	const rows, most = 400_000, 64 << 20
	for _, format := range []string{"json", "ndjson", "csv", "arrow", "parquet"} {
		res, err := http.Post("http://"+addr+"/sql?format="+format, "", strings.NewReader(fmt.Sprintf("SELECT i, repeat(md5(i::VARCHAR), 10) AS pad FROM range(%d) r(i)", rows)))
		if err != nil {
			t.Fatal(err)
		}
		var before, now stdruntime.MemStats
		stdruntime.GC()
		stdruntime.ReadMemStats(&before)
		buf, total := make([]byte, 1<<20), 0
		for step := 0; ; step++ {
			n, err := io.ReadFull(res.Body, buf)
			total += n
			if step%16 == 0 {
				stdruntime.GC()
				stdruntime.ReadMemStats(&now)
				if now.HeapAlloc > before.HeapAlloc+most {
					t.Fatalf("%s: %d MB are held after %d MB", format, (now.HeapAlloc-before.HeapAlloc)>>20, total>>20)
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				break
			}
		}
		res.Body.Close()
		if total < 5<<20 {
			t.Errorf("%s: only %d bytes came", format, total)
		}
	}
}

// TestStalledReadersHarmNobody: with many clients that ask for much and read nothing, others are answered.
func TestStalledReadersHarmNobody(t *testing.T) {
	_, addr := serve(t, openEngine(t), Options{Patience: 2 * time.Second})
	sql := "SELECT i, repeat('x', 1000) AS pad FROM range(10000000) r(i)"
	for range 20 {
		c := dial(t, addr)
		if _, err := fmt.Fprintf(c, "POST /sql HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(sql), sql); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		if _, b := query(t, addr, "", fmt.Sprintf("SELECT %d AS x", i)); string(b) != fmt.Sprintf("[{\"x\":%d}]\n", i) {
			t.Errorf("got %s", b)
		}
	}
}
