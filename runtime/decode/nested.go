package decode

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tidemill/state/column"
)

// Nested values are JSON, in bodies of JSON and in fields of CSV:
//
//	LIST, ARRAY   [1, null, 2]
//	STRUCT        {"a": 1}, the fields in any order; those that are left out are NULL
//	MAP           {"k": 1} when the keys are plain, or [{"key": "k", "value": 1}]
//	UNION         {"member": 1}
//
// Their plain parts are written as those of columns are.

const (
	wantArray  = "an array is wanted"
	wantObject = "an object is wanted"
	wantMember = "an object of one member is wanted"
	wantPair   = `{"key": k, "value": v} is wanted`
)

// nested appends the nested value at b[i:] to c and returns the place after it, or what is wrong with it. What
// it leaves in the builder after that is the caller's to truncate.
func (d *filler) nested(c *target, b []byte, i int) (int, string) {
	if d.inner == nil {
		d.inner = &NDJSON{}
	}
	in := d.inner
	in.Reading, in.budget = d.Reading, d.budget
	if i = skipSpace(b, i); c.key && hasPrefix(b, i, "null") {
		return 0, notNull
	}
	return in.part(c.nested, b, i)
}

// FromJSON reads a value of any type, such as a nested key in a path, and returns a column of it alone. The error
// says what is wrong with the text.
func FromJSON(t column.Type, text []byte) (column.Column, error) {
	d := NewNDJSON([]column.Field{{Name: "v", Type: t}}, Options{})
	out := column.NewBuilder(t, 1)
	d.budget = &budget{}
	d.budget.reset(&d.opt)
	end, reason := d.part(out, text, 0)
	if reason == "" && skipSpace(text, end) != len(text) {
		reason = "text follows the value"
	}
	if reason != "" {
		return column.Column{}, fmt.Errorf("%s as %s: %s", shorten(text), t, reason)
	}
	return out.Finish(), nil
}

// nullBytes is what a NULL takes in memory: an ARRAY's has all its elements.
func nullBytes(t column.Type) int64 {
	switch {
	case t.Varlen() || t.Kind == column.List || t.Kind == column.Map:
		return 5
	case !t.Nested():
		return int64(t.Size()) + 1
	}
	n := int64(0)
	for _, k := range t.Kids() {
		n += nullBytes(k)
	}
	if t.Kind == column.Array {
		n *= int64(t.Length())
	}
	return n + 1
}

// part appends the value at b[i:] to out.
func (d *NDJSON) part(out *column.Builder, b []byte, i int) (int, string) {
	t := out.Type()
	if i = skipSpace(b, i); i >= len(b) {
		return 0, cutShort
	}
	if b[i] == 'n' {
		if !hasPrefix(b, i, "null") {
			return 0, want(t)
		}
		return i + 4, d.null(out)
	}
	switch t.Kind {
	case column.List, column.Array:
		return d.list(out, b, i)
	case column.Struct:
		return d.structure(out, b, i)
	case column.Map:
		return d.mapping(out, b, i)
	case column.Union:
		return d.member(out, b, i)
	}
	leaf := d.leaf(t)
	end, reason := d.value(leaf, b, i)
	if reason == "" {
		reason = d.put(out, leaf)
	}
	return end, reason
}

func (d *NDJSON) null(out *column.Builder) string {
	if err := d.budget.take(nullBytes(out.Type())); err != nil {
		return err.Error()
	}
	out.AppendNull()
	return ""
}

// leaf returns the target of one plain value: row 0 of d, which reads nothing else.
func (d *NDJSON) leaf(t column.Type) *target {
	if len(d.cols) == 0 {
		d.cols = []target{{offs: make([]int32, 2)}}
	}
	c := &d.cols[0]
	c.field.Type, c.size, c.nested = t, t.Size(), nil
	if len(c.offs) < 2 {
		c.offs = make([]int32, 2)
	}
	c.data = append(c.data[:0], make([]byte, c.size)...)
	return c
}

func (d *NDJSON) put(out *column.Builder, leaf *target) string {
	if err := d.budget.take(int64(len(leaf.data)) + 5); err != nil {
		return err.Error()
	}
	out.AppendRaw(leaf.data)
	return ""
}

// each calls item for the items between the bracket at b[i] and the closing one, and returns the place after
// that.
func (d *NDJSON) each(b []byte, i int, end byte, item func(k, i int) (int, string)) (int, string) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == end {
		return i + 1, ""
	}
	for k := 0; ; k++ {
		next, reason := item(k, i)
		if reason != "" {
			return 0, reason
		}
		i = skipSpace(b, next)
		switch {
		case i >= len(b):
			return 0, cutShort
		case b[i] == end:
			return i + 1, ""
		case b[i] != ',':
			return 0, fmt.Sprintf("a comma or %q must follow", end)
		}
		i = skipSpace(b, i+1)
	}
}

// field reads a name and the colon behind it.
func (d *NDJSON) field(b []byte, i int) (name []byte, next int, reason string) {
	if i >= len(b) {
		return nil, 0, cutShort
	}
	if b[i] != '"' {
		return nil, 0, "a name in double quotes must follow"
	}
	name, i, reason = d.str(b, i)
	if reason != "" {
		return nil, 0, reason
	}
	if i = skipSpace(b, i); i >= len(b) {
		return nil, 0, cutShort
	}
	if b[i] != ':' {
		return nil, 0, "a colon must follow the name"
	}
	return name, i + 1, ""
}

func inside(where, reason string) string {
	if reason == "" || reason == cutShort {
		return reason
	}
	return where + ": " + reason
}

func (d *NDJSON) list(out *column.Builder, b []byte, i int) (int, string) {
	if b[i] != '[' {
		return 0, wantArray
	}
	n := 0
	length := 0
	if out.Type().Kind == column.Array {
		length = out.Type().Length()
	}
	end, reason := d.each(b, i, ']', func(k, i int) (int, string) {
		if n++; length > 0 && n > length {
			return 0, fmt.Sprintf("an array of %d elements is wanted", length)
		}
		next, reason := d.part(out.Kid(0), b, i)
		return next, inside(fmt.Sprintf("element %d", k+1), reason)
	})
	if reason == "" && length > 0 && n != length {
		reason = fmt.Sprintf("an array of %d elements is wanted", length)
	}
	if reason == "" {
		reason = d.close(out)
	}
	return end, reason
}

// close ends a value; elements past what offsets address are refused.
func (d *NDJSON) close(out *column.Builder) string {
	if err := d.budget.take(5); err != nil {
		return err.Error()
	}
	out.Close()
	return ""
}

func (d *NDJSON) structure(out *column.Builder, b []byte, i int) (int, string) {
	if b[i] != '{' {
		return 0, wantObject
	}
	t := out.Type()
	at := out.Len()
	end, reason := d.each(b, i, '}', func(_, i int) (int, string) {
		name, i, reason := d.field(b, i)
		if reason != "" {
			return 0, reason
		}
		for k := range t.Kids() {
			if t.KidName(k) != string(name) {
				continue
			}
			if out.Kid(k).Len() > at {
				return 0, fmt.Sprintf("the field %q is given twice", t.KidName(k))
			}
			next, reason := d.part(out.Kid(k), b, i)
			return next, inside(fmt.Sprintf("field %q", t.KidName(k)), reason)
		}
		return 0, fmt.Sprintf("there is no field %q", shorten(name))
	})
	for k := range t.Kids() {
		if reason == "" && out.Kid(k).Len() == at {
			reason = d.null(out.Kid(k))
		}
	}
	if reason == "" {
		reason = d.close(out)
	}
	return end, reason
}

func (d *NDJSON) member(out *column.Builder, b []byte, i int) (int, string) {
	if b[i] != '{' {
		return 0, wantMember
	}
	t := out.Type()
	tag := -1
	end, reason := d.each(b, i, '}', func(_, i int) (int, string) {
		name, i, reason := d.field(b, i)
		if reason != "" {
			return 0, reason
		}
		for k := 1; k < len(t.Kids()) && tag < 0; k++ {
			if t.KidName(k) == string(name) {
				tag = k - 1
				next, reason := d.part(out.Kid(k), b, i)
				return next, inside(fmt.Sprintf("member %q", t.KidName(k)), reason)
			}
		}
		if tag >= 0 {
			return 0, wantMember
		}
		return 0, fmt.Sprintf("there is no member %q", shorten(name))
	})
	switch {
	case reason != "":
		return 0, reason
	case tag < 0:
		return 0, wantMember
	}
	column.Append(out.Kid(0), uint8(tag))
	for k := 1; k < len(t.Kids()) && reason == ""; k++ {
		if k != tag+1 {
			reason = d.null(out.Kid(k))
		}
	}
	if reason == "" {
		reason = d.close(out)
	}
	return end, reason
}

func (d *NDJSON) mapping(out *column.Builder, b []byte, i int) (end int, reason string) {
	entries := out.Kid(0)
	keys := entries.Kid(0)
	from := keys.Len()
	switch {
	case b[i] == '[':
		end, reason = d.each(b, i, ']', func(k, i int) (int, string) {
			next, reason := d.pair(entries, b, i)
			return next, inside(fmt.Sprintf("entry %d", k+1), reason)
		})
	case b[i] == '{' && !keys.Type().Nested():
		end, reason = d.each(b, i, '}', func(_, i int) (int, string) {
			name, i, reason := d.field(b, i)
			if reason != "" {
				return 0, reason
			}
			shown := shorten(name)
			leaf := d.leaf(keys.Type())
			if reason = d.fromText(leaf, bytes.Clone(name)); reason == "" {
				reason = d.put(keys, leaf)
			}
			if reason != "" {
				return 0, inside(fmt.Sprintf("key %q", shown), reason)
			}
			next, reason := d.part(entries.Kid(1), b, i)
			if reason == "" {
				reason = d.close(entries)
			}
			return next, inside(fmt.Sprintf("key %q", shown), reason)
		})
	case b[i] == '{':
		return 0, "an array of entries is wanted, each as " + wantPair[:len(wantPair)-len(" is wanted")]
	default:
		return 0, wantObject
	}
	if reason == "" {
		reason = d.uniqueKeys(keys, from)
	}
	if reason == "" {
		reason = d.close(out)
	}
	return end, reason
}

// pair reads {"key": k, "value": v}.
func (d *NDJSON) pair(entry *column.Builder, b []byte, i int) (int, string) {
	if i >= len(b) || b[i] != '{' {
		return 0, wantPair
	}
	end, reason := d.each(b, i, '}', func(n, i int) (int, string) {
		name, i, reason := d.field(b, i)
		if reason != "" {
			return 0, reason
		}
		if n > 1 || string(name) != [...]string{"key", "value"}[n] {
			return 0, wantPair
		}
		return d.part(entry.Kid(n), b, i)
	})
	switch {
	case reason != "":
		return 0, reason
	case entry.Kid(0).Len() != entry.Len()+1 || entry.Kid(1).Len() != entry.Len()+1:
		return 0, wantPair
	}
	return end, d.close(entry)
}

// uniqueKeys refuses keys that are NULL or given twice in the map whose keys begin at row from.
func (d *NDJSON) uniqueKeys(keys *column.Builder, from int) string {
	if keys.Len() == from {
		return ""
	}
	c := keys.View()
	c = c.Slice(from, c.N)
	seen := make(map[string]bool, c.N)
	for i := range c.N {
		if c.IsNull(i) {
			return "the key of an entry is null"
		}
		k := string(c.Raw(i))
		if seen[k] {
			return fmt.Sprintf("the key %s is given twice", shorten(column.AppendText(nil, &c, i)))
		}
		seen[k] = true
	}
	return ""
}

// json reads a value of type JSON into row d.n of c: a string holds its text, anything else is the text
// itself.
func (d *NDJSON) json(c *target, b []byte, i int) (int, string) {
	if b[i] == '"' {
		return d.parsed(c, b, i)
	}
	end := elementEnd(b, i)
	text := bytes.TrimRight(b[i:end], " \t\r\n")
	if !json.Valid(text) {
		return 0, "that is not JSON"
	}
	if !validText(text) {
		return 0, badUTF8
	}
	c.data = append(c.data, text...)
	c.offs[d.n+1] = int32(len(c.data))
	return i + len(text), ""
}
