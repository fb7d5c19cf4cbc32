package column

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
)

// AppendJSON appends the value at row i as JSON. Integers (HUGEINT and UHUGEINT too), decimals and finite floats
// are numbers with all their digits; NaN and the infinities are the strings "NaN", "Infinity" and
// "-Infinity"; BOOLEAN is true or false; NULL is null; nested types are arrays and objects; all else is AppendText's text as a string.
func AppendJSON(dst []byte, c *Column, i int) []byte {
	if c.IsNull(i) {
		return append(dst, "null"...)
	}
	switch c.Type.Kind {
	case Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, HugeInt, UHugeInt:
		return AppendText(dst, c, i)
	case Decimal: // JSON insists on a digit before the point
		return appendDecimal(dst, value[Int128](c, i), int(c.Type.Scale), true)
	case Float:
		return appendJSONFloat(dst, float64(value[float32](c, i)), 32)
	case Double:
		return appendJSONFloat(dst, value[float64](c, i), 64)
	case Varchar, JSON:
		return AppendJSONString(dst, c.Bytes(i))
	case Enum:
		return AppendJSONString(dst, []byte(c.Type.Labels()[c.place(i)]))
	case List, Array, Struct, Map, Union:
		return appendNestedJSON(dst, c, i)
	case Blob:
		return append(appendBlob(append(dst, '"'), c.Bytes(i), `\\x`), '"')
	}
	return append(AppendText(append(dst, '"'), c, i), '"')
}

func appendJSONFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case v != v:
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return appendFloat(dst, v, bits)
}

// AppendJSONString appends text as a JSON string. Bytes that are not UTF-8 become U+FFFD, so that
// the answer is JSON whatever text is.
func AppendJSONString(dst, text []byte) []byte {
	dst = append(dst, '"')
	for len(text) > 0 {
		n := plainPrefix(text)
		dst = append(dst, text[:n]...)
		if n == len(text) {
			break
		}
		text = text[n:]
		x := text[0]
		if x < utf8.RuneSelf {
			dst = appendJSONEscape(dst, x)
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, "\uFFFD"...)
		} else {
			dst = append(dst, text[:size]...)
		}
		text = text[size:]
	}
	return append(dst, '"')
}

// plainPrefix returns how many bytes at the start of b are ASCII that needs no escape. It tests
// eight at a time: in each byte the high bit comes up if the byte is above 0x7f, below 0x20, a quote
// or a backslash. A borrow can raise the bit above a byte that has it already, never below one, so
// the lowest bit found is exact.
func plainPrefix(b []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		special := (w | (w - ones*0x20) | (quote - ones) | (slash - ones)) & high
		if special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for ; n < len(b); n++ {
		if x := b[n]; x < ' ' || x == '"' || x == '\\' || x >= utf8.RuneSelf {
			break
		}
	}
	return n
}

func appendJSONEscape(dst []byte, x byte) []byte {
	switch x {
	case '"', '\\':
		return append(dst, '\\', x)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(append(dst, `\u00`...), lowerHex[x>>4], lowerHex[x&15])
}
