package main

import (
	"math"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"4GB": 4e9, "4gb": 4e9, "4g": 4e9, "4GiB": 4 << 30, "4gi": 4 << 30, "512MiB": 512 << 20, "1.5 KiB": 1536, "1000": 1000, "7B": 7,
		" 2TB ": 2e12, "1TiB": 1 << 40, "0": 0, "0.5MB": 500_000,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, error %v; expected %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1GB", "four", "4XB", "4 G B", "0x10", "1e400", "NaN", "Inf", "9999999TiB", "1_000", "4GBGB"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[size]string{4 << 30: "4GiB", 4e9: "4GB", 512 << 20: "512MiB", 1536: "1536B", 0: "0", math.MaxInt64: "9223372036854775807B"} {
		got := n.String()
		if got != want {
			t.Errorf("%d is written %s instead of %s", int64(n), got, want)
		}
		var back size
		if err := back.Set(got); n != 0 && (err != nil || back != n) && n != math.MaxInt64 {
			t.Errorf("%s reads back as %d: %v", got, int64(back), err)
		}
	}
	var s size
	if s.Set("0") == nil {
		t.Error("no memory at all is accepted")
	}
}
