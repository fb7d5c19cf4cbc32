package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// On disk, frozen: FORMAT.md draws it. All integers are little endian.
const (
	formatMagic   = "TMCOMLOG"
	formatVersion = 1

	segmentHeaderBytes = 64
	recordHeaderBytes  = 32
	recordAlignment    = 8

	segmentSuffix = ".log"

	// MaxPayloadBytes bounds one record. The length field would allow four times as much; a commit is far
	// smaller, and a reader must hold a record in memory.
	MaxPayloadBytes = 1 << 30
)

// Names of files that are no part of the log: a segment in the making, and a trimmed one kept for reuse.
const (
	tempSuffix  = ".tmp"
	spareSuffix = ".spare"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func align(n int64) int64 { return (n + recordAlignment - 1) &^ (recordAlignment - 1) }

// segmentHeader is the first 64 bytes of a segment file.
type segmentHeader struct {
	epoch uint64 // 1, 2, 3 ... in a directory; also the file's name
	salt  uint64 // random, unknown to those who write payloads
	size  int64  // of the whole file
}

func (h segmentHeader) encode(b []byte) {
	clear(b[:segmentHeaderBytes])
	copy(b, formatMagic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	binary.LittleEndian.PutUint64(b[16:], h.epoch)
	binary.LittleEndian.PutUint64(b[24:], h.salt)
	binary.LittleEndian.PutUint64(b[32:], uint64(h.size))
	binary.LittleEndian.PutUint32(b[12:], segmentHeaderCRC(b))
}

func segmentHeaderCRC(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[16:segmentHeaderBytes])
}

// decodeSegmentHeader returns ErrVersion for an intact header of another version, and any other error for
// damage.
func decodeSegmentHeader(b []byte) (segmentHeader, error) {
	var h segmentHeader
	if string(b[:8]) != formatMagic {
		return h, errors.New("segment header: wrong magic")
	}
	if want, got := binary.LittleEndian.Uint32(b[12:]), segmentHeaderCRC(b); want != got {
		return h, fmt.Errorf("segment header: checksum is %08x, stored %08x", got, want)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != formatVersion {
		return h, fmt.Errorf("%w: version %d, this program knows %d", ErrVersion, v, formatVersion)
	}
	h.epoch = binary.LittleEndian.Uint64(b[16:])
	h.salt = binary.LittleEndian.Uint64(b[24:])
	h.size = int64(binary.LittleEndian.Uint64(b[32:]))
	if h.size < segmentHeaderBytes || h.size%recordAlignment != 0 {
		return h, fmt.Errorf("segment header: impossible size %d", h.size)
	}
	return h, nil
}

// seed starts the checksum of each record of the segment, so that a record of another segment, or of an
// earlier life of the file, is never valid here.
func (h segmentHeader) seed() uint32 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[0:], h.epoch)
	binary.LittleEndian.PutUint64(b[8:], h.salt)
	return crc32.Checksum(b[:], castagnoli)
}

// tag stands in each record header, where a search for records looks first.
func (h segmentHeader) tag() uint32 { return uint32(h.salt) }

// recordHeader stands before each payload, and alone, with length 0, after the last record: the end mark.
type recordHeader struct {
	length uint32 // of header and payload; 0 in the end mark
	crc    uint32
	seq    uint64 // of the end mark: of the record that would come here
	synced uint64 // the log was durable up to here when this was written
	prev   uint32 // crc of the record before, across segments; 0 for record 1
	tag    uint32
}

func (h recordHeader) encode(b []byte) {
	binary.LittleEndian.PutUint32(b[0:], h.length)
	binary.LittleEndian.PutUint32(b[4:], h.crc)
	binary.LittleEndian.PutUint64(b[8:], h.seq)
	binary.LittleEndian.PutUint64(b[16:], h.synced)
	binary.LittleEndian.PutUint32(b[24:], h.prev)
	binary.LittleEndian.PutUint32(b[28:], h.tag)
}

func decodeRecordHeader(b []byte) recordHeader {
	return recordHeader{
		length: binary.LittleEndian.Uint32(b[0:]),
		crc:    binary.LittleEndian.Uint32(b[4:]),
		seq:    binary.LittleEndian.Uint64(b[8:]),
		synced: binary.LittleEndian.Uint64(b[16:]),
		prev:   binary.LittleEndian.Uint32(b[24:]),
		tag:    binary.LittleEndian.Uint32(b[28:]),
	}
}

// headerCRC is the checksum over an encoded header without its crc field; the payload is added to it.
func headerCRC(seed uint32, b []byte) uint32 {
	return crc32.Update(crc32.Update(seed, castagnoli, b[0:4]), castagnoli, b[8:recordHeaderBytes])
}

// seal encodes h into b with the checksum over b and the parts, and returns the checksum.
func (h recordHeader) seal(seed uint32, b []byte, parts ...[]byte) uint32 {
	h.encode(b)
	crc := headerCRC(seed, b)
	for _, p := range parts {
		crc = crc32.Update(crc, castagnoli, p)
	}
	binary.LittleEndian.PutUint32(b[4:], crc)
	return crc
}

func segmentName(epoch uint64) string { return fmt.Sprintf("%020d%s", epoch, segmentSuffix) }

// parseSegmentName returns the epoch, and false for any other file.
func parseSegmentName(name string) (uint64, bool) {
	digits, found := strings.CutSuffix(name, segmentSuffix)
	if !found || len(digits) != 20 {
		return 0, false
	}
	epoch, err := strconv.ParseUint(digits, 10, 64)
	return epoch, err == nil && epoch > 0
}
