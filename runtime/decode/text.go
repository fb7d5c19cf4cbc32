package decode

import (
	"math/bits"
	"unicode/utf8"
)

const (
	badUTF8      = "the string is not valid UTF-8"
	badControl   = "a control character in a string must be written as an escape"
	badEscape    = "the string has an unknown escape"
	badSurrogate = "the string has half of a surrogate pair"
)

const (
	low  = 0x0101010101010101
	high = 0x8080808080808080
)

// special marks (in the high bits of its bytes) the lowest byte of w that ends a plain run of a JSON
// string: a quote, a backslash, a control character or a byte beyond ASCII. Marks above the lowest
// one mean nothing.
func special(w uint64) uint64 {
	quote, slash := w^0x22*low, w^0x5c*low
	return ((quote-low)&^quote | (slash-low)&^slash | (w-0x20*low)&^w | w) & high
}

// plainEnd returns the place of the first special byte at or after b[j:], or len(b).
func plainEnd(b []byte, j int) int {
	for j+8 <= len(b) {
		if m := special(le.Uint64(b[j:])); m != 0 {
			return j + bits.TrailingZeros64(m)>>3
		}
		j += 8
	}
	for j < len(b) && b[j] != '"' && b[j] != '\\' && b[j] >= 0x20 && b[j] < 0x80 {
		j++
	}
	return j
}

// text reads the string at b[i:] into row d.n of the text column c.
func (d *NDJSON) text(c *target, b []byte, i int) (int, string) {
	s := i + 1
	j := plainEnd(b, s)
	if j < len(b) && b[j] == '"' {
		n, have := j-s, len(c.data)
		if n <= 16 && have+16 <= cap(c.data) && s+16 <= len(b) {
			// Two stores of 8 bytes; what lies past the text is overwritten by the next one.
			dst := c.data[have : have+16]
			le.PutUint64(dst, le.Uint64(b[s:]))
			le.PutUint64(dst[8:], le.Uint64(b[s+8:]))
			c.data = c.data[:have+n]
		} else {
			c.data = append(c.data, b[s:j]...)
		}
		c.offs[d.n+1] = int32(len(c.data))
		return j + 1, ""
	}
	out, end, reason := unquote(c.data, b, s, j)
	if reason != "" {
		return 0, reason
	}
	c.data = out
	c.offs[d.n+1] = int32(len(out))
	return end, ""
}

// str reads the string at b[i:] and returns its bytes, which alias b or d.scratch and hold until
// the next call.
func (d *NDJSON) str(b []byte, i int) (s []byte, end int, reason string) {
	j := plainEnd(b, i+1)
	if j < len(b) && b[j] == '"' {
		return b[i+1 : j], j + 1, ""
	}
	d.scratch, end, reason = unquote(d.scratch[:0], b, i+1, j)
	return d.scratch, end, reason
}

// unquote appends to out the string whose content starts at b[s:] and is plain up to b[j].
func unquote(out, b []byte, s, j int) (_ []byte, end int, reason string) {
	for {
		if j >= len(b) {
			return out, 0, cutShort
		}
		switch c := b[j]; {
		case c == '"':
			return append(out, b[s:j]...), j + 1, ""
		case c < 0x20:
			return out, 0, badControl
		case c == '\\':
			out = append(out, b[s:j]...)
			if out, j, reason = unescape(out, b, j+1); reason != "" {
				return out, 0, reason
			}
			s = j
		default:
			_, n := utf8.DecodeRune(b[j:])
			if n == 1 {
				return out, 0, badUTF8
			}
			j += n
		}
		for j < len(b) && b[j] >= 0x80 { // a run of other letters
			_, n := utf8.DecodeRune(b[j:])
			if n == 1 {
				return out, 0, badUTF8
			}
			j += n
		}
		j = plainEnd(b, j)
	}
}

// unescape appends what the escape after the backslash before b[j] stands for.
func unescape(out, b []byte, j int) (_ []byte, next int, reason string) {
	if j >= len(b) {
		return out, 0, cutShort
	}
	switch c := b[j]; c {
	case '"', '\\', '/':
		return append(out, c), j + 1, ""
	case 'b':
		return append(out, '\b'), j + 1, ""
	case 'f':
		return append(out, '\f'), j + 1, ""
	case 'n':
		return append(out, '\n'), j + 1, ""
	case 'r':
		return append(out, '\r'), j + 1, ""
	case 't':
		return append(out, '\t'), j + 1, ""
	case 'u':
	default:
		return out, 0, badEscape
	}
	r, ok := hex4(b, j+1)
	if !ok {
		return out, 0, badEscape
	}
	j += 5
	if r >= 0xD800 && r < 0xE000 {
		if r >= 0xDC00 || !hasPrefix(b, j, `\u`) {
			return out, 0, badSurrogate
		}
		second, ok := hex4(b, j+2)
		if !ok || second < 0xDC00 || second >= 0xE000 {
			return out, 0, badSurrogate
		}
		r = 0x10000 + (r-0xD800)<<10 + (second - 0xDC00)
		j += 6
	}
	return utf8.AppendRune(out, r), j, ""
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
