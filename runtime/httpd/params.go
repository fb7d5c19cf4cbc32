package httpd

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// params reads a query string, name by name. Unlike url.Values it makes no map, and unlike most servers
// it forgives nothing: a name that is not known or comes twice is an error, since a misspelt seq would
// otherwise be an append that can be applied twice.
type params struct {
	rest string
	seen uint64 // bit per known name
}

// next returns the next parameter as the place of its name in known; ok is false at the end.
func (p *params) next(known ...string) (name int, value string, ok bool, err error) {
	for p.rest != "" {
		var pair string
		pair, p.rest, _ = strings.Cut(p.rest, "&")
		if pair == "" {
			continue
		}
		key, val, _ := strings.Cut(pair, "=")
		if key, err = unescapeQuery(key); err != nil {
			return 0, "", false, err
		}
		if val, err = unescapeQuery(val); err != nil {
			return 0, "", false, err
		}
		for i, k := range known {
			if k != key {
				continue
			}
			if p.seen>>i&1 != 0 {
				return 0, "", false, badRequest("parameter %s is given twice", "give it once", key)
			}
			p.seen |= 1 << i
			return i, val, true, nil
		}
		hint := "this call takes none"
		if len(known) > 0 {
			hint = "this call knows: " + strings.Join(known, ", ")
		}
		return 0, "", false, badRequest("unknown parameter %q", hint, cut(key))
	}
	return 0, "", false, nil
}

func unescapeQuery(s string) (string, error) {
	if !strings.ContainsAny(s, "%+") {
		return s, nil
	}
	out, err := url.QueryUnescape(s)
	if err != nil {
		return "", badRequest("the query string is malformed: %v", "percent-encode its values", err)
	}
	return out, nil
}

// number reads a parameter that must be a whole number of at least low.
func number(name, value string, low uint64) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n < low {
		return 0, badRequest("%s is %q", fmt.Sprintf("give a whole number from %d on", low), name, cut(value))
	}
	return n, nil
}

// cut shortens what a client sent for an error.
func cut(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most-3] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
