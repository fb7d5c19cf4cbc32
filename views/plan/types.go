package plan

import (
	"strconv"
	"strings"

	"tidemill/state/column"
)

// jtype is a logical type in DuckDB's JSON.
type jtype struct {
	ID   string     `json:"id"`
	Info *jtypeInfo `json:"type_info"`
}

type jtypeInfo struct {
	Kind     string `json:"type"`
	Alias    string `json:"alias"`
	Width    int    `json:"width"`
	Scale    int    `json:"scale"`
	Child    *jtype `json:"child_type"`
	Children []struct {
		Name string `json:"first"`
		Type jtype  `json:"second"`
	} `json:"child_types"`
	Size   int      `json:"size"`
	Values []string `json:"values"`
}

// column returns the type as columns have it. It is not ok for the types that relations cannot
// have. A collation is dropped: DuckDB has made the comparisons that obey it explicit.
func (t jtype) column() (column.Type, bool) {
	in := t.Info
	if in != nil && in.Alias != "" {
		return column.T(column.JSON), in.Alias == "JSON" && t.ID == "VARCHAR"
	}
	switch t.ID {
	case "DECIMAL":
		if in == nil || in.Width < 1 || in.Width > 38 || in.Scale < 0 || in.Scale > in.Width {
			return column.Type{}, false
		}
		return column.DecimalOf(in.Width, in.Scale), true
	case "ENUM":
		if in == nil {
			return column.Type{}, false
		}
		ct, err := column.EnumOf(in.Values)
		return ct, err == nil
	case "LIST", "ARRAY", "MAP":
		if in == nil || in.Child == nil {
			return column.Type{}, false
		}
		return t.listColumn(in)
	case "STRUCT", "UNION":
		members, ok := t.members()
		switch {
		case !ok:
			return column.Type{}, false
		case t.ID == "UNION":
			return column.UnionOf(members...), true
		}
		return column.StructOf(members...), true
	}
	if in != nil && in.Kind != "STRING_TYPE_INFO" && in.Kind != "GENERIC_TYPE_INFO" {
		return column.Type{}, false
	}
	ct, err := column.ParseType(t.ID)
	return ct, err == nil && !ct.Nested()
}

// part returns the type of a part of a nested type; an untyped NULL, as in [], is an INTEGER.
func (t jtype) part() (column.Type, bool) {
	if t.ID == "NULL" {
		return column.T(column.Int32), true
	}
	return t.column()
}

func (t jtype) listColumn(in *jtypeInfo) (column.Type, bool) {
	elem, ok := in.Child.part()
	switch {
	case !ok:
	case t.ID == "LIST":
		return column.ListOf(elem), true
	case t.ID == "ARRAY" && in.Size >= 1 && in.Size <= column.MaxArrayLength:
		return column.ArrayOf(elem, in.Size), true
	case t.ID == "MAP" && elem.Kind == column.Struct && len(elem.Kids()) == 2:
		return column.MapOf(elem.Kids()[0], elem.Kids()[1]), true
	}
	return column.Type{}, false
}

// members returns the fields of a STRUCT or the members of a UNION, whose first child is the tag. A field
// without a name, of row(1, 2), is in no type that columns have.
func (t jtype) members() ([]column.Member, bool) {
	if t.Info == nil {
		return nil, false
	}
	kids := t.Info.Children
	if t.ID == "UNION" {
		if len(kids) == 0 || kids[0].Type.ID != "UTINYINT" {
			return nil, false
		}
		kids = kids[1:]
	}
	var out []column.Member
	for _, c := range kids {
		ct, ok := c.Type.part()
		if !ok || c.Name == "" {
			return nil, false
		}
		out = append(out, column.Member{Name: c.Name, Type: ct})
	}
	return out, len(out) > 0 && len(out) <= 255
}

// sql returns the type as SQL writes it. It is not ok for types that have no name in SQL.
func (t jtype) sql() (string, bool) {
	if ct, ok := t.column(); ok {
		return ct.String(), true
	}
	in := t.Info
	if in != nil && in.Alias != "" {
		return in.Alias, in.Alias == "JSON"
	}
	switch t.ID {
	case "BIGNUM":
		return t.ID, true
	case "LIST", "ARRAY":
		if in == nil || in.Child == nil {
			return "", false
		}
		s, ok := in.Child.sql()
		if t.ID == "ARRAY" {
			return s + "[" + strconv.Itoa(in.Size) + "]", ok
		}
		return s + "[]", ok
	case "STRUCT":
		return t.structSQL()
	case "ENUM":
		if in == nil {
			return "", false
		}
		vals := make([]string, len(in.Values))
		for i, v := range in.Values {
			vals[i] = quoteText(v)
		}
		return "ENUM(" + strings.Join(vals, ", ") + ")", true
	default:
		return "", false
	}
}

func (t jtype) structSQL() (string, bool) {
	if t.Info == nil {
		return "", false
	}
	var fields []string
	for _, c := range t.Info.Children {
		s, ok := c.Type.sql()
		if !ok || c.Name == "" {
			return "", false
		}
		fields = append(fields, quoteName(c.Name)+" "+s)
	}
	return "STRUCT(" + strings.Join(fields, ", ") + ")", true
}

// name returns the type for a message.
func (t jtype) name() string {
	if s, ok := t.sql(); ok {
		return s
	}
	return t.ID
}

// quoteText returns s as a string literal.
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// quoteName returns s as a quoted identifier.
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
