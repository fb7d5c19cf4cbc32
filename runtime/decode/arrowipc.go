package decode

import (
	"bytes"
	"fmt"
	"math"

	"tidemill/state/column"
)

// Arrow reads Arrow IPC streams and files into the columns of a table. It is its own reader, for two reasons:
// a stream whose lengths lie makes general readers ask for terabytes, which no Go program survives,
// and most columns need no work at all, since ours have Arrow's layout. Everything that a stream
// says about its sizes is checked against the bytes that are there, text against UTF-8, and the
// memory for what must be converted against Options.MaxBytes before it is allocated.
//
// Fields are matched to the table's by name, in any order. A field must have the column's type or
// one that it holds exactly (see widens). Table columns that the stream lacks are as in NDJSON.
//
// It remembers the last schema: a stream that starts with the same bytes skips that work. An Arrow
// is not safe for concurrent use.
type Arrow struct {
	// Reading says what a bad row does. It may be set before each body.
	Reading Reading

	fields []column.Field
	opt    Options
	byName map[string]int

	schema []byte // the metadata that binds was made from
	binds  []bind
}

// bind is a field of the stream and the column that it goes to.
type bind struct {
	name   string
	t      arrowType
	col    int // len(fields) for DeletedField
	arrays int // that t is made of in a batch
}

// NewArrow returns a decoder for a table's fields.
func NewArrow(fields []column.Field, opt Options) *Arrow {
	a := &Arrow{fields: fields, opt: opt, byName: make(map[string]int, len(fields)+1)}
	if len(opt.Key) > 0 {
		a.byName[DeletedField] = len(fields)
	}
	for i, f := range fields {
		a.byName[f.Name] = i
	}
	return a
}

// DecodeArrowStream decodes one body; a caller with more of them keeps an Arrow.
func DecodeArrowStream(body []byte, fields []column.Field, opt Options) (*Rows, error) {
	return NewArrow(fields, opt).Decode(body)
}

// stream is a body being read.
type stream struct {
	a      *Arrow
	budget budget
	// Where the message being read starts, and its number from 1.
	at, message int
	n           int               // rows of the batches before
	parts       [][]column.Column // per bind, a column per batch
	mask        []byte            // of the array being read: 0 where a value is to be taken for NULL; nil for none
	bad         map[int]*RowError // rows to leave out, from 1
	dicts       map[int64]dictionary
}

// Decode reads a body, a stream or a file: a schema, any number of dictionaries and record batches, and perhaps the end
// mark. The columns alias body wherever its layout is theirs, so the body is handed over: the caller
// must not write to it or reuse it as long as the rows live. Body itself is not changed. Errors are
// *StreamError, *SchemaError or *RowError, or wrap ErrTooLarge.
func (a *Arrow) Decode(body []byte) (*Rows, error) {
	s := &stream{a: a}
	s.budget.reset(&a.opt)
	pos, limit, err := s.bounds(body)
	if err != nil {
		return nil, err
	}
	for end := false; !end; {
		s.message++
		s.at = pos
		if pos, end, err = s.next(body[:limit], pos); err != nil {
			return nil, err
		}
	}
	return s.finish()
}

// garbage makes the error of a malformed message.
func (s *stream) garbage(format string, args ...any) error {
	return &StreamError{Message: s.message, Offset: s.at, Reason: fmt.Sprintf(format, args...)}
}

// next reads the message at body[pos:] and returns the place of the one after it.
//
//	ff ff ff ff | length int32 | metadata: a flatbuffer, padded | body
func (s *stream) next(body []byte, pos int) (int, bool, error) {
	rest := body[pos:]
	if len(rest) == 0 && s.message > 1 {
		return pos, true, nil
	}
	if err := s.checkStart(rest); err != nil {
		return 0, false, err
	}
	n := int(int32(le.Uint32(rest[4:])))
	rest = rest[8:]
	if n == 0 && s.message > 1 {
		if len(rest) > 0 {
			return 0, false, s.garbage("%d bytes follow the end mark", len(rest))
		}
		return pos, true, nil
	}
	if n <= 0 || n > len(rest) {
		return 0, false, s.garbage("the metadata is %d bytes long, and %d bytes are left", n, len(rest))
	}
	meta := flatbuf{b: rest[:n]}
	m := meta.root()
	version, kind := meta.integer(m, 0, 2, 0), meta.integer(m, 1, 1, 0)
	header, _ := meta.sub(m, 2)
	size := meta.integer(m, 3, 8, 0)
	switch {
	case meta.bad:
		return 0, false, s.garbage("the metadata is not a valid flatbuffer")
	case version != metadataV4 && version != metadataV5:
		return 0, false, s.garbage("metadata version %d: only versions 4 and 5 are read", version+1)
	case size < 0 || size > int64(len(rest)-n):
		return 0, false, s.garbage("the body is %d bytes long, and %d bytes are left", size, len(rest)-n)
	}
	msg := message{s: s, f: &meta, version: version, body: rest[n : n+int(size)], at: pos + 8 + n}
	return pos + 8 + n + int(size), false, s.take(kind, header, &msg)
}

// fileMark begins and ends an Arrow file.
const fileMark = "ARROW1"

// bounds returns where in body the messages lie. A file holds a stream between its marks, before a footer that says
// where to find what: it is for readers that jump, and only its length counts here.
//
//	ARROW1 00 00 | messages | footer | its length int32 | ARROW1
func (s *stream) bounds(body []byte) (from, to int, err error) {
	if !bytes.HasPrefix(body, []byte(fileMark)) {
		return 0, len(body), nil
	}
	const head, tail = 8, 4 + len(fileMark)
	s.message = 1
	if len(body) < head+tail || !bytes.HasSuffix(body, []byte(fileMark)) {
		return 0, 0, s.garbage("the Arrow file is cut short: it does not end with its mark")
	}
	n := int(int32(le.Uint32(body[len(body)-tail:])))
	if n <= 0 || n > len(body)-head-tail {
		return 0, 0, s.garbage("the Arrow file has a footer of %d bytes in a file of %d", n, len(body))
	}
	s.message = 0
	return head, len(body) - tail - n, nil
}

// checkStart refuses what does not start like a message.
func (s *stream) checkStart(rest []byte) error {
	switch {
	case len(rest) < 8:
		return s.garbage("the stream is cut short: %d bytes are left", len(rest))
	case le.Uint32(rest) != math.MaxUint32:
		return s.garbage("the message does not start with ff ff ff ff")
	}
	return nil
}

// take acts on a message by its kind.
func (s *stream) take(kind int64, header table, msg *message) error {
	switch {
	case s.message == 1 && kind != messageSchema:
		return s.garbage("a stream starts with a schema, and this is a message of kind %d", kind)
	case s.message == 1:
		if err := s.readSchema(msg.f, header); err != nil {
			return err
		}
		s.parts = make([][]column.Column, len(s.a.binds))
		return nil
	case kind == messageBatch:
		return s.readBatch(header, msg)
	case kind == messageDictionary:
		return s.readDictionary(header, msg)
	}
	return s.garbage("a message of kind %d has no place here", kind)
}

// readBatch reads a record batch.
func (s *stream) readBatch(header table, msg *message) error {
	arrays := 0
	for i := range s.a.binds {
		arrays += s.a.binds[i].arrays
	}
	n, err := msg.open(header, arrays)
	if err != nil {
		return err
	}
	if n > maxText-s.n {
		return fmt.Errorf("%w: more than 2^31 rows", ErrTooLarge)
	}
	solid := n == 0
	for i := range s.a.binds {
		b := &s.a.binds[i]
		solid = solid || b.t.layout != layoutNull
		c, err := s.readColumn(msg, b, n)
		if err != nil {
			return s.inColumn(b, err)
		}
		s.parts[i] = append(s.parts[i], c)
	}
	if !solid {
		return s.garbage("%d rows without a single value", n)
	}
	s.n += n
	return msg.close()
}

// readColumn takes the next array and returns it as a column of its column's type. Values that are bad are made NULL
// when their rows are to be left out.
func (s *stream) readColumn(msg *message, b *bind, n int) (column.Column, error) {
	nodes, buffers, variadic, left := msg.nodes, msg.buffers, msg.variadic, s.budget.left
	defer func() { s.mask = nil }()
	for tries := 0; ; tries++ {
		c, err := msg.column(&b.t, s.a.columnType(b.col), n)
		bad, ok := err.(*badValue)
		if !ok || s.a.Reading.OnError != OnErrorRow {
			return c, err
		}
		if tries == maxBadValues {
			return c, fmt.Errorf("%w: a batch has more than %d bad values in column %s, too many to leave their rows out", ErrTooLarge, maxBadValues, b.name)
		}
		s.leaveOut(&RowError{Row: s.n + bad.row + 1, Offset: -1, Column: b.name, Value: bad.value, Reason: bad.reason})
		if s.mask == nil {
			s.mask = column.NewBitmap(n, true)
		}
		column.ClearBit(s.mask, bad.row)
		msg.nodes, msg.buffers, msg.variadic, s.budget.left = nodes, buffers, variadic, left
	}
}

// maxBadValues is how many values of an array may be bad when their rows are left out: for each the array is read
// again, since the loops over values stop at the first that is bad.
const maxBadValues = 1000

// column takes the next array, of type t and n values, and returns it as a column of type to.
func (m *message) column(t *arrowType, to column.Type, n int) (c column.Column, err error) {
	switch {
	case t.enc != nil:
		c, err = m.s.readEncoded(m, t, n)
	case t.kids != nil:
		return m.nested(t, to, n)
	default:
		c, err = m.array(t, n)
	}
	if err != nil {
		return c, err
	}
	return m.s.fit(t, to, c)
}

// badValue is the error of a value in an array; inColumn says in which row and column it is.
type badValue struct {
	row           int
	value, reason string
}

func (e *badValue) Error() string { return fmt.Sprintf("value %d: %s: %s", e.row+1, e.reason, e.value) }

func (s *stream) inColumn(b *bind, err error) error {
	switch e := err.(type) {
	case *badValue:
		return &RowError{Row: s.n + e.row + 1, Offset: -1, Column: b.name, Value: e.value, Reason: e.reason}
	case *StreamError:
		e.Reason = fmt.Sprintf("column %q: %s", b.name, e.Reason)
	}
	return err
}
