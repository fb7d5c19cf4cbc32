package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Limits bounds what a compressed body may become.
type Limits struct {
	MaxBytes int64 // of the uncompressed body; must be positive
	// MaxRatio is how many times its compressed size a body may become, 0 for no bound. The first
	// 64 KiB are free, since small bodies of equal rows shrink a great deal.
	MaxRatio int64
}

// ratioFree is what MaxRatio does not count.
const ratioFree = 64 << 10

func (l Limits) bound(compressed int) int64 {
	n := l.MaxBytes
	if l.MaxRatio > 0 {
		n = min(n, l.MaxRatio*int64(compressed)+ratioFree)
	}
	return n
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// zstdWindow is the largest window that a zstd body may ask for: what every conforming decoder
// must support (RFC 8878), and the level that clients use by default.
const zstdWindow = 8 << 20

var zstdReaders = sync.Pool{New: func() any {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		panic(err) // the options are constants
	}
	return r
}}

// Uncompress returns the body under a Content-Encoding: gzip, zstd, or identity (also the empty
// string), for which body itself is returned. Otherwise the result is a buffer of its own. Errors
// wrap ErrTooLarge, ErrEncoding or ErrCorrupt. It is safe for concurrent use.
func Uncompress(encoding string, body []byte, lim Limits) ([]byte, error) {
	switch e := strings.ToLower(strings.TrimSpace(encoding)); e {
	case "", "identity":
		if int64(len(body)) > lim.MaxBytes {
			return nil, fmt.Errorf("%w: %d bytes, and the limit is %d", ErrTooLarge, len(body), lim.MaxBytes)
		}
		return body, nil
	case "gzip", "x-gzip":
		r := gzipReaders.Get().(*gzip.Reader)
		defer gzipReaders.Put(r)
		if err := r.Reset(bytes.NewReader(body)); err != nil {
			return nil, fmt.Errorf("%w: gzip: %w", ErrCorrupt, err)
		}
		return inflate("gzip", r, len(body), lim)
	case "zstd":
		r := zstdReaders.Get().(*zstd.Decoder)
		defer func() {
			_ = r.Reset(nil) // lets go of the body
			zstdReaders.Put(r)
		}()
		if err := r.Reset(bytes.NewReader(body)); err != nil {
			return nil, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
		}
		return inflate("zstd", r, len(body), lim)
	default:
		return nil, fmt.Errorf("%w %q: send gzip, zstd or none", ErrEncoding, encoding)
	}
}

// inflate reads r to its end, growing the result by what has really come out, never by what a
// header claims.
func inflate(name string, r io.Reader, compressed int, lim Limits) ([]byte, error) {
	bound := lim.bound(compressed)
	out := make([]byte, 0, max(512, min(bound+1, 4*int64(compressed))))
	for {
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case int64(len(out)) > bound:
			if bound < lim.MaxBytes {
				return nil, fmt.Errorf("%w: %d bytes of %s become more than %d times as many", ErrTooLarge, compressed, name, lim.MaxRatio)
			}
			return nil, fmt.Errorf("%w: %d bytes of %s become more than the limit of %d", ErrTooLarge, compressed, name, lim.MaxBytes)
		case errors.Is(err, io.EOF):
			return out, nil
		case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return nil, fmt.Errorf("%w: zstd: a window of more than %d bytes", ErrTooLarge, zstdWindow)
		case err != nil:
			return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
		}
		if len(out) == cap(out) {
			grown := make([]byte, len(out), min(bound+1, 2*int64(cap(out)))+16)
			copy(grown, out)
			out = grown
		}
	}
}
