package column

import "bytes"

// appendNestedText appends the value at row i, which is not NULL, as DuckDB prints it: [1, NULL],
// {'a': 1}, (1, 2) without names, {k=v} for a MAP, a UNION as the member that it has.
func appendNestedText(dst []byte, c *Column, i int) []byte {
	switch c.Type.Kind {
	case List, Array:
		dst = append(dst, '[')
		from, to := c.Elements(i)
		for e := from; e < to; e++ {
			if e > from {
				dst = append(dst, ", "...)
			}
			dst = appendPartText(dst, &c.Kids[0], e)
		}
		return append(dst, ']')
	case Map:
		dst = append(dst, '{')
		from, to := c.Elements(i)
		for e := from; e < to; e++ {
			if e > from {
				dst = append(dst, ", "...)
			}
			entry := &c.Kids[0]
			dst = append(appendPartText(dst, &entry.Kids[0], e), '=')
			dst = appendPartText(dst, &entry.Kids[1], e)
		}
		return append(dst, '}')
	case Union:
		return AppendText(dst, &c.Kids[1+c.Kids[0].Data[i]], i)
	}
	named := c.Type.KidName(0) != ""
	dst = append(dst, "({"[btoi(named)])
	for k := range c.Kids {
		if k > 0 {
			dst = append(dst, ", "...)
		}
		if named {
			dst = append(appendQuotedPart(dst, []byte(c.Type.KidName(k))), ": "...)
		}
		dst = appendPartText(dst, &c.Kids[k], i)
	}
	return append(dst, ")}"[btoi(named)])
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// appendPartText appends a part of a value, in quotes where it might be read as something else.
func appendPartText(dst []byte, c *Column, i int) []byte {
	if c.IsNull(i) {
		return append(dst, "NULL"...)
	}
	at := len(dst)
	dst = AppendText(dst, c, i)
	if text := dst[at:]; !c.Type.Nested() && needsQuotes(text) {
		return appendQuotedPart(dst[:at], bytes.Clone(text))
	}
	return dst
}

func needsQuotes(s []byte) bool {
	return len(s) == 0 || s[0] == ' ' || s[len(s)-1] == ' ' || bytes.EqualFold(s, []byte("null")) ||
		bytes.ContainsAny(s, `,:=()[]{}'"`+"\n\t\r")
}

func appendQuotedPart(dst, s []byte) []byte {
	dst = append(dst, '\'')
	for _, x := range s {
		if x == '\'' || x == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, x)
	}
	return append(dst, '\'')
}

// appendNestedJSON appends the value at row i, which is not NULL: a LIST or ARRAY as an array, a STRUCT as
// an object, a MAP as an object when its keys are plain and as an array of {"key":k,"value":v} otherwise, a
// UNION as an object of the one member that it has.
func appendNestedJSON(dst []byte, c *Column, i int) []byte {
	switch c.Type.Kind {
	case List, Array:
		dst = append(dst, '[')
		from, to := c.Elements(i)
		for e := from; e < to; e++ {
			if e > from {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, &c.Kids[0], e)
		}
		return append(dst, ']')
	case Map:
		return appendMapJSON(dst, c, i)
	case Union:
		k := 1 + int(c.Kids[0].Data[i])
		dst = append(AppendJSONString(append(dst, '{'), []byte(c.Type.KidName(k))), ':')
		return append(AppendJSON(dst, &c.Kids[k], i), '}')
	}
	for k := range c.Kids {
		dst = append(dst, "{,"[min(k, 1)])
		dst = append(AppendJSONString(dst, fieldKey(c.Type, k)), ':')
		dst = AppendJSON(dst, &c.Kids[k], i)
	}
	return append(dst, '}')
}

// fieldKey names the k-th field of a STRUCT in JSON; those of row(1, 2) are v1 and v2.
func fieldKey(t Type, k int) []byte {
	if n := t.KidName(k); n != "" {
		return []byte(n)
	}
	return append([]byte{'v'}, Int128Of(int64(k+1)).String()...)
}

func appendMapJSON(dst []byte, c *Column, i int) []byte {
	keys, values := &c.Kids[0].Kids[0], &c.Kids[0].Kids[1]
	plain := !keys.Type.Nested()
	dst = append(dst, "[{"[btoi(plain)])
	from, to := c.Elements(i)
	var text []byte
	for e := from; e < to; e++ {
		if e > from {
			dst = append(dst, ',')
		}
		if plain {
			text = AppendText(text[:0], keys, e)
			dst = append(AppendJSONString(dst, text), ':')
			dst = AppendJSON(dst, values, e)
			continue
		}
		dst = AppendJSON(append(dst, `{"key":`...), keys, e)
		dst = AppendJSON(append(dst, `,"value":`...), values, e)
		dst = append(dst, '}')
	}
	return append(dst, "]}"[btoi(plain)])
}
