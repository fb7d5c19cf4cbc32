package expr

import (
	"bytes"
	"math"
	"strings"

	"tidemill/state/column"
)

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// bytesAt returns argument i's text at a row, also of a value that stands for all rows.
func (k *kcall) bytesAt(i, row int) []byte {
	if k.args[i].konst {
		row = 0
	}
	return k.args[i].Bytes(row)
}

// asciiKernel maps text by bytes; what is not ASCII is left to DuckDB.
func asciiKernel(f func(b, s []byte) []byte) kernelFunc {
	return func(k *kcall) {
		outText(k, func(i int, b []byte) []byte {
			s := k.bytesAt(0, i)
			if !ascii(s) {
				k.leave(i)
				return b
			}
			return f(b, s)
		})
	}
}

func appendLower(b, s []byte) []byte {
	for _, c := range s {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

func appendUpper(b, s []byte) []byte {
	for _, c := range s {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// lengthKernel counts code points: the bytes that begin one.
func lengthKernel(k *kcall) {
	dst := outVals[int64](k)
	for i := range dst {
		n := 0
		for _, c := range k.bytesAt(0, i) {
			n += int(b2u(c&0xc0 != 0x80))
		}
		dst[i] = int64(n)
	}
}

func strlenKernel(k *kcall) {
	dst := outVals[int64](k)
	for i := range dst {
		dst[i] = int64(len(k.bytesAt(0, i)))
	}
}

// substringKernel is substring over ASCII with a positive start and no negative length.
func substringKernel(k *kcall) {
	for i := 1; i < len(k.args); i++ {
		k.spread(i)
	}
	from := viewAs[int64](&k.args[1])
	count := []int64(nil)
	if len(k.args) == 3 {
		count = viewAs[int64](&k.args[2])
	}
	outText(k, func(i int, b []byte) []byte {
		s := k.bytesAt(0, i)
		n := int64(math.MaxInt32)
		if count != nil {
			n = count[i]
		}
		if !ascii(s) || from[i] < 1 || n < 0 || from[i] > math.MaxInt32 || n > math.MaxInt32 {
			k.leave(i)
			return b
		}
		lo := min(from[i]-1, int64(len(s)))
		return append(b, s[lo:min(lo+n, int64(len(s)))]...)
	})
}

// farSubstring reports whether a start or length may be outside of the 33 bits that DuckDB allows.
func farSubstring(e *Expr) bool {
	for _, a := range e.Args[1:] {
		if a.Kind != Constant || a.Const == nil {
			return true
		}
		if v := rawInt(a.Const.Raw); v > math.MaxUint32 || v < -math.MaxUint32 {
			return true
		}
	}
	return false
}

func concatKernel(k *kcall) {
	outText(k, func(i int, b []byte) []byte {
		for a := range k.args {
			b = append(b, k.bytesAt(a, i)...)
		}
		return b
	})
}

// predicate makes a kernel of a test of two texts.
func predicate(f func(s, p []byte) bool) kernelFunc {
	return func(k *kcall) {
		dst := outVals[uint8](k)
		for i := range dst {
			dst[i] = b2u(f(k.bytesAt(0, i), k.bytesAt(1, i)))
		}
	}
}

// likeKernel is ~~ with a constant pattern of plain text and % alone; other patterns go to DuckDB.
func likeKernel(not bool) func(e *Expr) kernelFunc {
	return func(e *Expr) kernelFunc {
		p := e.Args[1]
		if p.Kind != Constant || p.Const == nil || p.Const.Null || bytes.ContainsAny(p.Const.Raw, `_\`) {
			return nil
		}
		pieces := bytes.Split(p.Const.Raw, []byte("%"))
		return func(k *kcall) {
			dst := outVals[uint8](k)
			for i := range dst {
				dst[i] = b2u(like(k.bytesAt(0, i), pieces) != not)
			}
		}
	}
}

// like reports whether s is the pieces in order with anything between them.
func like(s []byte, pieces [][]byte) bool {
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return bytes.Equal(s, first)
	}
	if !bytes.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for _, p := range pieces[1 : len(pieces)-1] {
		i := bytes.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return bytes.HasSuffix(s, last)
}

// trimKernel cuts blanks, the characters that DuckDB's trim cuts without a second argument.
func trimKernel(cut func(s []byte, cutset string) []byte) kernelFunc {
	return asciiKernel(func(b, s []byte) []byte { return append(b, cut(s, " ")...) })
}

func replaceKernel(k *kcall) {
	outText(k, func(i int, b []byte) []byte {
		s, old, with := k.bytesAt(0, i), k.bytesAt(1, i), k.bytesAt(2, i)
		if len(old) == 0 {
			return append(b, s...)
		}
		for {
			j := bytes.Index(s, old)
			if j < 0 {
				return append(b, s...)
			}
			b = append(append(b, s[:j]...), with...)
			s = s[j+len(old):]
		}
	})
}

// text is the functions of VARCHAR.
func text() []native {
	const v = column.Varchar
	one, two, three := []column.Kind{v}, []column.Kind{v, v}, []column.Kind{v, v, v}
	var out []native
	add := func(names string, args []column.Kind, ret column.Kind, fn kernelFunc) {
		for _, name := range strings.Fields(names) {
			out = append(out, native{name: name, args: args, ret: ret, fn: fn})
		}
	}
	add("lower lcase", one, v, asciiKernel(appendLower))
	add("upper ucase", one, v, asciiKernel(appendUpper))
	add("length len char_length character_length", one, column.Int64, lengthKernel)
	add("strlen", one, column.Int64, strlenKernel)
	add("trim", one, v, trimKernel(bytes.Trim))
	add("ltrim", one, v, trimKernel(bytes.TrimLeft))
	add("rtrim", one, v, trimKernel(bytes.TrimRight))
	add("||", two, v, concatKernel)
	add("replace", three, v, replaceKernel)
	add("prefix starts_with", two, column.Bool, predicate(bytes.HasPrefix))
	add("suffix ends_with", two, column.Bool, predicate(bytes.HasSuffix))
	add("contains", two, column.Bool, predicate(bytes.Contains))
	for _, name := range []string{"substring", "substr"} {
		out = append(out,
			native{name: name, args: []column.Kind{v, column.Int64}, ret: v, fn: substringKernel, fallible: farSubstring},
			native{name: name, args: []column.Kind{v, column.Int64, column.Int64}, ret: v, fn: substringKernel, fallible: farSubstring})
	}
	return append(out,
		native{name: "~~", args: two, ret: column.Bool, prepare: likeKernel(false)},
		native{name: "!~~", args: two, ret: column.Bool, prepare: likeKernel(true)})
}
