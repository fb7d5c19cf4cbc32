package decode

import (
	"errors"
	"fmt"

	"tidemill/state/column"
)

// ArrowStream reads an Arrow IPC stream message by message, as it comes in. It keeps what a stream has to:
// the schema and the dictionaries, which are bounded as rows are. It is not safe for concurrent use.
type ArrowStream struct {
	s *stream
}

// NewArrowStream returns a decoder for one stream of a table's rows.
func NewArrowStream(fields []column.Field, opt Options, how Reading) *ArrowStream {
	a := NewArrow(fields, opt)
	a.Reading = how
	s := &stream{a: a}
	s.budget.reset(&a.opt)
	return &ArrowStream{s: s}
}

// ArrowMessage tells from the beginning of a message how many of its bytes must be there to say more; whole says that
// these are all of it. The error is a *StreamError.
func ArrowMessage(b []byte) (need int, whole bool, err error) {
	s := &stream{message: 2}
	if len(b) < 8 {
		return 8, false, nil
	}
	if err := s.checkStart(b); err != nil {
		return 0, false, err
	}
	n := int64(int32(le.Uint32(b[4:])))
	switch {
	case n == 0: // the end mark
		return 8, true, nil
	case n < 0:
		return 0, false, s.garbage("the metadata is %d bytes long", n)
	case int64(len(b)) < 8+n:
		return 8 + int(n), false, nil
	}
	meta := flatbuf{b: b[8 : 8+n]}
	size := meta.integer(meta.root(), 3, 8, 0)
	if meta.bad || size < 0 || size > 1<<40 {
		return 0, false, s.garbage("the metadata is not a valid flatbuffer")
	}
	return int(8 + n + size), true, nil
}

// Add reads the next message, which it takes over. end says that it is the stream's end mark. After an error Take has
// the batches before the message; errors are as Arrow.Decode's, their rows counted from the last Take.
func (a *ArrowStream) Add(message []byte) (end bool, err error) {
	s := a.s
	s.message++
	_, end, err = s.next(message, 0)
	if err != nil {
		least := -1
		for i := range s.parts {
			if n := len(s.parts[i]); least < 0 || n < least {
				least = n
			}
		}
		for i := range s.parts { // some columns may have the bad batch already
			s.parts[i] = s.parts[i][:least]
		}
	}
	s.at += len(message)
	return end, err
}

// Take returns the rows added since the last call. Errors are *RowError, *SchemaError or wrap ErrTooLarge.
func (a *ArrowStream) Take() (*Rows, error) {
	s := a.s
	if s.message == 0 {
		return nil, &StreamError{Message: 1, Reason: "the stream ends before its schema"}
	}
	r, err := s.finish()
	s.n, s.bad, s.parts = 0, nil, make([][]column.Column, len(s.a.binds))
	s.budget.reset(&s.a.opt)
	for _, d := range s.dicts {
		if berr := s.budget.take(int64(d.values.Size())); berr != nil {
			return nil, errors.Join(err, fmt.Errorf("dictionaries: %w", berr))
		}
	}
	return r, err
}
