package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestLookupPath(t *testing.T) {
	for _, c := range []struct {
		key  []string
		want string
	}{
		{[]string{"7"}, "/lookup/v/7"},
		{[]string{"a", "b c"}, "/lookup/v/a,b%20c"},
		{[]string{"a,b", "c/d", "ü%"}, "/lookup/v/a%2Cb,c%2Fd,%C3%BC%25"},
	} {
		if got := LookupPath("v", c.key...); got != c.want {
			t.Errorf("%v: %s instead of %s", c.key, got, c.want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var l Latencies
	if q := l.Quantiles(.5); q[0] != 0 {
		t.Errorf("nothing has the median %v", q[0])
	}
	for i := 100; i >= 0; i-- {
		l.Add(time.Duration(i))
	}
	if q := l.Quantiles(0, .5, .99, 1); q[0] != 0 || q[1] != 50 || q[2] != 99 || q[3] != 100 {
		t.Errorf("quantiles are %v", q)
	}
}

// TestAnswers: rows stay exact, a busy server is asked again with the same seq, refusals keep their hint.
func TestAnswers(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch {
		case r.URL.Path == "/append/t":
			asked = append(asked, r.URL.RawQuery+" "+string(body))
			if len(asked) == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				io.WriteString(w, `{"detail":"closing"}`)
				return
			}
			io.WriteString(w, `{"commit":9,"accepted":3,"duplicate":false}`)
		case strings.HasPrefix(string(body), "SELECT"):
			io.WriteString(w, `[{"n":9007199254740993,"d":0.10,"s":null}]`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"detail":"no such thing","hint":"try another"}`)
		}
	}))
	defer s.Close()
	c := New(s.URL)
	defer c.Close()
	row, err := c.One(t.Context(), "SELECT 1")
	if err != nil || row.Int("n") != 9007199254740993 || row.Text("d") != "0.10" || row.Text("s") != "NULL" {
		t.Errorf("row %v, error %v", row, err)
	}
	ack, err := c.Append(t.Context(), "t", "p", 1, []byte("x"), TypeNDJSON)
	if err != nil || ack != (Ack{9, 3, false}) {
		t.Errorf("acknowledgement %v, error %v", ack, err)
	}
	if len(asked) != 2 || asked[0] != asked[1] {
		t.Errorf("the server was asked %q", asked)
	}
	if _, err := c.SQL(t.Context(), "DROP TABLE x"); err == nil || !strings.Contains(err.Error(), "400: no such thing (try another)") {
		t.Errorf("refusal is %v", err)
	}
}
