package decode

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, b []byte) []byte {
	var w bytes.Buffer
	z := gzip.NewWriter(&w)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

func TestUncompress(t *testing.T) {
	plain := flowBody(5000)
	lim := Limits{MaxBytes: int64(len(plain)), MaxRatio: 100}
	bodies := map[string][]byte{"gzip": gzipped(t, plain), "zstd": zstded(t, plain), "": plain, "identity": plain, " GZIP ": gzipped(t, plain)}
	for enc, body := range bodies {
		for range 2 { // the second time with readers that were used
			got, err := Uncompress(enc, body, lim)
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%q: %d bytes, %v", enc, len(got), err)
			}
		}
		if _, err := Uncompress(enc, body, Limits{MaxBytes: int64(len(plain)) - 1}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%q over the limit: %v", enc, err)
		}
	}
	for enc, body := range map[string][]byte{"gzip": gzipped(t, nil), "zstd": zstded(t, nil)} {
		if got, err := Uncompress(enc, body, lim); err != nil || len(got) != 0 {
			t.Errorf("%s of nothing: %d bytes, %v", enc, len(got), err)
		}
	}
	if _, err := Uncompress("br", plain, lim); !errors.Is(err, ErrEncoding) {
		t.Errorf("an unknown encoding: %v", err)
	}
}

func TestUncompressBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	for enc, body := range map[string][]byte{"gzip": gzipped(t, zeros), "zstd": zstded(t, zeros)} {
		if _, err := Uncompress(enc, body, Limits{MaxBytes: 1 << 30, MaxRatio: 100}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s over the ratio: %v", enc, err)
		}
		if out, err := Uncompress(enc, body, Limits{MaxBytes: 1 << 30}); err != nil || len(out) != len(zeros) {
			t.Errorf("%s without a ratio: %v", enc, err)
		}
	}
}

func TestUncompressDamaged(t *testing.T) {
	seed := testSeed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	plain := flowBody(50)
	for enc, body := range map[string][]byte{"gzip": gzipped(t, plain), "zstd": zstded(t, plain)} {
		for i := range body {
			if out, err := Uncompress(enc, body[:i], Limits{MaxBytes: 1 << 20}); err == nil && (i > 0 || enc == "gzip") {
				t.Errorf("the first %d of %d bytes of %s gave %d bytes", i, len(body), enc, len(out))
			} else if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s cut at %d: %v", enc, i, err)
			}
		}
		for range 2000 {
			if out, err := Uncompress(enc, mutate(r, body), Limits{MaxBytes: 1 << 20}); len(out) > 1<<20 || err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("seed %d: %s: %d bytes, %v", seed, enc, len(out), err)
			}
		}
	}
}
