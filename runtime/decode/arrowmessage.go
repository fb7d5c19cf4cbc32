package decode

import (
	"bytes"
	"io"
	"math"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tidemill/state/column"
)

// message is a record batch or a dictionary being read: its nodes (one per array: length and NULLs)
// and its buffers are taken in order, as the schema says.
type message struct {
	s       *stream
	f       *flatbuf
	version int64
	body    []byte
	at      int // of body in the stream

	nodes, buffers, variadic []byte // what is left of them
	codec                    int64  // -1 for none
}

const (
	codecNone = -1
	codecLZ4  = 0
	codecZstd = 1
)

// open starts on the arrays of a RecordBatch table and returns its number of rows.
func (m *message) open(t table, arrays int) (int, error) {
	f := m.f
	n := f.integer(t, 0, 8, 0)
	m.nodes, _ = f.vector(t, 1, 16)
	m.buffers, _ = f.vector(t, 2, 16)
	m.variadic, _ = f.vector(t, 4, 8)
	m.codec = codecNone
	if c, ok := f.sub(t, 3); ok {
		m.codec = f.integer(c, 0, 1, 0)
		if method := f.integer(c, 1, 1, 0); m.codec != codecLZ4 && m.codec != codecZstd || method != 0 {
			return 0, m.s.garbage("compression %d by method %d is not known", m.codec, method)
		}
	}
	switch {
	case f.bad:
		return 0, m.s.garbage("the batch is not a valid flatbuffer")
	case n < 0 || n > maxText:
		return 0, m.s.garbage("a batch of %d rows", n)
	case len(m.nodes) != 16*arrays:
		return 0, m.s.garbage("the batch has %d arrays, and the schema asks for %d", len(m.nodes)/16, arrays)
	}
	return int(n), nil
}

// close checks that nothing is left over.
func (m *message) close() error {
	if len(m.buffers) > 0 || len(m.variadic) > 0 {
		return m.s.garbage("the batch has %d buffers more than the schema asks for", len(m.buffers)/16)
	}
	return nil
}

// node takes the next array's length, which must be n, and how many values it says are NULL.
func (m *message) node(n int) (nulls int64, err error) {
	length := int64(le.Uint64(m.nodes))
	nulls = int64(le.Uint64(m.nodes[8:]))
	m.nodes = m.nodes[16:]
	if length != int64(n) || nulls > length || nulls < -1 {
		return 0, m.s.garbage("an array of %d values with %d NULLs in a batch of %d rows", length, nulls, n)
	}
	return nulls, nil
}

// buffer takes the next buffer, which must have need bytes or more.
func (m *message) buffer(need int64) ([]byte, error) {
	if len(m.buffers) == 0 {
		return nil, m.s.garbage("the batch has fewer buffers than the schema asks for")
	}
	off, n := int64(le.Uint64(m.buffers)), int64(le.Uint64(m.buffers[8:]))
	m.buffers = m.buffers[16:]
	if off < 0 || n < 0 || off > int64(len(m.body)) || n > int64(len(m.body))-off {
		return nil, m.s.garbage("a buffer of %d bytes at %d in a body of %d", n, off, len(m.body))
	}
	b := m.body[off : off+n : off+n]
	if m.codec != codecNone && n > 0 {
		var err error
		if b, err = m.uncompress(b, int(off)); err != nil {
			return nil, err
		}
	}
	if int64(len(b)) < need {
		return nil, &StreamError{Message: m.s.message, Offset: m.at + int(off), Reason: "a buffer is too short for its values"}
	}
	return b, nil
}

var zstdBuffers = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

var lz4Readers = sync.Pool{New: func() any { return lz4.NewReader(nil) }}

// uncompress returns the content of a compressed buffer: 8 bytes with its length, -1 when it is
// stored as it is, and the compressed bytes. The length is taken from the budget before anything is
// allocated.
func (m *message) uncompress(b []byte, off int) ([]byte, error) {
	fail := func(reason string) error {
		return &StreamError{Message: m.s.message, Offset: m.at + off, Reason: reason}
	}
	if len(b) < 8 {
		return nil, fail("a compressed buffer is too short for its length")
	}
	n := int64(le.Uint64(b))
	b = b[8:]
	if n == -1 {
		return b, nil
	}
	if n < 0 {
		return nil, fail("a compressed buffer has a negative length")
	}
	// No frame of either format holds more than this many times its size.
	if n/(1<<17) > int64(len(b)) {
		return nil, fail("a compressed buffer is too short for the length that it claims")
	}
	if err := m.s.budget.take(n); err != nil {
		return nil, err
	}
	if m.codec == codecZstd {
		out, err := zstdBuffers().DecodeAll(b, make([]byte, 0, n))
		if err != nil || int64(len(out)) != n {
			return nil, fail("a zstd buffer is damaged")
		}
		return out, nil
	}
	r := lz4Readers.Get().(*lz4.Reader)
	defer func() {
		r.Reset(nil) // lets go of the body
		lz4Readers.Put(r)
	}()
	r.Reset(bytes.NewReader(b))
	out := make([]byte, n)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, fail("an lz4 buffer is damaged")
	}
	if k, err := r.Read(make([]byte, 1)); k != 0 || err != io.EOF {
		return nil, fail("an lz4 buffer is damaged")
	}
	return out, nil
}

// validity takes the next array's validity bitmap and checks it against the claimed NULLs. It is
// nil when nothing is NULL.
func (m *message) validity(n int, nulls int64) ([]byte, error) {
	b, err := m.buffer(0)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		if nulls > 0 {
			return nil, m.s.garbage("an array has %d NULLs and no bitmap of them", nulls)
		}
		return nil, nil
	}
	if len(b) < (n+7)/8 {
		return nil, m.s.garbage("a bitmap of %d bytes for %d values", len(b), n)
	}
	b = b[:(n+7)/8]
	count := (&column.Column{N: n, Valid: b}).NullCount()
	if nulls >= 0 && int64(count) != nulls {
		return nil, m.s.garbage("an array says that it has %d NULLs, and its bitmap has %d", nulls, count)
	}
	if count == 0 {
		return nil, nil
	}
	if r := n & 7; r != 0 && b[len(b)-1]>>r != 0 {
		if err := m.s.budget.take(int64(len(b))); err != nil {
			return nil, err
		}
		b = trimBits(bytes.Clone(b), n)
	}
	return b, nil
}

// aligned returns b, or a copy when values of 8 bytes could not be read from where it lies.
func (m *message) aligned(b []byte) ([]byte, error) {
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))&7 == 0 {
		return b, nil
	}
	return m.copied(b)
}

func (m *message) copied(b []byte) ([]byte, error) {
	out, err := m.make(int64(len(b)))
	copy(out, b)
	return out, err
}

// make allocates n bytes, aligned to 8, within the budget.
func (m *message) make(n int64) ([]byte, error) {
	if n > math.MaxInt-8 {
		n = -1
	}
	if err := m.s.budget.take(n); err != nil {
		return nil, err
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:n:n], nil
}
