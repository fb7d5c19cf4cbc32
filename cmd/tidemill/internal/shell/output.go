package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/table"
)

// Format is how answers are printed.
type Format string

// The formats.
const (
	FormatTable Format = "table"
	FormatJSON  Format = "json"
	FormatCSV   Format = "csv"
	FormatArrow Format = "arrow"
)

// ParseFormat reads a format's name.
func ParseFormat(s string) (Format, error) {
	switch f := Format(strings.ToLower(s)); f {
	case FormatTable, FormatJSON, FormatCSV, FormatArrow:
		return f, nil
	}
	return "", fmt.Errorf("%q is no format: give table, json, csv or arrow", s)
}

// answer runs a statement and prints its rows.
func (s *Session) answer(ctx context.Context, sql string) error {
	format := s.Format
	if format == FormatTable {
		format = FormatArrow
	}
	res, err := s.Client.Do(ctx, http.MethodPost, "/sql?format="+string(format), []byte(sql), http.Header{"Content-Type": {client.TypeText}})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if s.Format != FormatTable {
		return s.copy(res.Body)
	}
	r, err := ipc.NewReader(res.Body)
	if err != nil {
		return broken(ctx, err)
	}
	defer r.Release()
	w := table.New(s.Out, r.Schema(), s.tableOptions(r.Schema()))
	for r.Next() {
		if err := w.Add(r.RecordBatch()); err != nil {
			return outputError{err}
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		_ = w.Close() // what came is shown; the reader's error says more
		return broken(ctx, err)
	}
	if err := w.Close(); err != nil {
		return outputError{err}
	}
	return nil
}

// copy passes an answer on as it comes.
func (s *Session) copy(body io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if _, werr := s.Out.Write(buf[:n]); werr != nil {
			return outputError{werr}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *Session) tableOptions(schema *arrow.Schema) table.Options {
	o := table.Options{Width: s.Width(), Unicode: s.Unicode, Color: s.Color, MaxRows: s.MaxRows, Null: "NULL", Expanded: s.expanded == expandedRecords}
	if s.expanded == whenTooWide && o.Width > 0 {
		o.Expanded = schema.NumFields()*9 > o.Width // no column keeps more than a few characters
	}
	return o
}

// outputError is a failure to print.
type outputError struct{ error }

// broken is the error of an answer that ended before its time.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the answer broke off: %w", err)
}

// isConnection reports whether an error is about reaching the server.
func isConnection(err error) bool {
	if _, ok := errors.AsType[outputError](err); ok {
		return false
	}
	var op net.Error
	_, sent := errors.AsType[*url.Error](err)
	return sent || errors.As(err, &op) || errors.Is(err, io.ErrUnexpectedEOF)
}
