package commitlog

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// DefaultSegmentBytes is the size of a segment file. It bounds what Open must check, and the disk space
	// that trimming lags behind; doubled, both double, and segments are made half as often.
	DefaultSegmentBytes = 64 << 20

	// firstSegmentBytes bounds the first segment of a new log: writing and syncing a full one takes a quarter
	// of a second, which a start would wait for. The next is made in the background at the first append.
	firstSegmentBytes = 1 << 20

	minSegmentBytes = 256
)

// Options say where a log lives. FS and Dir are required.
type Options struct {
	// FS holds the files: vfs.Default, or a memory file system in tests.
	FS vfs.FS
	// Dir is made if it does not exist; its parent must exist durably.
	Dir string
	// SegmentBytes is the size of new segments, DefaultSegmentBytes if 0. A larger record gets a segment of
	// its own size. It may differ from one Open to the next.
	SegmentBytes int64
	// VerifyAll makes Open check every record. Otherwise it checks the newest segment and the first record of
	// each other, and the rest is checked when it is read.
	VerifyAll bool

	// salt replaces the random segment salts, for dumps that repeat.
	salt func() uint64
	// foreground makes segments when they are needed, for tests that count operations.
	foreground bool
}

func (o Options) withDefaults() (Options, error) {
	if o.FS == nil || o.Dir == "" {
		return o, errors.New("open commit log: FS and Dir are required")
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.SegmentBytes < minSegmentBytes {
		return o, fmt.Errorf("open commit log: segment size %d is below %d bytes", o.SegmentBytes, minSegmentBytes)
	}
	o.SegmentBytes = align(o.SegmentBytes)
	if o.salt == nil {
		o.salt = randomSalt
	}
	return o, nil
}

// randomSalt needs no secret, only a value that no earlier segment had.
func randomSalt() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
