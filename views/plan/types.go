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
	if t.Info != nil && t.Info.Alias != "" {
		return column.Type{}, false // JSON and other types of a name of their own
	}
	if t.ID == "DECIMAL" {
		if t.Info == nil || t.Info.Width < 1 || t.Info.Width > 38 || t.Info.Scale < 0 || t.Info.Scale > t.Info.Width {
			return column.Type{}, false
		}
		return column.DecimalOf(t.Info.Width, t.Info.Scale), true
	}
	if t.Info != nil && t.Info.Kind != "STRING_TYPE_INFO" && t.Info.Kind != "GENERIC_TYPE_INFO" {
		return column.Type{}, false
	}
	ct, err := column.ParseType(t.ID)
	return ct, err == nil
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
	case "UHUGEINT", "BIT", "TIME WITH TIME ZONE", "BIGNUM", "TIME_NS":
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
