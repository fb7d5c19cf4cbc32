package httpd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"tidemill/runtime"
)

// TestQueries: a statement that runs is listed, and ends when it is cancelled, by either way.
func TestQueries(t *testing.T) {
	_, addr := serve(t, openEngine(t), Options{})
	list := func() []runtime.QueryInfo {
		res, err := http.Get("http://" + addr + "/queries")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var out []runtime.QueryInfo
		if err := json.Unmarshal([]byte(body(t, res)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	cancel := []func(id uint64) (*http.Response, error){
		func(id uint64) (*http.Response, error) {
			req, err := http.NewRequest("DELETE", fmt.Sprintf("http://%s/queries/%d", addr, id), nil)
			if err != nil {
				return nil, err
			}
			return http.DefaultClient.Do(req)
		},
		func(id uint64) (*http.Response, error) {
			return http.Post("http://"+addr+"/sql", "", strings.NewReader(fmt.Sprintf("CANCEL QUERY %d", id)))
		},
	}
	for i, end := range cancel {
		answered := make(chan string, 1)
		go func() {
			res, err := http.Post("http://"+addr+"/sql", "", strings.NewReader(fmt.Sprintf("%s AND i > %d", endless, i)))
			if err != nil {
				answered <- err.Error()
				return
			}
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			answered <- fmt.Sprint(res.StatusCode, " ", string(b))
		}()
		var running []runtime.QueryInfo
		for len(running) == 0 {
			running = list()
		}
		if !strings.HasPrefix(running[0].SQL, endless) || running[0].Since.IsZero() {
			t.Errorf("listed is %+v", running)
		}
		res, err := end(running[0].ID)
		if err != nil || res.StatusCode/100 != 2 {
			t.Fatalf("cancel: %v %v", res, err)
		}
		res.Body.Close()
		if got := <-answered; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, "57014") || !strings.Contains(got, "CANCEL QUERY") {
			t.Errorf("the query got %s", got)
		}
		for len(list()) > 0 { // it ends with its answer
			continue
		}
	}
}
