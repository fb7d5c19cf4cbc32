package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Format is how a file's rows are written.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	JSON    Format = "json"   // an array of objects, or objects
	NDJSON  Format = "ndjson" // an object a line
	Arrow   Format = "arrow"  // an IPC stream or file
	Parquet Format = "parquet"
)

// ParseFormat reads a format's name; "" stays "".
func ParseFormat(s string) (Format, error) {
	switch f := Format(strings.ToLower(s)); f {
	case "", CSV, JSON, NDJSON, Arrow, Parquet:
		return f, nil
	}
	return "", fmt.Errorf("%q is no format of files: give csv, json, ndjson, arrow or parquet", s)
}

var suffixes = map[string]Format{
	".csv": CSV, ".tsv": CSV, ".json": JSON, ".ndjson": NDJSON, ".jsonl": NDJSON, ".parquet": Parquet, ".pq": Parquet,
	".arrow": Arrow, ".arrows": Arrow, ".feather": Arrow, ".ipc": Arrow,
}

// input is one file.
type input struct {
	name   string // for people
	path   string // on disk: of a copy, for what came from standard input
	format Format
	packed string    // gzip, zstd or ""
	live   io.Reader // NDJSON that is read as it comes, in place of path
	size   int64
	lines  int64 // of a text file that is not compressed
}

// inputs are the files of a load, in order.
type inputs struct {
	files []*input
	temp  []string // copies to remove
	sum   string   // of the contents; "" when one is live
}

func (in *inputs) close() {
	for _, t := range in.temp {
		_ = os.Remove(t) // a copy that stays is in the temporary directory
	}
}

// open finds the files, decides their formats and reads each once for the sum.
func (l *loader) open() (_ *inputs, err error) {
	in := &inputs{}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	names, err := expand(l.Files)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f := &input{name: name, path: name}
		if name == "-" {
			f.name = "standard input"
			err = in.stdin(f, l)
		} else {
			err = f.detect(l.Format)
		}
		if err != nil {
			return nil, err
		}
		in.files = append(in.files, f)
	}
	return in, in.sums()
}

// expand replaces patterns by the files that they match, in the order of their names.
func expand(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		if _, err := os.Stat(name); name == "-" || err == nil || !strings.ContainsAny(name, "*?[") {
			out = append(out, name)
			continue
		}
		found, err := filepath.Glob(name)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", name, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no file matches %s", name)
		}
		out = append(out, found...)
	}
	if n := slices.Index(out, "-"); n >= 0 && slices.Contains(out[n+1:], "-") {
		return nil, errors.New("standard input can be read once only")
	}
	return out, nil
}

// detect decides a file's format and compression by its name, then by its first bytes.
func (f *input) detect(given Format) error {
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory: name its files, such as %s", f.name, filepath.Join(f.name, "*.parquet"))
	}
	f.size = info.Size()
	name := strings.ToLower(f.name)
	for suffix, packed := range map[string]string{".gz": "gzip", ".zst": "zstd"} {
		if rest, ok := strings.CutSuffix(name, suffix); ok {
			name, f.packed = rest, packed
		}
	}
	if f.format = given; f.format == "" {
		f.format = suffixes[filepath.Ext(name)]
	}
	if f.format != "" {
		return nil
	}
	r, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer r.Close()
	return f.sniff(bufio.NewReader(r))
}

// sniff decides by the first bytes, which stay in the reader.
func (f *input) sniff(r *bufio.Reader) error {
	if head, _ := r.Peek(4); f.packed == "" {
		switch {
		case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
			f.packed = "gzip"
		case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
			f.packed = "zstd"
		}
	}
	plain, err := unpack(r, f.packed)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	f.format, err = formatOf(bufio.NewReader(plain))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	return nil
}

func formatOf(r *bufio.Reader) (Format, error) {
	head, err := r.Peek(512)
	if len(head) == 0 {
		if errors.Is(err, io.EOF) {
			err = errors.New("there is nothing in it")
		}
		return "", err
	}
	switch text := bytes.TrimLeft(head, " \t\r\n\ufeff"); {
	case bytes.HasPrefix(head, []byte("ARROW1")), bytes.HasPrefix(head, []byte{0xff, 0xff, 0xff, 0xff}):
		return Arrow, nil
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet, nil
	case bytes.HasPrefix(text, []byte("{")):
		return NDJSON, nil
	case bytes.HasPrefix(text, []byte("[")):
		return JSON, nil
	}
	return CSV, nil
}

// unpack returns what a compressed stream holds.
func unpack(r io.Reader, packed string) (io.Reader, error) {
	switch packed {
	case "gzip":
		return gzip.NewReader(r)
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return r, nil
}

// stdin prepares standard input: NDJSON for a table that is there is read as it comes; everything else is copied
// to a file first, because its reader goes back and forth.
func (in *inputs) stdin(f *input, l *loader) error {
	if l.Stdin == nil {
		return errors.New("there is no standard input here: name a file")
	}
	head := bufio.NewReaderSize(l.Stdin, 64<<10)
	if h, _ := head.Peek(4); bytes.HasPrefix(h, []byte{0x1f, 0x8b}) {
		f.packed = "gzip"
	} else if bytes.HasPrefix(h, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		f.packed = "zstd"
	}
	plain, err := unpack(head, f.packed)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	f.packed = ""
	r := bufio.NewReaderSize(plain, 64<<10)
	if f.format = l.Format; f.format == "" {
		if f.format, err = formatOf(r); err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
	}
	if f.format == NDJSON && !l.Create {
		f.live = r
		return nil
	}
	tmp, err := os.CreateTemp("", "tidemill-*."+string(f.format))
	if err != nil {
		return fmt.Errorf("copy standard input: %w", err)
	}
	f.path = tmp.Name()
	in.temp = append(in.temp, f.path)
	f.size, err = io.Copy(tmp, r)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("copy standard input: %w", err)
	}
	return nil
}
