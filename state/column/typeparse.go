package column

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

var kindAliases = map[string]Kind{
	"TIMESTAMPTZ": TimestampTZ, "TIMESTAMP_US": Timestamp, "BOOL": Bool, "INT": Int32, "REAL": Float,
	"TEXT": Varchar, "STRING": Varchar, "BYTEA": Blob, "TIMETZ": TimeTZ,
}

// kindNames are the names of the types without parameters.
var kindNames = func() map[string]Kind {
	names := map[string]Kind{}
	for k := Bool; k < Enum; k++ {
		names[kindInfo[k].name] = k
	}
	delete(names, "DECIMAL")
	for n, k := range kindAliases {
		names[n] = k
	}
	return names
}()

// ParseType reads a type as DuckDB prints it, and as String does. The error names the type.
func ParseType(s string) (Type, error) {
	p := typeParser{s: s}
	t, err := p.typ(0)
	if err == nil && p.skip() < len(s) {
		err = fmt.Errorf("text follows at byte %d", p.i)
	}
	if err != nil {
		return Type{}, fmt.Errorf("type %s: %w", s, err)
	}
	return t, nil
}

// typeParser reads the type at s[i:].
type typeParser struct {
	s    string
	i    int
	kids int
}

func (p *typeParser) skip() int {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t' || p.s[p.i] == '\n') {
		p.i++
	}
	return p.i
}

// accept steps over the byte c if it comes next.
func (p *typeParser) accept(c byte) bool {
	if p.skip() < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *typeParser) need(c byte) error {
	if !p.accept(c) {
		return fmt.Errorf("%q is expected at byte %d", c, p.i)
	}
	return nil
}

// word reads a word of letters, digits and underscores.
func (p *typeParser) word() string {
	from := p.skip()
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c < 0x80 {
			break
		}
		p.i++
	}
	return p.s[from:p.i]
}

func (p *typeParser) number() (int, error) {
	from := p.skip()
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	n, err := strconv.Atoi(p.s[from:p.i])
	if err != nil {
		return 0, fmt.Errorf("a number is expected at byte %d", from)
	}
	return n, nil
}

// quoted reads what stands between quotes q, doubled within.
func (p *typeParser) quoted(q byte) (string, error) {
	if err := p.need(q); err != nil {
		return "", err
	}
	var b strings.Builder
	for p.i < len(p.s) {
		c := p.s[p.i]
		p.i++
		if c == q {
			if p.i == len(p.s) || p.s[p.i] != q {
				return b.String(), nil
			}
			p.i++
		}
		b.WriteByte(c)
	}
	return "", fmt.Errorf("%q is not closed", q)
}

func (p *typeParser) typ(depth int) (Type, error) {
	if p.kids++; depth > maxTypeDepth || p.kids > maxTypeKids {
		return Type{}, fmt.Errorf("it nests too deep or has too many parts")
	}
	t, err := p.base(depth)
	for err == nil && p.accept('[') {
		if depth++; depth > maxTypeDepth {
			return Type{}, fmt.Errorf("it nests too deep")
		}
		if p.accept(']') {
			t = ListOf(t)
			continue
		}
		var n int
		if n, err = p.number(); err == nil {
			err = p.need(']')
		}
		if err == nil && (n < 1 || n > MaxArrayLength) {
			err = fmt.Errorf("an ARRAY has a length of 1 to %d", MaxArrayLength)
		}
		if err == nil {
			t = ArrayOf(t, n)
		}
	}
	return t, err
}

func (p *typeParser) base(depth int) (Type, error) {
	name := strings.ToUpper(p.word())
	switch name {
	case "DECIMAL", "NUMERIC":
		return p.decimal()
	case "STRUCT", "ROW", "UNION":
		fields, err := p.members(depth)
		switch {
		case err != nil:
			return Type{}, err
		case name != "UNION":
			return StructOf(fields...), nil
		case len(fields) > maxUnionMembers:
			return Type{}, fmt.Errorf("a UNION has up to %d members", maxUnionMembers)
		}
		return UnionOf(fields...), nil
	case "MAP":
		if err := p.need('('); err != nil {
			return Type{}, err
		}
		key, err := p.typ(depth + 1)
		if err == nil {
			err = p.need(',')
		}
		if err != nil {
			return Type{}, err
		}
		value, err := p.typ(depth + 1)
		if err == nil {
			err = p.need(')')
		}
		if err != nil {
			return Type{}, err
		}
		return MapOf(key, value), nil
	case "ENUM":
		return p.enum()
	case "TIMESTAMP", "TIME":
		for _, w := range []string{"WITH", "TIME", "ZONE"} {
			at := p.i
			if !strings.EqualFold(p.word(), w) {
				p.i = at
				break
			}
			name += " " + w
		}
	}
	if k, ok := kindNames[name]; ok {
		return T(k), nil
	}
	return Type{}, fmt.Errorf("%s is not supported", name)
}

func (p *typeParser) decimal() (Type, error) {
	if !p.accept('(') {
		return DecimalOf(18, 3), nil // DuckDB's default
	}
	width, err := p.number()
	scale := 0
	if err == nil && p.accept(',') {
		scale, err = p.number()
	}
	if err == nil {
		err = p.need(')')
	}
	if err != nil || width < 1 || width > 38 || scale < 0 || scale > width {
		return Type{}, fmt.Errorf("a DECIMAL has a width of 1 to 38 and a scale up to its width")
	}
	return DecimalOf(width, scale), nil
}

// members reads a list of names and types in parentheses. A type alone is a field without a name.
func (p *typeParser) members(depth int) ([]Member, error) {
	if err := p.need('('); err != nil {
		return nil, err
	}
	var out []Member
	for {
		m, err := p.member(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
		if p.accept(')') {
			return out, nil
		}
		if err := p.need(','); err != nil {
			return nil, err
		}
	}
}

func (p *typeParser) member(depth int) (m Member, err error) {
	if p.skip() < len(p.s) && p.s[p.i] == '"' {
		if m.Name, err = p.quoted('"'); err != nil {
			return m, err
		}
		m.Type, err = p.typ(depth + 1)
		return m, err
	}
	// A word is a name when a type follows it, and a type itself when the member ends there.
	at := p.i
	m.Name = p.word()
	if m.Name != "" && p.skip() < len(p.s) && strings.IndexByte(",()[", p.s[p.i]) < 0 {
		here := p.i
		m.Type, err = p.typ(depth + 1)
		if err == nil {
			return m, nil
		}
		p.i = here
	}
	p.i = at
	kept := err
	m.Name = ""
	if m.Type, err = p.typ(depth + 1); err != nil && kept != nil {
		err = kept
	}
	return m, err
}

func (p *typeParser) enum() (Type, error) {
	if err := p.need('('); err != nil {
		return Type{}, err
	}
	var labels []string
	for {
		l, err := p.quoted('\'')
		if err != nil {
			return Type{}, err
		}
		labels = append(labels, l)
		if p.accept(')') {
			return EnumOf(labels)
		}
		if err := p.need(','); err != nil {
			return Type{}, err
		}
	}
}

// reservedNames are DuckDB's words that name no field unless they are quoted.
var reservedNames = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric both case cast check collate
		column constraint create default deferrable desc describe distinct do else end except false fetch for foreign
		from group having in initially intersect into lambda lateral leading limit not null offset on only or order
		pivot pivot_longer pivot_wider placing primary qualify references returning select show some summarize symmetric
		table then to trailing true union unique unpivot using variadic when where window with
		anti asof at authorization binary by collation columns concurrently cross freeze full generated glob ilike inner
		is isnull join left like map natural notnull outer overlaps positional right semi similar struct tablesample
		try_cast unpack verbose`) {
		m[w] = true
	}
	return m
}()

// quoteName returns the name of a field as SQL writes it, in quotes where it needs them.
func quoteName(s string) string {
	plain := s != "" && !reservedNames[s]
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9'
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// typeJSON is a type in the catalog and in stored plans. The names are frozen.
type typeJSON struct {
	Kind  Kind   `json:"k"`
	Width uint8  `json:"w,omitempty"`
	Scale uint8  `json:"s,omitempty"`
	SQL   string `json:"n,omitempty"` // of the types from Enum on
}

// MarshalJSON returns the stored form of t.
func (t Type) MarshalJSON() ([]byte, error) {
	j := typeJSON{Kind: t.Kind, Width: t.Width, Scale: t.Scale}
	if t.more != nil {
		j = typeJSON{Kind: t.Kind, SQL: t.more.sql}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the stored form of a type.
func (t *Type) UnmarshalJSON(b []byte) error {
	var j typeJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*t = Type{Kind: j.Kind, Width: j.Width, Scale: j.Scale}
	if j.SQL == "" {
		return nil
	}
	read, err := ParseType(j.SQL)
	if err == nil && read.Kind != j.Kind {
		err = fmt.Errorf("type %s is not of kind %d", j.SQL, j.Kind)
	}
	*t = read
	return err
}
