package httpd

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// rowLimit is how many rows of an answer are sent, and whether there were more.
type rowLimit struct {
	left uint64
	cut  bool
}

// take returns how many of n rows that have come are to be sent; the error is io.EOF when the limit was
// reached before them.
func (l *rowLimit) take(n int) (int, error) {
	if l.left == 0 && n > 0 {
		l.cut = true
		return 0, io.EOF
	}
	if uint64(n) > l.left {
		l.cut = true
		n = int(l.left)
	}
	l.left -= uint64(n)
	return n, nil
}

// limitedSource ends a row source at a limit.
type limitedSource struct {
	rowSource
	limit *rowLimit
}

func (l *limitedSource) load() (int, error) {
	if l.limit.cut {
		return 0, io.EOF
	}
	n, err := l.rowSource.load()
	if err != nil {
		return 0, err
	}
	return l.limit.take(n)
}

// limitedArrow ends Arrow batches at a limit.
type limitedArrow struct {
	arrowSource
	limit *rowLimit
}

// NextArrow implements arrowSource.
func (l *limitedArrow) NextArrow() (arrow.RecordBatch, error) {
	if l.limit.cut {
		return nil, io.EOF
	}
	rec, err := l.arrowSource.NextArrow()
	if err != nil {
		return nil, err
	}
	n, err := l.limit.take(int(rec.NumRows()))
	if err != nil || n == int(rec.NumRows()) {
		if err != nil {
			rec.Release()
			return nil, err
		}
		return rec, nil
	}
	defer rec.Release()
	return rec.NewSlice(0, int64(n)), nil
}
