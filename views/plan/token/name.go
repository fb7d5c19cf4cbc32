package token

import "strings"

// MainSchema is the schema of relations that are named without one.
const MainSchema = "main"

// Join returns the one text that stands for a relation everywhere: its name, after its schema and a dot when that is
// not main. A part that has a dot or a quote in it is quoted, so that different relations have different texts.
func Join(schema, name string) string {
	if schema == "" || strings.EqualFold(schema, MainSchema) {
		return quoted(name)
	}
	return quoted(schema) + "." + quoted(name)
}

func quoted(part string) string {
	if strings.ContainsAny(part, `."`) {
		return `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
	}
	return part
}

// Cut is the inverse of Join; schema is empty for main. It reads what users write too: quotes that need not be there, and
// main written out. It is not ok for a text that is no name, or has more than two parts.
func Cut(full string) (schema, name string, ok bool) {
	first, rest, ok := cutPart(full)
	if !ok || rest == "" {
		return "", first, ok && first != ""
	}
	second, rest, ok := cutPart(rest[1:])
	if !ok || rest != "" || first == "" || second == "" {
		return "", "", false
	}
	if strings.EqualFold(first, MainSchema) {
		first = ""
	}
	return first, second, true
}

// cutPart returns the part up to a dot outside quotes, and the rest from the dot on.
func cutPart(s string) (part, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexByte(s, '.')
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], true
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		rest = s[i+1:]
		return strings.ReplaceAll(s[1:i], `""`, `"`), rest, rest == "" || rest[0] == '.'
	}
	return "", "", false
}
