package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemill/cmd/tidemill/internal/client"
)

// bodyBytes is what an append's body should not exceed by much: half of what keeps a commit short, and far below
// every server's limit.
const bodyBytes = 8 << 20

// reader turns the files into chunks, one ahead of what is being sent.
type reader struct {
	l    *loader
	out  chan *chunk
	skip int64 // rows that are acknowledged
	pos  int64 // rows read
	most int64 // rows of a chunk, fewer when they are long
	// share of the files that come before the one that is read, and of that one, by size
	before, size, total float64
}

// read sends the chunks of all files to out, and closes it. Rows before skip are left out.
func (r *reader) read(ctx context.Context, in *inputs) error {
	defer close(r.out)
	for _, f := range in.files {
		r.total += float64(f.size)
	}
	for _, f := range in.files {
		r.size = float64(f.size)
		var err error
		if f.live != nil {
			err = r.lines(ctx, f)
		} else {
			err = r.file(ctx, f)
		}
		if err != nil {
			return err
		}
		r.before += r.size
	}
	if r.pos < r.skip {
		return fmt.Errorf("producer %s has appended %d rows, and the files have %d: they are other files, or fewer", r.l.result.Producer, r.skip, r.pos)
	}
	return nil
}

// share is how much of all files is done.
func (r *reader) share(ofFile float64) float64 {
	if ofFile < 0 || r.total == 0 {
		return -1
	}
	return (r.before + ofFile*r.size) / r.total
}

func (r *reader) send(ctx context.Context, c *chunk) error {
	select {
	case r.out <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// file reads one file.
func (r *reader) file(ctx context.Context, f *input) error {
	src, err := r.l.openSource(ctx, f)
	if err != nil {
		return err
	}
	defer src.close()
	a := &arrowChunk{}
	for {
		rec, err := src.next()
		if ended(err) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f.name, err)
		}
		a, err = r.batch(ctx, a, rec, src)
		rec.Release()
		if err != nil {
			return fmt.Errorf("read %s: %w", f.name, err)
		}
	}
	return r.finish(ctx, a, 1)
}

// batch adds the rows of a batch that have not been acknowledged, and sends chunks as they become full.
func (r *reader) batch(ctx context.Context, a *arrowChunk, rec arrow.RecordBatch, src source) (*arrowChunk, error) {
	plain, why := withoutRejects(rec)
	defer plain.Release()
	rows, err := withUUIDs(plain, r.l.field)
	if err != nil {
		return a, err
	}
	defer rows.Release()
	n := rows.NumRows()
	from := min(n, max(0, r.skip-r.pos))
	r.pos += from
	for from < n {
		// A run of good rows, up to the next bad one and to what the chunk has room for.
		to := from
		for to < n && why(int(to)) == nil && int64(len(a.rows))+to-from < r.most {
			to++
		}
		if err := a.add(rows, from, to); err != nil {
			return a, err
		}
		for ; from < to; from++ {
			a.rows = append(a.rows, r.pos)
			r.pos++
		}
		if from < n {
			if reject := why(int(from)); reject != nil {
				reject.Row = r.pos + 1
				a.rejected = append(a.rejected, *reject)
				r.pos++
				from++
			}
		}
		if int64(len(a.rows)) >= r.most || a.buf.Len() > bodyBytes || len(a.rejected) >= maxRejectsHeld {
			if err := r.finish(ctx, a, src.share()); err != nil {
				return a, err
			}
			a = &arrowChunk{}
		}
	}
	return a, nil
}

// maxRejectsHeld is how many rejects a chunk may collect before it is sent.
const maxRejectsHeld = 1000

// finish sends a chunk, unless nothing is in it.
func (r *reader) finish(ctx context.Context, a *arrowChunk, share float64) error {
	if len(a.rows) == 0 && len(a.rejected) == 0 {
		return nil
	}
	c, err := a.finish()
	if err != nil {
		return err
	}
	c.end, c.share = r.pos, r.share(share)
	return r.send(ctx, c)
}

// withoutRejects takes the column of rejects off a batch. The caller releases the batch; why, which says what is
// wrong with a row or returns nil, may be used while rec is held.
func withoutRejects(rec arrow.RecordBatch) (_ arrow.RecordBatch, why func(int) *Reject) {
	last := int(rec.NumCols()) - 1
	if last < 0 || rec.ColumnName(last) != rejectColumn {
		rec.Retain()
		return rec, func(int) *Reject { return nil }
	}
	reasons := rec.Column(last).(*array.String)
	schema := arrow.NewSchema(rec.Schema().Fields()[:last], nil)
	return array.NewRecordBatch(schema, rec.Columns()[:last], rec.NumRows()), func(i int) *Reject {
		if reasons.IsNull(i) {
			return nil
		}
		parts := strings.SplitN(reasons.Value(i), "\x00", 3)
		return &Reject{Column: strings.Clone(parts[0]), Value: strings.Clone(parts[2]), Reason: "not a " + strings.Clone(parts[1])}
	}
}

// lines reads NDJSON as it comes: a chunk is what is there, so that rows do not wait for more.
func (r *reader) lines(ctx context.Context, f *input) error {
	in := bufio.NewReaderSize(f.live, 1<<20)
	c := &chunk{mime: client.TypeNDJSON, share: -1}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", f.name, err)
		}
		end := err != nil
		if len(bytes.TrimSpace(line)) > 0 {
			if r.pos >= r.skip {
				if line[len(line)-1] != '\n' {
					line = append(line, '\n')
				}
				c.body, c.rows = append(c.body, line...), append(c.rows, r.pos)
			}
			r.pos++
		}
		idle := in.Buffered() == 0
		if len(c.rows) > 0 && (end || idle || int64(len(c.rows)) >= r.most || len(c.body) >= bodyBytes) {
			c.end = r.pos
			if err := r.send(ctx, c); err != nil {
				return err
			}
			c = &chunk{mime: client.TypeNDJSON, share: -1}
		}
		if end {
			return nil
		}
	}
}
