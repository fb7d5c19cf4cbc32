// Package export writes a relation, or what a query answers, to a file: CSV, JSON, NDJSON, Arrow or Parquet by the
// file's suffix, compressed when it ends in .gz or .zst. Rows stream through; the file has its name only once it is
// whole, so nobody reads half of one.
package export

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/klauspost/compress/zstd"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/views/plan/token"
)

// Format is how rows are written.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	JSON    Format = "json"
	NDJSON  Format = "ndjson"
	Arrow   Format = "arrow"  // an IPC file
	Stream  Format = "arrows" // an IPC stream
	Parquet Format = "parquet"
)

var suffixes = map[string]Format{
	".csv": CSV, ".json": JSON, ".ndjson": NDJSON, ".jsonl": NDJSON, ".arrow": Arrow, ".feather": Arrow, ".arrows": Stream,
	".ipc": Stream, ".parquet": Parquet, ".pq": Parquet,
}

// Options say what is written where.
type Options struct {
	// What is the name of a relation, or a query.
	What string
	// File gets the rows; "-" is Stdout.
	File   string
	Format Format // "" goes by the file's suffix
	Stdout io.Writer
	// Progress is told how many bytes have come; nil is nobody.
	Progress func(bytes int64)
}

// Result is what was written.
type Result struct {
	Bytes int64 // of the file
}

// Run writes the file. Errors of the server are *client.Error; a file that was there before stays as it was when
// there is one.
func Run(ctx context.Context, c *client.Client, o Options) (Result, error) {
	format, packed, err := o.format()
	if err != nil {
		return Result{}, err
	}
	if o.File == "-" {
		return write(ctx, c, &o, format, packed, o.Stdout)
	}
	tmp, err := os.CreateTemp(filepath.Dir(o.File), "."+filepath.Base(o.File)+"-*")
	if err != nil {
		return Result{}, err
	}
	r, err := write(ctx, c, &o, format, packed, tmp)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), o.File)
	}
	if err != nil {
		return Result{}, errors.Join(err, os.Remove(tmp.Name()))
	}
	return r, nil
}

// format decides the format and the compression by the file's name.
func (o *Options) format() (f Format, packed string, err error) {
	name := strings.ToLower(o.File)
	for _, suffix := range []string{".gz", ".zst"} {
		if rest, ok := strings.CutSuffix(name, suffix); ok {
			name, packed = rest, suffix
		}
	}
	if f = o.Format; f == "" {
		f = suffixes[filepath.Ext(name)]
	}
	switch f {
	case CSV, JSON, NDJSON, Arrow, Stream:
		return f, packed, nil
	case Parquet:
		if packed != "" {
			return "", "", fmt.Errorf("%s: Parquet is compressed inside: leave %s away", o.File, packed)
		}
		return f, packed, nil
	case "":
		return "", "", fmt.Errorf("the suffix of %s is none of .csv, .json, .ndjson, .arrow, .arrows and .parquet: give --format", o.File)
	}
	return "", "", fmt.Errorf("%q is no format: give csv, json, ndjson, arrow, arrows or parquet", f)
}

// SQL is the query for what is to be written: a name alone is a relation.
func SQL(what string) string {
	what = strings.TrimSuffix(strings.TrimSpace(what), ";")
	toks := token.Scan(what)
	if len(toks) == 1 && toks[0].Start == 0 {
		if name, ok := toks[0].Name(what); ok {
			return `SELECT * FROM "` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	return what
}

// accepts are the server's names of the formats; an Arrow file is made of a stream.
var accepts = map[Format]string{CSV: "csv", JSON: "json", NDJSON: "ndjson", Arrow: "arrow", Stream: "arrow", Parquet: "parquet"}

// write writes all rows to out.
func write(ctx context.Context, c *client.Client, o *Options, format Format, packed string, out io.Writer) (Result, error) {
	var r Result
	res, err := c.Do(ctx, http.MethodPost, "/sql?format="+accepts[format], []byte(SQL(o.What)), http.Header{"Content-Type": {client.TypeText}})
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	buffered := bufio.NewWriterSize(out, 1<<20)
	dst, err := pack(buffered, packed)
	if err != nil {
		return r, err
	}
	counted := &counter{w: dst, progress: o.Progress}
	if format == Arrow {
		err = copyFile(counted, res.Body)
	} else if _, err = io.Copy(counted, res.Body); err != nil {
		err = fmt.Errorf("the answer broke off: %w", err)
	}
	if err == nil {
		err = dst.Close()
	}
	if err == nil {
		err = buffered.Flush()
	}
	r.Bytes = counted.n
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return r, err
}

// nothing closes nothing.
type nothing struct{ io.Writer }

// Close implements io.Closer.
func (nothing) Close() error { return nil }

func pack(w io.Writer, packed string) (io.WriteCloser, error) {
	switch packed {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w)
	}
	return nothing{w}, nil
}

// counter counts what is written through it.
type counter struct {
	w        io.Writer
	n        int64
	progress func(int64)
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.n += int64(n); c.progress != nil {
		c.progress(c.n)
	}
	return n, err
}

// copyFile writes the batches of a stream as an Arrow file.
func copyFile(w io.Writer, body io.Reader) error {
	in, err := ipc.NewReader(body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	defer in.Release()
	out, err := ipc.NewFileWriter(w, ipc.WithSchema(in.Schema()))
	if err != nil {
		return err
	}
	for in.Next() {
		if err := out.Write(in.RecordBatch()); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the answer broke off: %w", err)
	}
	return out.Close()
}
