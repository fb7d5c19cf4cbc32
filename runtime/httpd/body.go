package httpd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"tidemill/runtime/decode"
)

// Bodies that may be read into a buffer of the pool, and buffers that may go back to it.
const (
	firstBuffer  = 4 << 10 // of a body whose length is not known
	pooledBuffer = 4 << 20 // larger ones are left to the collector
)

// buffers holds *[]byte for bodies that are dropped once they are decoded, and for answers.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, firstBuffer); return &b }}

func getBuffer() *[]byte { return buffers.Get().(*[]byte) }

func putBuffer(b *[]byte) {
	if cap(*b) <= pooledBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// pace ends a request whose body comes too slowly, by the connection's read deadline: nothing may stall
// for longer than patience, and after patience the whole must have come at MinBodyRate.
//
// The deadline must be gone once the body is read. net/http goes on reading, to see whether the client
// has left, and an expired deadline there would look as if it had.
type pace struct {
	control  *http.ResponseController
	start    time.Time
	patience time.Duration
	deadline time.Time
	over     *ending // of a body that another goroutine may end; else nil
}

// ending lets one goroutine end another's reading for good.
type ending struct {
	mu sync.Mutex
	on bool // no deadline is set any more; guarded by mu
}

// end makes the reads that wait, and all later ones, fail.
func (e *ending) end(control *http.ResponseController) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.on = true
	_ = control.SetReadDeadline(time.Now())
}

func (p *pace) begin() {
	p.deadline = p.start.Add(p.patience)
	p.set(p.deadline)
}

// got moves the deadline on after total bytes.
func (p *pace) got(total int64) {
	now := time.Now()
	d := p.start.Add(p.patience + time.Duration(total)*(time.Second/MinBodyRate))
	if stall := now.Add(p.patience); stall.Before(d) {
		d = stall
	}
	if d.Sub(p.deadline) > p.patience/16 { // a system call's worth of precision is enough
		p.deadline = d
		p.set(d)
	}
}

func (p *pace) done() { p.set(time.Time{}) }

func (p *pace) set(t time.Time) {
	if p.over != nil {
		p.over.mu.Lock()
		defer p.over.mu.Unlock()
		if p.over.on {
			return
		}
	}
	_ = p.control.SetReadDeadline(t) // without support there are no slow clients either: a test's recorder
}

// readBody reads the whole body into buf, from its start, growing it as bytes come when the length is not
// known. It returns the bytes, in buf's array if they fit. Errors are problems.
func (s *Server) readBody(c *call, buf []byte, limit int64) ([]byte, error) {
	n := c.r.ContentLength
	if n > limit {
		return nil, tooLarge(limit)
	}
	if n == 0 || c.r.Body == http.NoBody {
		return buf[:0], nil
	}
	p := pace{control: http.NewResponseController(c.w), start: c.start, patience: s.opts.Patience}
	p.begin()
	if n > int64(cap(buf)) || cap(buf) == 0 {
		buf = make([]byte, max(n, firstBuffer))
	}
	buf = buf[:cap(buf)]
	at := 0
	for {
		want := buf[at:]
		if n > 0 {
			want = buf[at:n]
		}
		m, err := c.r.Body.Read(want)
		at += m
		switch {
		case int64(at) > limit:
			return nil, tooLarge(limit)
		case errors.Is(err, io.EOF) || n > 0 && int64(at) == n:
			p.done()
			return buf[:at], nil
		case err != nil:
			return nil, bodyBroken(err, int64(at))
		case at == len(buf):
			grown := make([]byte, min(2*int64(len(buf)), limit+1))
			copy(grown, buf)
			buf = grown
		}
		p.got(int64(at))
	}
}

// bodyBroken is the error of a body that did not come to its end.
func bodyBroken(err error, at int64) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Problem{Status: http.StatusRequestTimeout, Slug: "slow-body", closes: true,
			Detail: fmt.Sprintf("the body stalled after %d bytes", at),
			Hint:   fmt.Sprintf("send it at %d bytes a second or faster; nothing of it was applied", MinBodyRate)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Problem{Status: http.StatusBadRequest, Slug: "broken-body", SQLState: "08P01", closes: true,
			Detail: fmt.Sprintf("the body ended after %d bytes, before its announced length", at), Hint: "send it again"}
	}
	return &Problem{Status: http.StatusBadRequest, Slug: "broken-body", SQLState: "08P01", closes: true,
		Detail: fmt.Sprintf("the body broke off after %d bytes: %v", at, err), Hint: "send it again"}
}

func tooLarge(limit int64) error {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Slug: "too-large", SQLState: "54000", closes: true,
		Detail: fmt.Sprintf("the body is larger than %d bytes", limit), Hint: "send it in several requests"}
}

// limits are what a compressed body may become: a bomb is refused by its ratio before it is by its size.
func (s *Server) limits() decode.Limits {
	return decode.Limits{MaxBytes: s.opts.MaxBodyBytes, MaxRatio: 100}
}
