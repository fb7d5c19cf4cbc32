package table

import "fmt"

// Group writes a number with its thousands apart: 12,345.
func Group(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes writes a size with its unit: 1.5 MiB; nothing for 0.
func Bytes(n int64) string {
	switch {
	case n == 0:
		return ""
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// Rate writes how many there were in a second: 812k, 1.52M.
func Rate(perSecond float64) string {
	switch {
	case perSecond < 10:
		return fmt.Sprintf("%.1f", perSecond)
	case perSecond < 10_000:
		return fmt.Sprintf("%.0f", perSecond)
	case perSecond < 1_000_000:
		return fmt.Sprintf("%.0fk", perSecond/1e3)
	}
	return fmt.Sprintf("%.2fM", perSecond/1e6)
}
