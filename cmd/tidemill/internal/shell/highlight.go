package shell

import (
	"strings"

	"tidemill/views/plan/token"
)

// Colours of what is typed: of the sixteen that every theme has, those that are legible on light and dark.
const (
	colorKeyword = "\x1b[34m"
	colorString  = "\x1b[32m"
	colorNumber  = "\x1b[35m"
	colorCommand = "\x1b[36m"
	colorEnd     = "\x1b[0m"
)

// highlight colours keywords, literals and commands.
func highlight(line []rune) string {
	text := string(line)
	if strings.HasPrefix(strings.TrimLeft(text, " \t"), `\`) {
		return colorCommand + text + colorEnd
	}
	var b strings.Builder
	at := 0
	for _, t := range token.Scan(text) {
		color := ""
		switch {
		case t.Kind == token.Word && isKeyword(t.Text(text)):
			color = colorKeyword
		case t.Kind == token.String, t.Kind == token.Open && strings.HasPrefix(t.Text(text), "'"):
			color = colorString
		case t.Kind == token.Number:
			color = colorNumber
		}
		b.WriteString(text[at:t.Start])
		if color == "" {
			b.WriteString(t.Text(text))
		} else {
			b.WriteString(color + t.Text(text) + colorEnd)
		}
		at = t.End
	}
	b.WriteString(text[at:])
	return b.String()
}
