package httpd

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"tidemill/runtime/decode"
)

const (
	// frameBytes is how much of a stream's lines is read at once.
	frameBytes = 64 << 10
	// maxLine bounds a line, and the metadata of an Arrow message.
	maxLine = 8 << 20
	// frameQueue is how many frames are read ahead of a commit.
	frameQueue = 8
)

// frame is a piece of a stream that can be decoded: whole lines, or one Arrow message, in memory of its own.
type frame struct {
	data    []byte
	err     error // the body's end, and then there are no data
	release func()
}

// frameReader reads a stream's body on a goroutine of its own, since a body is read with the call blocked and a commit
// must not wait for the next row. A frame that has begun must go on at the pace of any body; between two there may be
// silence for as long as the client likes.
type frameReader struct {
	s      *Server
	c      *call
	arrow  bool
	pace   pace
	moving bool // the pace is on
	got    int64
	buf    []byte // read, and not in a frame yet
	frames chan frame
	quit   chan struct{}
	done   chan struct{}
}

func newFrameReader(s *Server, c *call, arrow bool) *frameReader {
	return &frameReader{s: s, c: c, arrow: arrow, pace: pace{control: http.NewResponseController(c.w), patience: s.opts.Patience, over: &ending{}},
		frames: make(chan frame, frameQueue), quit: make(chan struct{}), done: make(chan struct{})}
}

func (r *frameReader) run() {
	defer close(r.done)
	r.rest()
	for {
		f := frame{release: func() {}}
		if r.arrow {
			f.data, f.release, f.err = r.message()
		} else {
			f.data, f.err = r.lines()
		}
		if f.err == nil && len(f.data) == 0 {
			continue
		}
		select {
		case r.frames <- f:
		case <-r.quit:
			f.release()
			return
		}
		if f.err != nil {
			return
		}
	}
}

// stop ends the reader and waits for it.
func (r *frameReader) stop() {
	close(r.quit)
	select {
	case <-r.done: // the body was read to its end
	default:
		r.pace.over.end(r.pace.control) // nor must net/http wait for what is left of the body
		<-r.done
	}
	for {
		select {
		case f := <-r.frames:
			if f.release != nil {
				f.release()
			}
		default:
			return
		}
	}
}

// rest ends the pace, between two frames.
func (r *frameReader) rest() {
	r.moving, r.got = false, 0
	r.pace.done()
}

// begin starts the pace of a frame, of which some bytes are there.
func (r *frameReader) begin() {
	r.moving, r.pace.start = true, time.Now()
	r.pace.begin()
}

// Read reads from the body at the pace of a frame.
func (r *frameReader) Read(p []byte) (int, error) {
	n, err := r.c.r.Body.Read(p)
	if n > 0 {
		if !r.moving {
			r.begin()
		}
		r.got += int64(n)
		r.pace.got(r.got)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyBroken(err, r.got)
	}
	return n, err
}

// lines returns the lines that have come, and waits for one.
func (r *frameReader) lines() ([]byte, error) {
	for {
		if cap(r.buf) == len(r.buf) {
			size := max(frameBytes, 2*len(r.buf))
			if len(r.buf) >= maxLine {
				return nil, tooLarge(maxLine)
			}
			r.buf = append(make([]byte, 0, size), r.buf...)
		}
		have := len(r.buf)
		n, err := r.Read(r.buf[have:cap(r.buf)])
		r.buf = r.buf[:have+n]
		if end := bytes.LastIndexByte(r.buf[have:], '\n'); end >= 0 {
			out, left := r.buf[:have+end+1], r.buf[have+end+1:]
			r.buf = append(make([]byte, 0, frameBytes), left...)
			if r.rest(); len(left) > 0 {
				r.begin()
			}
			return out, nil
		}
		switch {
		case errors.Is(err, io.EOF) && len(r.buf) > 0:
			out := r.buf
			r.buf = nil
			return out, nil
		case err != nil:
			return nil, err
		}
	}
}

// message returns the next Arrow message. Memory for it is admitted before it is read.
func (r *frameReader) message() (data []byte, release func(), err error) {
	nothing := func() {}
	data = make([]byte, 0, 512)
	for {
		need, whole, err := decode.ArrowMessage(data)
		switch {
		case err != nil:
			return nil, nothing, err
		case int64(need) > r.s.opts.MaxBodyBytes || !whole && need > maxLine:
			return nil, nothing, tooLarge(min(r.s.opts.MaxBodyBytes, maxLine))
		case whole && need == len(data):
			r.rest()
			return data, nothing, nil
		case whole:
			if release, err = r.s.admitBytes(r.c, 2*int64(need)); err != nil {
				return nil, nothing, err
			}
		}
		at := len(data)
		if cap(data) < need {
			data = append(make([]byte, 0, need), data...)
		}
		data = data[:need]
		if _, err := io.ReadFull(r, data[at:]); err != nil {
			if release != nil {
				release()
			}
			if errors.Is(err, io.EOF) && at > 0 {
				err = io.ErrUnexpectedEOF
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = bodyBroken(err, r.got)
			}
			return nil, nothing, err
		}
		if whole {
			r.rest()
			return data, release, nil
		}
	}
}
