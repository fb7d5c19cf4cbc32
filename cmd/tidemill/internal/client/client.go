// Package client speaks Tidemill's HTTP interface, as the commands need it: statements, appends that are
// repeated when the server asks for it, lookups, and the arithmetic of latencies. It knows nothing of the
// engine: what it measures is what any program in any language would see.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The types of bodies.
const (
	TypeText   = "text/plain"
	TypeNDJSON = "application/x-ndjson"
	TypeArrow  = "application/vnd.apache.arrow.stream"
)

// Row is a row of an answer. Numbers are json.Number, so that integers and decimals stay exact.
type Row map[string]any

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
}

// connections is how many may be kept open: more than any scenario has clients.
const connections = 256

// New returns a client for the server at base, such as http://127.0.0.1:8080.
func New(base string) *Client {
	return &Client{base: strings.TrimRight(base, "/"),
		http: &http.Client{Transport: &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}}}
}

// Close closes the connections that no request uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// NewOver returns a client whose connections are made by dial, to an engine in this process.
func NewOver(dial func(context.Context) (net.Conn, error)) *Client {
	return &Client{base: "http://local", http: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: connections,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}}}
}

// Error is a refusal by the server; HTTP.md has what each member means.
type Error struct {
	Status     int    `json:"-"`
	Type       string `json:"type"` // urn:tidemill:bad-row
	Detail     string `json:"detail"`
	Hint       string `json:"hint"`
	SQLState   string `json:"sqlstate"`
	Column     string `json:"column"`
	Value      string `json:"value"`
	Row        int    `json:"row"`         // from 1, in the body
	Line       int    `json:"line"`        // of the place in SQL, from 1; 0 without one
	LineColumn int    `json:"line_column"` // from 1, in characters
	Expected   uint64 `json:"expected"`    // seq
	RetryAfter time.Duration
}

// IsType reports whether the refusal is of a type, given without its prefix: "bad-row".
func (e *Error) IsType(slug string) bool { return strings.TrimPrefix(e.Type, "urn:tidemill:") == slug }

// Error gives what the server said.
func (e *Error) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("%d: %s", e.Status, e.Detail)
	}
	return fmt.Sprintf("%d: %s (%s)", e.Status, e.Detail, e.Hint)
}

// Do sends a request and returns the open answer of a 2xx, which the caller closes.
func (c *Client) Do(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	refusal := &Error{Status: res.StatusCode}
	if err != nil || json.Unmarshal(text, refusal) != nil || refusal.Detail == "" {
		refusal.Detail = strings.TrimSpace(string(text))
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		refusal.RetryAfter = time.Duration(s) * time.Second
	}
	return nil, refusal
}

// read sends a request and returns the whole answer.
func (c *Client) read(ctx context.Context, method, path string, body []byte, header http.Header) ([]byte, error) {
	res, err := c.Do(ctx, method, path, body, header)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

var textHeader = http.Header{"Content-Type": {TypeText}}

// SQL runs statements and returns the rows of the last one.
func (c *Client) SQL(ctx context.Context, sql string) ([]Row, error) {
	text, err := c.read(ctx, http.MethodPost, "/sql", []byte(sql), textHeader)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", firstLine(sql), err)
	}
	return rowsOf(text)
}

func rowsOf(text []byte) ([]Row, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '[' {
		return nil, nil // a statement without rows
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var rows []Row
	if err := d.Decode(&rows); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return rows, nil
}

func firstLine(sql string) string {
	line, _, more := strings.Cut(strings.TrimSpace(sql), "\n")
	if len(line) > 80 {
		line, more = line[:80], true
	}
	if more {
		line += "..."
	}
	return line
}

// Arrow runs a query and returns its answer as an open Arrow stream, which the caller closes.
func (c *Client) Arrow(ctx context.Context, sql string) (io.ReadCloser, error) {
	res, err := c.Do(ctx, http.MethodPost, "/sql", []byte(sql), http.Header{"Content-Type": {TypeText}, "Accept": {TypeArrow}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", firstLine(sql), err)
	}
	return res.Body, nil
}

// Lookup returns the rows of a key, which has a value per column.
func (c *Client) Lookup(ctx context.Context, relation string, key ...string) ([]Row, error) {
	text, err := c.read(ctx, http.MethodGet, LookupPath(relation, key...), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("look up %s %v: %w", relation, key, err)
	}
	return rowsOf(text)
}

// LookupPath returns the path of a lookup.
func LookupPath(relation string, key ...string) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = url.PathEscape(k) // commas too
	}
	return "/lookup/" + url.PathEscape(relation) + "/" + strings.Join(parts, ",")
}

// Ack is the answer to an append.
type Ack struct {
	Commit    uint64 `json:"commit"`
	Accepted  int    `json:"accepted"`
	Duplicate bool   `json:"duplicate"`
}

// patience is the longest wait before a request is repeated, however long the server asks for: whoever
// measures wants to know when it takes rows again.
const patience = 100 * time.Millisecond

// Place is where an append stands in its producer's history: Seq follows Prev, the seq before it.
type Place struct {
	Producer  string
	Seq, Prev uint64
}

// Send makes one append, once: repeating it is for the caller. Encoding is that of the body, "" for none.
func (c *Client) Send(ctx context.Context, table string, at Place, body []byte, contentType, encoding string) (Ack, error) {
	path := "/append/" + url.PathEscape(table) + "?producer=" + url.QueryEscape(at.Producer) +
		"&seq=" + strconv.FormatUint(at.Seq, 10) + "&prev=" + strconv.FormatUint(at.Prev, 10)
	header := http.Header{"Content-Type": {contentType}}
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	var ack Ack
	text, err := c.read(ctx, http.MethodPost, path, body, header)
	if err == nil {
		err = json.Unmarshal(text, &ack)
	}
	return ack, err
}

// Last returns the seq of a producer's last acknowledged append, 0 when it has none.
func (c *Client) Last(ctx context.Context, producer string) (uint64, error) {
	text, err := c.read(ctx, http.MethodGet, "/producers/"+url.PathEscape(producer), nil, nil)
	if err != nil {
		return 0, err
	}
	var state struct {
		Last uint64 `json:"last"`
	}
	return state.Last, json.Unmarshal(text, &state)
}

// Text returns what a GET of a path answers.
func (c *Client) Text(ctx context.Context, path string) ([]byte, error) {
	return c.read(ctx, http.MethodGet, path, nil, nil)
}

// Append sends rows as a producer's next append. A server that is busy is asked again with the same seq,
// which applies the rows once, until ctx ends.
func (c *Client) Append(ctx context.Context, table, producer string, seq int, body []byte, contentType string) (Ack, error) {
	path := "/append/" + url.PathEscape(table) + "?producer=" + url.QueryEscape(producer) + "&seq=" + strconv.Itoa(seq)
	for {
		text, err := c.read(ctx, http.MethodPost, path, body, http.Header{"Content-Type": {contentType}})
		if refusal, ok := errors.AsType[*Error](err); ok && refusal.Status == http.StatusServiceUnavailable && refusal.RetryAfter > 0 {
			select {
			case <-time.After(min(refusal.RetryAfter, patience)):
				continue
			case <-ctx.Done():
			}
		}
		if err != nil {
			return Ack{}, fmt.Errorf("append to %s: %w", table, err)
		}
		var ack Ack
		if err := json.Unmarshal(text, &ack); err != nil {
			return Ack{}, fmt.Errorf("read acknowledgement: %w", err)
		}
		return ack, nil
	}
}
