package column

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrText is wrapped by the errors of ParseText.
var ErrText = errors.New("invalid value")

// textError is an error that quotes the text and names the type.
type textError struct {
	text, why string
	t         Type
}

func (e *textError) Error() string {
	s := e.text
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "..."
	}
	if e.why == "" {
		return fmt.Sprintf("%q is not a valid %v", s, e.t)
	}
	return fmt.Sprintf("%q is not a valid %v: %s", s, e.t, e.why)
}

func (e *textError) Unwrap() error { return ErrText }

// ParseText reads a value of type t from text and returns its bytes, as Builder.AppendRaw takes
// them. It reads everything that AppendText prints, NULL excepted, and no more than DuckDB's cast from
// VARCHAR does, with the value that DuckDB gives (in a session whose time zone is UTC). It is
// stricter where DuckDB guesses or loses something:
//
//   - Numbers: digits, a point, an exponent. Integers and decimals must be exact: 1.50 is a
//     DECIMAL(4,1), 1.25 is not (DuckDB rounds it). A float out of range is refused (inf in DuckDB).
//   - BOOLEAN: true, false, t, f, 1, 0 in either case.
//   - DATE: year of at least four digits, month, day; after it " (BC)"; infinity, -infinity.
//   - TIME: 03:04, 03:04:05, 03:04:05.123456. Timestamps: a date, or a date, a blank or T, and a time,
//     and Z. Only TIMESTAMPTZ takes an offset (+02, +02:30, +0230, +02:30:15), since DuckDB reads a
//     TIMESTAMP as if its offset were not there; a TIMESTAMPTZ without one is UTC.
//   - Decimals of a second beyond the microsecond (the nanosecond in TIMESTAMP_NS) are cut off, as
//     DuckDB does; TIMESTAMP_S and _MS round half away from zero then, as DuckDB does.
//   - UUID: 36 characters, or the 32 digits. BLOB: ASCII with \x00 escapes. VARCHAR: UTF-8.
//   - INTERVAL: only as printed, such as 1 year 2 months -3 days 04:05:06.7.
//
// Errors wrap ErrText and quote the text.
func ParseText(t Type, s string) ([]byte, error) {
	return AppendParsed(make([]byte, 0, max(t.Size(), 8)), t, s)
}

// AppendParsed is ParseText that appends the value's bytes to dst.
func AppendParsed(dst []byte, t Type, s string) ([]byte, error) {
	out, why, ok := appendParsed(dst, t, s)
	if !ok {
		return dst, &textError{text: s, why: why, t: t}
	}
	return out, nil
}

func appendParsed(dst []byte, t Type, s string) (out []byte, why string, ok bool) {
	switch t.Kind {
	case Varchar, JSON:
		if !utf8.ValidString(s) {
			return dst, "it is not UTF-8", false
		}
		if t.Kind == JSON && !json.Valid([]byte(s)) {
			return dst, "it is not JSON", false
		}
		return append(dst, s...), "", true
	case BitString:
		return parseBits(dst, s)
	case Enum:
		p, ok := t.Place(s)
		if !ok {
			return dst, "it is none of the labels", false
		}
		return append(dst, binary.LittleEndian.AppendUint32(nil, p)[:t.Size()]...), "", true
	case Blob:
		return parseBlob(dst, s)
	case Bool:
		v, ok := parseBool(s)
		return append(dst, v), "", ok
	case Float, Double:
		return parseFloat(dst, t, s)
	case Decimal, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, HugeInt, UHugeInt:
		return parseExact(dst, t, s)
	case Date:
		day, why, ok := parseDate(s)
		return binary.LittleEndian.AppendUint32(dst, uint32(day)), why, ok
	case Time:
		us, why, ok := parseTime(s)
		return binary.LittleEndian.AppendUint64(dst, uint64(us)), why, ok
	case TimeNS:
		ns, why, ok := parseTimeNS(s)
		return binary.LittleEndian.AppendUint64(dst, uint64(ns)), why, ok
	case TimeTZ:
		v, why, ok := parseTimeTZ(s)
		return binary.LittleEndian.AppendUint64(dst, uint64(v)), why, ok
	case TimestampS, TimestampMS, Timestamp, TimestampNS, TimestampTZ:
		v, why, ok := parseTimestamp(t.Kind, s)
		return binary.LittleEndian.AppendUint64(dst, uint64(v)), why, ok
	case Interval:
		v, ok := parseInterval(s)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v.Months))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v.Days))
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Micros)), "", ok
	case UUID:
		return parseUUID(dst, s)
	case List, Array, Struct, Map, Union:
		return dst, "a value of a nested type is read from JSON", false
	}
	panic("column: no reader of text for " + t.String())
}

func parseBool(s string) (v byte, ok bool) {
	switch {
	case s == "1" || strings.EqualFold(s, "true") || strings.EqualFold(s, "t"):
		return 1, true
	case s == "0" || strings.EqualFold(s, "false") || strings.EqualFold(s, "f"):
		return 0, true
	}
	return 0, false
}

// nanBits is the NaN that DuckDB makes of 'nan'; Go's has another bit set.
const nanBits = 0x7ff8000000000000

func parseFloat(dst []byte, t Type, s string) ([]byte, string, bool) {
	v := 0.0
	unsigned := s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		unsigned = s[1:]
	}
	switch {
	case strings.HasPrefix(unsigned, "-") || strings.HasPrefix(unsigned, "+"):
		return dst, "", false
	case strings.EqualFold(unsigned, "nan"):
		v = math.Float64frombits(nanBits)
	case strings.EqualFold(unsigned, "inf") || strings.EqualFold(unsigned, "infinity"):
		v = math.Inf(1)
	default:
		if strings.Trim(unsigned, "0123456789.eE+-") != "" { // no 0x10, 1_000
			return dst, "", false
		}
		var err error
		if v, err = strconv.ParseFloat(unsigned, t.Size()*8); errors.Is(err, strconv.ErrRange) {
			return dst, "it is out of range", false
		} else if err != nil {
			return dst, "", false
		}
	}
	if s != unsigned && s[0] == '-' {
		v = math.Copysign(v, -1)
	}
	if t.Kind == Float {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v))), "", true
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), "", true
}

// parseExact reads an integer or a DECIMAL.
func parseExact(dst []byte, t Type, s string) ([]byte, string, bool) {
	m, negative, why, ok := parseMagnitude(s, int(t.Scale))
	if !ok {
		return dst, why, false
	}
	v := Int128{Lo: m.lo, Hi: int64(m.hi)}
	if t.Kind == UHugeInt {
		ok = !negative || m == uint128{}
	} else {
		v, ok = m.signed(negative)
	}
	if !ok {
		return dst, outOfRange, false
	}
	fits := true
	switch t.Kind {
	case Decimal:
		fits = v.fitsDecimal(t.Width)
	case HugeInt, UHugeInt:
	default:
		size := uint(t.Size() * 8)
		if t.Kind >= UInt8 && t.Kind <= UInt64 {
			fits = v.Hi == 0 && v.Lo>>(size-1)>>1 == 0
		} else {
			fits = v == Int128Of(int64(v.Lo)) && int64(v.Lo)<<(64-size)>>(64-size) == int64(v.Lo)
		}
	}
	if !fits {
		return dst, "it is out of range", false
	}
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:], v.Lo)
	binary.LittleEndian.PutUint64(raw[8:], uint64(v.Hi))
	return append(dst, raw[:t.Size()]...), "", true
}

// parseMagnitude reads [+-]digits[.digits][e[+-]digits] and returns it times 10^scale, exactly.
func parseMagnitude(s string, scale int) (m uint128, negative bool, why string, ok bool) {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	digits, fits := 0, true
	zeros := 0 // held back: trailing zeros may lie beyond the scale
	decimals, point := 0, false
	for ; i < len(s); i++ {
		switch x := s[i]; {
		case x >= '0' && x <= '9':
			digits++
			if point {
				decimals++
			}
			if x == '0' {
				zeros++
				continue
			}
			if m != (uint128{}) {
				for ; zeros > 0 && fits; zeros-- {
					m, fits = m.mulAdd(10, 0)
				}
			}
			zeros = 0
			if fits {
				m, fits = m.mulAdd(10, uint64(x-'0'))
			}
			continue
		case x == '.' && !point:
			point = true
			continue
		}
		break
	}
	if digits == 0 {
		return m, negative, "", false
	}
	exponent := 0
	if i < len(s) {
		if s[i] != 'e' && s[i] != 'E' {
			return m, negative, "", false
		}
		var err error
		if exponent, err = strconv.Atoi(s[i+1:]); err != nil || exponent > 1<<20 || exponent < -1<<20 {
			return m, negative, "", false
		}
	}
	if m == (uint128{}) {
		return m, negative, "", true
	}
	if !fits {
		return m, negative, "it has too many digits", false
	}
	up := scale + exponent + zeros - decimals
	if m, ok = m.rescale(up); !ok {
		if up < 0 {
			return m, negative, "it has more decimals than the type keeps", false
		}
		return m, negative, outOfRange, false
	}
	return m, negative, "", true
}

func unhex(x byte) (byte, bool) {
	switch {
	case x >= '0' && x <= '9':
		return x - '0', true
	case x >= 'a' && x <= 'f':
		return x - 'a' + 10, true
	case x >= 'A' && x <= 'F':
		return x - 'A' + 10, true
	}
	return 0, false
}

func parseBlob(dst []byte, s string) ([]byte, string, bool) {
	for i := 0; i < len(s); i++ {
		switch x := s[i]; {
		case x >= utf8.RuneSelf:
			return dst, `a byte that is not ASCII is written \xHH`, false
		case x == '\\':
			if i+3 >= len(s) || s[i+1] != 'x' {
				return dst, `a backslash starts \xHH`, false
			}
			hi, ok1 := unhex(s[i+2])
			lo, ok2 := unhex(s[i+3])
			if !ok1 || !ok2 {
				return dst, `a backslash starts \xHH`, false
			}
			dst = append(dst, hi<<4|lo)
			i += 3
		default:
			dst = append(dst, x)
		}
	}
	return dst, "", true
}

func parseUUID(dst []byte, s string) ([]byte, string, bool) {
	dashed := len(s) == 36
	if !dashed && len(s) != 32 {
		return dst, "", false
	}
	hi, odd := byte(0), false
	for i := range len(s) {
		if dashed && (i == 8 || i == 13 || i == 18 || i == 23) {
			if s[i] != '-' {
				return dst, "", false
			}
			continue
		}
		x, ok := unhex(s[i])
		if !ok {
			return dst, "", false
		}
		if odd {
			dst = append(dst, hi<<4|x)
		}
		hi, odd = x, !odd
	}
	return dst, "", true
}
