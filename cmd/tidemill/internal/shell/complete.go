package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"tidemill/views/plan/token"
)

// Candidate is something that could stand at the cursor.
type Candidate struct {
	Text        string // instead of the word before the cursor
	Description string
	Group       string // under which it is listed
	Open        bool   // no space follows
}

// names is what completion knows of the server.
type names interface {
	Relations() []relation
	Columns(relation string) []columnName
	Functions() []string
}

// Complete returns what could stand at the end of a text that is being typed, and the word that it would replace.
func Complete(text string, n names) (word string, out []Candidate) {
	trimmed := strings.TrimLeft(text, " \t")
	if strings.HasPrefix(trimmed, `\`) {
		return completeCommand(trimmed, n)
	}
	if _, rest := statements(text); len(rest) <= len(text) {
		text = rest
	}
	toks := token.Scan(text)
	word = wordAtEnd(text)
	var before []token.Token // those before the word
	for _, t := range toks {
		if t.End <= len(text)-len(word) {
			before = append(before, t)
		}
	}
	if insideLiteral(text) {
		return word, nil
	}
	c := completer{text: text, word: word, before: before, names: n}
	return word, c.candidates()
}

// insideLiteral reports whether what is typed next belongs to a string or a comment: a letter put there makes no
// token of its own.
func insideLiteral(text string) bool {
	probe := text + "x"
	toks := token.Scan(probe)
	if len(toks) == 0 || toks[len(toks)-1].End != len(probe) {
		return true
	}
	last := toks[len(toks)-1]
	return last.Kind == token.String || last.Kind == token.Open && !strings.HasPrefix(last.Text(probe), `"`)
}

// wordAtEnd returns the name, or the qualified name, that the text ends in.
func wordAtEnd(text string) string {
	i := len(text)
	for i > 0 {
		r := rune(text[i-1])
		if r < 0x80 && r != '_' && r != '$' && r != '"' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i--
	}
	return text[i:]
}

type completer struct {
	text, word string
	before     []token.Token
	names      names
	out        []Candidate
}

// beforeRelation are the words after which a relation stands.
var beforeRelation = map[string]bool{
	"FROM": true, "JOIN": true, "INTO": true, "UPDATE": true, "TABLE": true, "VIEW": true, "DESCRIBE": true, "SUMMARIZE": true,
}

func (c *completer) candidates() []Candidate {
	prev := ""
	if n := len(c.before); n > 0 {
		prev = strings.ToUpper(c.before[n-1].Text(c.text))
	}
	switch {
	case prev == ".":
		c.qualified()
	case beforeRelation[prev] && !c.creating():
		c.relations()
	case prev == "" && c.word == "":
		c.keywords([]string{"SELECT", "CREATE", "INSERT", "UPDATE", "DELETE", "DROP", "DESCRIBE", "EXPLAIN", "SHOW", "SUMMARIZE", "WITH", "CHECKPOINT"})
	case prev == "":
		c.keywords(keywords)
	default:
		c.columns()
		c.relations()
		c.keywords(keywords)
		if c.creating() {
			c.keywords(typeNames)
		} else if len(c.word) >= 2 {
			c.functions()
		}
	}
	return c.out
}

// creating reports whether the statement is a CREATE whose name is being given.
func (c *completer) creating() bool {
	return len(c.before) > 0 && c.before[0].Is(c.text, "CREATE") && !slices.ContainsFunc(c.before, func(t token.Token) bool { return t.Is(c.text, "SELECT") || t.Is(c.text, "FROM") })
}

func (c *completer) add(text, description, group string, open bool) {
	if c.matches(text) && !slices.ContainsFunc(c.out, func(o Candidate) bool { return strings.EqualFold(o.Text, text) }) {
		c.out = append(c.out, Candidate{text, description, group, open})
	}
}

func (c *completer) matches(text string) bool {
	return len(text) >= len(c.word) && strings.EqualFold(text[:len(c.word)], c.word)
}

func (c *completer) relations() {
	for _, r := range c.names.Relations() {
		c.add(quoteIdent(r.name), r.kind, "relations", false)
	}
}

// mentioned are the relations that stand anywhere in the statement: their columns can be meant, even when the
// FROM comes later.
func (c *completer) mentioned() []relation {
	var out []relation
	for _, r := range c.names.Relations() {
		for _, t := range token.Scan(c.text) {
			if name, ok := t.Name(c.text); ok && t.End <= len(c.text)-len(c.word) && strings.EqualFold(name, r.name) {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

func (c *completer) columns() {
	for _, r := range c.mentioned() {
		for _, col := range c.names.Columns(r.name) {
			c.add(quoteIdent(col.name), col.sqlType, "columns", false)
		}
	}
}

// qualified offers the columns of the relation, or of the alias, before the dot.
func (c *completer) qualified() {
	n := len(c.before)
	if n < 2 {
		return
	}
	owner, ok := c.before[n-2].Name(c.text)
	if !ok {
		return
	}
	for _, r := range c.mentioned() {
		if !strings.EqualFold(r.name, owner) && !c.alias(r.name, owner) {
			continue
		}
		for _, col := range c.names.Columns(r.name) {
			c.add(quoteIdent(col.name), col.sqlType, "columns", false)
		}
	}
}

// alias reports whether the statement has the relation followed by the alias, with or without AS.
func (c *completer) alias(rel, alias string) bool {
	toks := token.Scan(c.text)
	for i, t := range toks {
		name, ok := t.Name(c.text)
		if !ok || !strings.EqualFold(name, rel) || i+1 >= len(toks) {
			continue
		}
		next := toks[i+1]
		if next.Is(c.text, "AS") && i+2 < len(toks) {
			next = toks[i+2]
		}
		if a, ok := next.Name(c.text); ok && strings.EqualFold(a, alias) {
			return true
		}
	}
	return false
}

// keywords are offered in the case that the word is being typed in, and in capitals before it has begun.
func (c *completer) keywords(list []string) {
	lower := c.word != "" && strings.ToLower(c.word) == c.word
	for _, k := range list {
		if lower {
			k = strings.ToLower(k)
		}
		c.add(k, "", "keywords", false)
	}
}

func (c *completer) functions() {
	for _, f := range c.names.Functions() {
		c.add(f+"(", "", "functions", true)
	}
}

// completeCommand completes a command and its argument.
func completeCommand(line string, n names) (string, []Candidate) {
	name, arg, hasArg := strings.Cut(line, " ")
	var out []Candidate
	if !hasArg {
		for _, m := range metas() {
			if strings.HasPrefix(m.name, name) {
				out = append(out, Candidate{Text: m.name, Description: m.help, Group: "commands"})
			}
		}
		return line, out
	}
	word := arg[strings.LastIndex(arg, " ")+1:]
	c := completer{text: arg, word: word, names: n}
	switch name {
	case `\d`:
		c.relations()
	case `\i`:
		return word, files(word)
	case `\copy`:
		if fields := strings.Fields(arg); len(fields) > 1 || len(fields) == 1 && word == "" {
			last := fields[len(fields)-1]
			if word != "" && len(fields) > 1 {
				last = fields[len(fields)-2]
			}
			if isFromTo(last) {
				return word, files(word)
			}
			c.keywords([]string{"from", "to"})
			break
		}
		c.relations()
	case `\timing`, `\x`:
		for _, v := range []string{"on", "off", "auto"} {
			if name == `\x` || v != "auto" {
				c.add(v, "", "", false)
			}
		}
	case `\format`:
		for _, v := range []Format{FormatTable, FormatJSON, FormatCSV, FormatArrow} {
			c.add(string(v), "", "", false)
		}
	case `\set`:
		c.add("ON_ERROR_STOP", "", "", false)
	}
	return word, c.out
}

func isFromTo(word string) bool {
	return strings.EqualFold(word, "from") || strings.EqualFold(word, "to")
}

// files are the files that a path could become.
func files(word string) []Candidate {
	pattern := word
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(word, "~/") {
		pattern = home + word[1:]
	}
	dir, base := filepath.Split(pattern)
	entries, err := os.ReadDir(filepath.Join(dir, "."))
	if err != nil {
		return nil
	}
	var out []Candidate
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || base == "" && strings.HasPrefix(name, ".") {
			continue
		}
		text := word[:len(word)-len(base)] + name
		if e.IsDir() {
			text += "/"
		}
		out = append(out, Candidate{Text: text, Group: "files", Open: e.IsDir()})
	}
	return out
}
