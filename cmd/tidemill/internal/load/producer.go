package load

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"
)

// sums reads every file once: its hash becomes part of the producer's name, so that a file that has changed is
// another load, and its lines tell how many rows to expect.
func (in *inputs) sums() error {
	h := xxh3.New()
	buf := make([]byte, 1<<20)
	for _, f := range in.files {
		if f.live != nil {
			return nil
		}
		r, err := os.Open(f.path)
		if err != nil {
			return err
		}
		for {
			n, err := r.Read(buf)
			_, _ = h.Write(buf[:n]) // never fails
			if f.packed == "" && (f.format == CSV || f.format == NDJSON) {
				f.lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return errors.Join(fmt.Errorf("read %s: %w", f.name, err), r.Close())
			}
		}
		if err := r.Close(); err != nil {
			return err
		}
		fmt.Fprintf(h, "/%d/", f.size)
	}
	sum := h.Sum128().Bytes()
	in.sum = hex.EncodeToString(sum[:8])
	return nil
}

// producer names the load: by the table, which counts as another when it is dropped and made again, and the
// contents of the files. A load that cannot be told from another has a random name.
func (l *loader) producer(id uint32, in *inputs) (string, error) {
	if l.Producer != "" {
		return l.Producer, nil
	}
	sum := in.sum
	if sum == "" || l.Again {
		sum = rand.Text()
	}
	name := []rune(l.Table)
	return fmt.Sprintf("append-%s-%d-%s", string(name[:min(len(name), 50)]), id, sum), nil
}
