package commitlog

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzOpenAndRead replaces the content of the last segment behind its header, optionally with a checksum made
// right for the first record. Invariants:
//
//   - no panic, and no allocation beyond the file's size;
//   - Open and Next return *CorruptionError or records that are in the file, in sequence;
//   - a log that opens takes another record, and opens again with the same records and that one.
func FuzzOpenAndRead(f *testing.F) {
	fl, _, name, marks := sample(f, 2, false)
	f.Add(fl[name][segmentHeaderBytes:], false)
	f.Add(fl[name][segmentHeaderBytes:marks[2].off+5], true)
	f.Add([]byte{}, false)
	f.Add([]byte{40, 0, 0, 0, 0, 0, 0, 0, 11}, true)
	f.Add(bytes.Repeat([]byte{0xff}, 100), true)
	head, err := decodeSegmentHeader(fl[name])
	must(f, err)
	f.Fuzz(func(t *testing.T, body []byte, mend bool) {
		if len(body) > 64<<10 {
			return
		}
		b := append(bytes.Clone(fl[name][:segmentHeaderBytes]), body...)
		if mend && len(body) >= recordHeaderBytes {
			rec := b[segmentHeaderBytes:]
			h := decodeRecordHeader(rec)
			h.tag = head.tag()
			h.length = min(max(h.length, recordHeaderBytes), uint32(len(body)))
			h.seal(head.seed(), rec, rec[recordHeaderBytes:h.length])
		}
		fs := fl.mem(t, name, b)
		records := func() ([][]byte, *Log) {
			o := testOptions(fs, 1024)
			o.VerifyAll = true // a forged record may otherwise hide until it is read
			l, err := Open(o)
			var damage *CorruptionError
			if errors.As(err, &damage) {
				return nil, nil
			}
			must(t, err)
			_, got, err := readAll(l, 1)
			if errors.As(err, &damage) {
				return nil, nil
			}
			must(t, err)
			return got, l
		}
		got, l := records()
		if l == nil {
			return
		}
		for _, p := range got {
			if !bytes.Contains(b, p) && !containsAny(fl, p) {
				t.Fatalf("a payload of %d bytes is not in any file", len(p))
			}
		}
		if err := l.Append(l.Last()+1, []byte("one more")); err != nil {
			t.Fatal(err)
		}
		must(t, l.Sync())
		again, l := records()
		if l == nil || !equal(again, append(got, []byte("one more"))) {
			t.Fatalf("%d records and one more became %d", len(got), len(again))
		}
	})
}

func containsAny(fl files, p []byte) bool {
	for _, b := range fl {
		if bytes.Contains(b, p) {
			return true
		}
	}
	return false
}

// FuzzSegmentHeader decodes any 64 bytes: an accepted header encodes to the same bytes but for the reserved.
func FuzzSegmentHeader(f *testing.F) {
	var b [segmentHeaderBytes]byte
	segmentHeader{epoch: 3, salt: 5, size: 4096}.encode(b[:])
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < segmentHeaderBytes {
			return
		}
		h, err := decodeSegmentHeader(in[:segmentHeaderBytes])
		if err != nil {
			return
		}
		var out [segmentHeaderBytes]byte
		h.encode(out[:])
		if !bytes.Equal(out[:12], in[:12]) || !bytes.Equal(out[16:40], in[16:40]) {
			t.Fatalf("% x became % x", in[:segmentHeaderBytes], out)
		}
	})
}
