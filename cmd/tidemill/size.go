package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a number of bytes as a flag: 4GB, 512MiB, 1.5g or plain bytes.
type size int64

// units are powers of 1000 and 1024, larger ones first, the binary one of each pair first.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6},
	{"KiB", 1 << 10}, {"KB", 1e3}, {"B", 1},
}

// parseSize reads a size. A single letter means what its unit with B means: 4g is 4GB.
func parseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	digits := strings.TrimRight(text, "kKmMgGtTiIbB ")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || digits == "" || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) || strings.ContainsAny(digits, "xXpP_") {
		return 0, fmt.Errorf("%q is not a size: write bytes or a unit, such as 512MiB or 4GB", s)
	}
	unit := strings.TrimSpace(text[len(digits):])
	if unit == "" {
		unit = "B"
	}
	for _, u := range units {
		if !strings.EqualFold(unit, u.name) && !strings.EqualFold(unit+"B", u.name) {
			continue
		}
		n *= float64(u.bytes)
		if n >= math.MaxInt64 {
			return 0, fmt.Errorf("%q is too large", s)
		}
		return int64(n), nil
	}
	return 0, fmt.Errorf("%q has an unknown unit: KB, MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024", s)
}

// String writes the size with the largest unit that needs no fraction.
func (s *size) String() string {
	for _, u := range units {
		if n := int64(*s); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return "0" // which help does not show as a default
}

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	n, err := parseSize(text)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q is no room at all", text)
	}
	if err != nil {
		return err
	}
	*s = size(n)
	return nil
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }
