package exact

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"
)

// The bytes are frozen: these are what older directories hold.
func TestEncodingFixtures(t *testing.T) {
	for _, c := range []struct {
		terms []term
		want  string
	}{
		{nil, "00"},
		{[]term{{1, 1}}, "0232040101"},
		{[]term{{-12.5, 1}}, "0331040119"},
		{[]term{{12.34, 1}, {0.01, 1}}, "02f703087bcccccccccccc62"},
		{[]term{{5e-324, 1}}, "0200000101"},
		{[]term{{math.NaN(), 2}, {math.Inf(1), -1}}, "0c0401"},
		{[]term{{3, 1}, {math.Inf(-1), 1}}, "123204010302"},
		{[]term{{0x1p100, 1}, {-1, 1}}, "0232040dffffffffffffffffffffffff0f"},
		{[]term{{0x1p200, 1}, {1, -1}}, "02320419" + "ffffffffffffffffffffffffffffffffffffffffffffffffff"},
	} {
		var s Sum
		for _, x := range c.terms {
			s.Add(x.v, x.w)
		}
		if got := hex.EncodeToString(s.AppendTo(nil)); got != c.want {
			t.Errorf("%v: %s, want %s", c.terms, got, c.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":             "",
		"unknown flag":        "20",
		"negative zero":       "01",
		"no place":            "02",
		"half a place":        "0232",
		"no size":             "023204",
		"empty magnitude":     "02320400",
		"magnitude cut short": "0232040201",
		"size of 2^63":        "023204ffffffffffffffffff01",
		"long size":           "023204810001",
		"even magnitude":      "0232040102",
		"leading zero":        "023204020100",
		"out of range":        "02c0080101",
		"no count":            "04",
		"count of zero":       "0400",
		"long count":          "048200",
		"count cut short":     "0480",
	} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Decode(b); !errors.Is(err, ErrEncoding) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeHighest(t *testing.T) {
	for _, in := range []string{"02bf080101", "03b00802ffff", "02000098020100" + highest()} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		s, rest, err := Decode(append(b, 7))
		if err != nil || !bytes.Equal(rest, []byte{7}) {
			t.Fatalf("%s: %v, rest %x", in, err, rest)
		}
		if got := s.AppendTo(nil); !bytes.Equal(got, b) {
			t.Errorf("%x, want %x", got, b)
		}
		if v := s.Float64(); !math.IsInf(v, 0) {
			t.Errorf("reads %v", v)
		}
	}
}

// highest is the end of a magnitude of 280 bytes that starts 01 00.
func highest() string { return hex.EncodeToString(bytes.Repeat([]byte{0xff}, 278)) }
