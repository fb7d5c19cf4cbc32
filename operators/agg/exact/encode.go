package exact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrEncoding is returned by [Decode] for bytes that [Sum.AppendTo] does not
// write: cut short, out of range, or not the one encoding of their content.
var ErrEncoding = errors.New("malformed exact sum")

// Frozen: the flags of the first byte, see FORMAT.md.
const (
	flagNegative = 1 << 0
	flagFinite   = 1 << 1
	flagNaN      = 1 << 2
	flagPosInf   = 1 << 3
	flagNegInf   = 1 << 4
	flagsKnown   = 1<<5 - 1
)

// maxEncodedBits bounds the highest bit of a decoded sum, so that 2^62 of them
// can be merged without leaving the accumulator.
const maxEncodedBits = 64 * (accumulatorWords - 1)

// AppendTo appends the canonical encoding of s to dst: sums with the same exact
// content have the same bytes, whatever additions led there. Typically it has
// 12 bytes; an empty sum has one.
func (s *Sum) AppendTo(dst []byte) []byte {
	c := s.wide.specials()
	var flags byte
	for i, n := range [...]int64{c.nan, c.posInf, c.negInf} {
		if n != 0 {
			flags |= flagNaN << i
		}
	}
	if s.wide != nil && s.wide.acc != nil {
		t := s.total()
		neg := t.abs()
		dst = appendFinite(dst, flags, neg, t[:t.top()], 0)
	} else {
		neg, m := s.window()
		words := [2]uint64{m.lo, m.hi}
		dst = appendFinite(dst, flags, neg, words[:], s.base())
	}
	for _, n := range [...]int64{c.nan, c.posInf, c.negInf} {
		if n != 0 {
			dst = binary.AppendVarint(dst, n)
		}
	}
	return dst
}

// appendFinite appends the first byte and the magnitude in words, lowest
// first, times 2^(pos-1074).
func appendFinite(dst []byte, flags byte, neg bool, words []uint64, pos int) []byte {
	for len(words) > 0 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return append(dst, flags)
	}
	for words[0] == 0 {
		words, pos = words[1:], pos+64
	}
	by := uint(bits.TrailingZeros64(words[0]))
	pos += int(by)
	flags |= flagFinite
	if neg {
		flags |= flagNegative
	}
	last := len(words) - 1
	size := (64*last + bits.Len64(words[last]) - int(by) + 7) / 8
	dst = append(dst, flags)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(pos))
	dst = binary.AppendUvarint(dst, uint64(size))
	end := len(dst) + size
	for i, w := range words {
		w >>= by
		if i < last {
			w |= words[i+1] << (64 - by)
		}
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst[:end]
}

// Decode reads a sum from the front of b and returns the bytes after it. It
// accepts only the canonical encoding, and its errors wrap [ErrEncoding]. The
// sum keeps no reference to b.
func Decode(b []byte) (s Sum, rest []byte, err error) {
	if len(b) == 0 {
		return Sum{}, nil, fmt.Errorf("%w: no bytes", ErrEncoding)
	}
	flags, rest := b[0], b[1:]
	if flags&^flagsKnown != 0 || flags&(flagFinite|flagNegative) == flagNegative {
		return Sum{}, nil, fmt.Errorf("%w: flags %#02x", ErrEncoding, flags)
	}
	if flags&flagFinite != 0 {
		if rest, err = s.decodeFinite(rest, flags&flagNegative != 0); err != nil {
			return Sum{}, nil, err
		}
	}
	var c counts
	for i, n := range [...]*int64{&c.nan, &c.posInf, &c.negInf} {
		if flags&(flagNaN<<i) == 0 {
			continue
		}
		v, size := binary.Varint(rest)
		if size <= 0 || v == 0 || size > 1 && rest[size-1] == 0 {
			return Sum{}, nil, fmt.Errorf("%w: count", ErrEncoding)
		}
		*n, rest = v, rest[size:]
	}
	if c != (counts{}) {
		s.ensureWide().counts = c
	}
	return s, rest, nil
}

// decodeFinite reads the place and magnitude of the empty sum s.
func (s *Sum) decodeFinite(b []byte, neg bool) (rest []byte, err error) {
	if len(b) < 3 {
		return nil, fmt.Errorf("%w: cut short", ErrEncoding)
	}
	pos := int(binary.LittleEndian.Uint16(b))
	size, n := binary.Uvarint(b[2:])
	if n <= 0 || n > 1 && b[2+n-1] == 0 {
		return nil, fmt.Errorf("%w: magnitude size", ErrEncoding)
	}
	b = b[2+n:]
	if size == 0 || size > uint64(len(b)) || size > maxEncodedBits/8 {
		return nil, fmt.Errorf("%w: magnitude of %d bytes", ErrEncoding, size)
	}
	mag, rest := b[:size], b[size:]
	length := 8*(len(mag)-1) + bits.Len8(mag[len(mag)-1])
	if mag[0]&1 == 0 || mag[len(mag)-1] == 0 || pos+length > maxEncodedBits {
		return nil, fmt.Errorf("%w: magnitude at %d not normal", ErrEncoding, pos)
	}
	if len(mag) <= 16 {
		var words [16]byte
		copy(words[:], mag)
		s.addAt(neg, uint128{
			hi: binary.LittleEndian.Uint64(words[8:]),
			lo: binary.LittleEndian.Uint64(words[:]),
		}, pos)
		return rest, nil
	}
	acc := s.accumulator()
	for i := 0; i < len(mag); i += 8 {
		var word [8]byte
		copy(word[:], mag[i:])
		acc.add(neg, uint128{lo: binary.LittleEndian.Uint64(word[:])}, pos+8*i)
	}
	return rest, nil
}
