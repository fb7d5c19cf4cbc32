package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/table"
)

// append reads the files and sends their rows.
func (l *loader) append(ctx context.Context, in *inputs) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &reader{l: l, out: make(chan *chunk, 1), skip: l.pos, most: int64(l.BatchRows)}
	done := make(chan error, 1)
	go func() { done <- r.read(ctx, in) }()
	var err error
	told := false
	for c := range r.out {
		if err == nil {
			if l.result.Rows == 0 && l.result.Skipped > 0 && !told {
				told = true
				l.Progress.Note(fmt.Sprintf("goes on after row %s, where producer %s ended", table.Group(l.result.Skipped), l.result.Producer))
			}
			if err = l.deliver(ctx, c); err != nil {
				cancel()
			}
		}
	}
	if read := <-done; err == nil {
		err = read
	}
	return err
}

// deliver sends a chunk until it is acknowledged; rows that the table refuses are left out as far as allowed.
func (l *loader) deliver(ctx context.Context, c *chunk) error {
	for i := range c.rejected {
		if err := l.reject(c.rejected[i]); err != nil {
			return err
		}
	}
	for len(c.rows) > 0 {
		ack, err := l.send(ctx, c)
		if err == nil {
			l.result.Rows += int64(len(c.rows))
			l.result.Commit = max(l.result.Commit, ack.Commit)
			l.pos, l.share = c.end, c.share
			break
		}
		refusal, ok := errors.AsType[*client.Error](err)
		switch {
		case ok && refusal.IsType("too-large") && len(c.rows) > 1:
			err = l.halves(ctx, c)
		case ok && refusal.IsType("bad-row") && refusal.Row >= 1 && refusal.Row <= len(c.rows):
			c, err = l.around(ctx, c, refusal)
			if err == nil {
				continue
			}
		}
		return err
	}
	l.Progress.At(l.result.Skipped+l.result.Rows, l.result.Rejected, l.share)
	return nil
}

// halves sends a chunk in two.
func (l *loader) halves(ctx context.Context, c *chunk) error {
	mid := len(c.rows) / 2
	for _, ends := range [][2]int{{0, mid}, {mid, len(c.rows)}} {
		part, err := c.part(ends[0], ends[1])
		if err != nil {
			return err
		}
		if err := l.deliver(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// around rejects the row that the table refused, sends those before it, and returns what is left.
func (l *loader) around(ctx context.Context, c *chunk, refusal *client.Error) (*chunk, error) {
	at := refusal.Row - 1
	reason := strings.TrimPrefix(refusal.Detail, fmt.Sprintf("row %d, ", refusal.Row)) // its place in the body
	bad := Reject{Row: c.rows[at] + 1, Column: refusal.Column, Value: refusal.Value, Reason: reason}
	if l.result.Rejected >= l.MaxRejects {
		return nil, fmt.Errorf("row %s: %s; --max-rejects leaves bad rows out", table.Group(bad.Row), reason)
	}
	if at > 0 {
		before, err := c.part(0, at)
		if err != nil {
			return nil, err
		}
		if err := l.deliver(ctx, before); err != nil {
			return nil, err
		}
	}
	if err := l.reject(bad); err != nil {
		return nil, err
	}
	return c.part(at+1, len(c.rows))
}

// reject counts a row that is left out.
func (l *loader) reject(r Reject) error {
	if l.result.Rejected >= l.MaxRejects {
		return fmt.Errorf("row %s, column %s: %q is %s, and no more rejects are allowed", table.Group(r.Row), r.Column, r.Value, r.Reason)
	}
	l.result.Rejected++
	if l.Rejects == nil {
		return nil
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = l.Rejects.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write reject: %w", err)
	}
	return nil
}

// The waits between attempts to reach a server that is away.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 3 * time.Second
)

// send makes one append, again and again while the server is away or busy: it is applied once.
func (l *loader) send(ctx context.Context, c *chunk) (client.Ack, error) {
	at := client.Place{Producer: l.result.Producer, Seq: uint64(c.end), Prev: uint64(l.pos)}
	var since time.Time
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		ack, err := l.client.Send(ctx, l.Table, at, c.body, c.mime, "")
		if err == nil || ctx.Err() != nil || !temporary(err) {
			if err == nil && !since.IsZero() {
				l.Progress.Note("the server is back")
			}
			return ack, err
		}
		if since.IsZero() {
			since = time.Now()
			l.Progress.Note(fmt.Sprintf("trying again for %v: %v", l.RetryFor, err))
		}
		if time.Since(since)+wait > l.RetryFor {
			return ack, fmt.Errorf("gave up after %v: %w", l.RetryFor, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ack, ctx.Err()
		}
	}
}

// temporary reports whether the same append may succeed later: the server was not reached, broke off, or said so.
func temporary(err error) bool {
	refusal, ok := errors.AsType[*client.Error](err)
	if !ok {
		return true
	}
	switch refusal.Status {
	case http.StatusServiceUnavailable, http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return refusal.IsType("broken-body")
}
