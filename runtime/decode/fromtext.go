package decode

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math"
	"unicode/utf8"
	"unsafe"

	"tidemill/state/column"
)

func isTimestamp(k column.Kind) bool { return k >= column.TimestampS && k <= column.TimestampTZ }

// fromText reads row d.n of c from its text: a JSON string, a field of CSV. It is the one place where text
// becomes a value; what has no quick way here is column.AppendParsed's. It returns what is wrong with the
// text, or nothing. s is not kept.
func (d *filler) fromText(c *target, s []byte) string {
	if c.nested != nil {
		end, reason := d.nested(c, s, 0)
		if reason == "" && skipSpace(s, end) != len(s) {
			reason = "text follows the value"
		}
		return reason
	}
	if len(s) == 0 {
		return c.parse(d.n, s)
	}
	switch k := c.field.Type.Kind; k {
	case column.Varchar:
		if !validText(s) {
			return badUTF8
		}
		c.data = append(c.data, s...)
		c.offs[d.n+1] = int32(len(c.data))
		return ""
	case column.Int64:
		if v, end, ok := int64At(s, 0); ok && end == len(s) {
			le.PutUint64(c.data[d.n*8:], uint64(v))
			return ""
		}
	case column.Double:
		if v, end, ok := float64At(s, 0); ok && end == len(s) {
			le.PutUint64(c.data[d.n*8:], math.Float64bits(v))
			return ""
		}
	case column.Timestamp, column.TimestampTZ, column.TimestampMS, column.TimestampS, column.TimestampNS:
		if v, ok := timestampOf(s, k); ok {
			le.PutUint64(c.data[d.n*8:], uint64(v))
			return ""
		}
		if d.Reading.Epoch != 0 && (s[0]-'0' <= 9 || s[0] == '-') {
			if end, reason := d.epoch(c, s, 0); reason == "" && end == len(s) {
				return ""
			}
		}
	case column.Date:
		if v, ok := dateOf(s); ok {
			le.PutUint32(c.data[d.n*4:], uint32(v))
			return ""
		}
	case column.Blob:
		if d.Reading.Blob != BlobEscape {
			return d.blob(c, s)
		}
	}
	return c.parse(d.n, s)
}

func validText(s []byte) bool { return ascii(s) || utf8.Valid(s) }

// parse reads row n from its text.
func (c *target) parse(n int, s []byte) string {
	dst := c.data
	if c.size > 0 {
		dst = c.data[n*c.size : n*c.size : (n+1)*c.size]
	}
	// The view of s as a string does not outlive the call, nor does the error.
	out, err := column.AppendParsed(dst, c.field.Type, unsafe.String(unsafe.SliceData(s), len(s)))
	if err != nil {
		if len(s) > maxShown {
			return "that is not a valid " + c.field.Type.String()
		}
		return err.Error()
	}
	if c.size == 0 {
		c.data = out
		c.offs[n+1] = int32(len(out))
	}
	return ""
}

// maxInstant is the last microsecond that a TIMESTAMP may hold on either side of 1970, to the day.
const maxInstant = 9223372022400000000

// epoch reads the number at b[i:] into row d.n of c, a column of timestamps, in the unit of Reading.
func (d *filler) epoch(c *target, b []byte, i int) (int, string) {
	n, reason := numberAt(b, i)
	if reason != "" {
		return 0, reason
	}
	digits, most := 6, int64(maxInstant)
	switch c.field.Type.Kind {
	case column.TimestampS:
		digits, most = 0, maxInstant/1e6
	case column.TimestampMS:
		digits, most = 3, maxInstant/1e3
	case column.TimestampNS:
		digits, most = 9, math.MaxInt64-1 // what is left out stands for the infinities
	}
	v, ok := n.scaled(digits - d.Reading.Epoch.digits())
	if !ok {
		return 0, "the time has more digits than the type keeps"
	}
	if v.Hi != int64(v.Lo)>>63 || int64(v.Lo) > most || int64(v.Lo) < -most {
		return 0, outOfRange
	}
	le.PutUint64(c.data[d.n*8:], v.Lo)
	return n.end, ""
}

// blob reads bytes in the form of Reading.
func (d *filler) blob(c *target, s []byte) string {
	if d.Reading.Blob == BlobHex {
		out, err := hex.AppendDecode(c.data, s)
		if err != nil {
			return "two hexadecimal digits a byte are wanted"
		}
		c.data = out
	} else {
		enc := base64.RawStdEncoding
		if bytes.ContainsAny(s, "-_") {
			enc = base64.RawURLEncoding
		}
		if bytes.ContainsAny(s, "\r\n") { // which the decoder skips
			return "base64 is wanted"
		}
		out, err := enc.AppendDecode(c.data, bytes.TrimRight(s, "="))
		if err != nil {
			return "base64 is wanted"
		}
		c.data = out
	}
	c.offs[d.n+1] = int32(len(c.data))
	return ""
}
