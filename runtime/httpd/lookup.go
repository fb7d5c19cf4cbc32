package httpd

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"tidemill/state/column"
)

// lookupScratch is what one lookup needs and the next can use again.
type lookupScratch struct {
	key    []string
	answer []byte
}

var lookupScratches = sync.Pool{New: func() any { return &lookupScratch{answer: make([]byte, 0, 512)} }}

// lookup answers GET /lookup/{relation}/{key}: an array with the key's row, or an empty one. The path is as
// it was sent: a key's values are separated by commas before each is unescaped, so that they may hold
// commas and slashes themselves. The parameter null names the key's columns, comma-separated, that are NULL; their
// values in the path are empty.
func (s *Server) lookup(c *call, escaped string) error {
	relation, key, found := strings.Cut(escaped, "/")
	if !found || relation == "" {
		return badRequest("the path names no relation or no key", "ask for /lookup/{relation}/{key}")
	}
	if strings.IndexByte(key, '/') >= 0 {
		return badRequest("the key has a slash", "write it as %2F")
	}
	var nulls []string
	if c.r.URL.RawQuery != "" {
		for p := (params{rest: c.r.URL.RawQuery}); ; {
			_, v, ok, err := p.next("null")
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			nulls = strings.Split(v, ",")
		}
	}
	relation, err := unescapePath(relation)
	if err != nil {
		return err
	}
	scratch := lookupScratches.Get().(*lookupScratch)
	defer lookupScratches.Put(scratch)
	parts := scratch.key[:0]
	for more := true; more; {
		var part string
		part, key, more = strings.Cut(key, ",")
		if part, err = unescapePath(part); err != nil {
			return err
		}
		parts = append(parts, part)
	}
	fields, cols, err := s.engine.LookupRow(relation, parts, nulls...)
	clear(parts)
	scratch.key = parts
	if err != nil {
		return err
	}
	b := appendRow(scratch.answer[:0], fields, cols)
	scratch.answer = b[:0]
	h := c.w.Header()
	h["Content-Type"], h["Cache-Control"] = typeJSON, noStore
	c.keepPace(s.opts.Patience)
	_, _ = c.w.Write(b) // net/http keeps a copy, or has sent it
	return nil
}

func unescapePath(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 {
		return s, nil
	}
	out, err := url.PathUnescape(s)
	if err != nil {
		return "", &Problem{Status: http.StatusBadRequest, Slug: "bad-key", SQLState: "08P01", Detail: err.Error(), Hint: "percent-encode it"}
	}
	return out, nil
}

// appendRow appends the row that cols hold as an array of one object, or an empty array.
func appendRow(b []byte, fields []column.Field, cols []column.Column) []byte {
	if cols == nil {
		return append(b, "[]\n"...)
	}
	b = append(b, '[')
	for i := range fields {
		b = append(b, "{,"[min(i, 1)])
		b = append(column.AppendJSONString(b, []byte(fields[i].Name)), ':')
		b = column.AppendJSON(b, &cols[i], 0)
	}
	return append(b, "}]\n"...)
}
