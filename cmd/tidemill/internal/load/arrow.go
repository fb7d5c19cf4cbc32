package load

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/state/column"
)

// arrowSource reads an Arrow IPC file or stream. Its columns get the names of the table's.
type arrowSource struct {
	file   *os.File
	plain  io.Reader // of a stream
	random *ipc.FileReader
	stream *ipc.Reader
	at     int // batch of a file
	size   int64
	pick   []int
	schema *arrow.Schema
}

// openArrowFile opens either form.
func openArrowFile(f *input) (_ *arrowSource, err error) {
	s := &arrowSource{size: f.size}
	if s.file, err = os.Open(f.path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
			err = fmt.Errorf("read %s: %w", f.name, err)
		}
	}()
	if s.plain, err = unpack(bufio.NewReaderSize(s.file, 1<<20), f.packed); err != nil {
		return nil, err
	}
	plain := bufio.NewReaderSize(s.plain, 64<<10)
	head, _ := plain.Peek(6) // the readers below say what is wrong with a short file
	if string(head) != "ARROW1" {
		if s.stream, err = ipc.NewReader(plain); err == nil {
			s.schema = s.stream.Schema()
		}
		return s, err
	}
	if f.packed != "" {
		return nil, fmt.Errorf("an Arrow file that is compressed as a whole cannot be read: unpack it first, or use an Arrow stream")
	}
	if s.random, err = ipc.NewFileReader(s.file); err == nil {
		s.schema = s.random.Schema()
	}
	return s, err
}

func (l *loader) openArrow(f *input) (*arrowSource, error) {
	s, err := openArrowFile(f)
	if err != nil {
		return nil, err
	}
	names := make([]string, s.schema.NumFields())
	for i, f := range s.schema.Fields() {
		names[i] = f.Name
	}
	fields, at, err := l.check(f.name, names)
	if err != nil {
		s.close()
		return nil, err
	}
	s.pick = at
	picked := make([]arrow.Field, len(at))
	for i, c := range at {
		picked[i] = s.schema.Field(c)
		picked[i].Name = fields[i].Name
	}
	s.schema = arrow.NewSchema(picked, nil)
	return s, nil
}

func (s *arrowSource) next() (arrow.RecordBatch, error) {
	var rec arrow.RecordBatch
	if s.random != nil {
		if s.at == s.random.NumRecords() {
			return nil, io.EOF
		}
		var err error
		if rec, err = s.random.RecordBatch(s.at); err != nil {
			return nil, err
		}
		defer rec.Release()
		s.at++
	} else {
		if !s.stream.Next() {
			if err := s.stream.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		rec = s.stream.RecordBatch()
	}
	cols := make([]arrow.Array, len(s.pick))
	for i, c := range s.pick {
		cols[i] = rec.Column(c)
	}
	return array.NewRecordBatch(s.schema, cols, rec.NumRows()), nil
}

func (s *arrowSource) share() float64 {
	if s.random != nil {
		return float64(s.at) / float64(max(1, s.random.NumRecords()))
	}
	at, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil || s.size == 0 {
		return -1
	}
	return float64(at) / float64(s.size)
}

func (s *arrowSource) close() {
	if s.stream != nil {
		s.stream.Release()
	}
	if s.random != nil {
		_ = s.random.Close() // it was only read
	}
	if c, ok := s.plain.(io.Closer); ok {
		_ = c.Close()
	}
	_ = s.file.Close()
}

// columnsOf returns the columns of an Arrow file with the SQL types that hold them.
func columnsOf(f *input) ([]fileColumn, error) {
	s, err := openArrowFile(f)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var out []fileColumn
	for _, field := range s.schema.Fields() {
		t, err := column.FromArrowType(field.Type, field.Metadata)
		if err != nil {
			return nil, fmt.Errorf("read %s: column %s: %w", f.name, field.Name, err)
		}
		out = append(out, fileColumn{field.Name, t.String()})
	}
	return out, nil
}
