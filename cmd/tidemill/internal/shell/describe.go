package shell

import (
	"context"
	"fmt"
	"strings"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/table"
)

// describe lists the relations, or shows one: its columns, and of a view its operators and what they keep.
func (s *Session) describe(ctx context.Context, args string) error {
	stats, err := s.Client.Stats(ctx)
	if err != nil {
		return err
	}
	if args == "" {
		return s.listRelations(stats)
	}
	name := unquote(strings.TrimSuffix(args, ";"))
	rel := stats.Relation(name)
	if rel == nil && !strings.HasSuffix(strings.ToLower(name), "$rejects") {
		return usage("there is no relation %s: \\d lists them", name)
	}
	format, maxRows := s.Format, s.MaxRows
	s.Format, s.MaxRows = FormatTable, 0
	defer func() { s.Format, s.MaxRows = format, maxRows }()
	if rel == nil { // the rejects of a view are no relation of the catalog
		return s.answer(ctx, "SELECT column_name, column_type FROM (DESCRIBE "+quoteIdent(name)+")")
	}
	fmt.Fprintf(s.Out, "%s %s: %s\n", rel.Kind, s.boldText(rel.Name), figures(rel))
	if err := s.answer(ctx, "DESCRIBE "+quoteIdent(rel.Name)); err != nil || rel.Kind == "table" {
		return err
	}
	rows, err := s.Client.SQL(ctx, "EXPLAIN MATERIALIZED VIEW "+quoteIdent(rel.Name))
	if err != nil {
		return err
	}
	for _, r := range rows {
		fmt.Fprintln(s.Out, table.Clean(r.Text("plan")))
	}
	return nil
}

func (s *Session) boldText(text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// figures says in words how large a relation is.
func figures(r *client.RelationStats) string {
	var parts []string
	if r.Kind == "table" {
		parts = append(parts, table.Group(r.Rows)+" rows")
	} else if r.Groups > 0 {
		parts = append(parts, table.Group(r.Groups)+" groups")
	} else {
		parts = append(parts, "nothing kept")
	}
	if r.Rejects > 0 {
		parts = append(parts, fmt.Sprintf(`%s rejects (SELECT * FROM "%s$rejects")`, table.Group(r.Rejects), r.Name))
	}
	if r.Bytes > 0 {
		parts = append(parts, table.Bytes(r.Bytes)+" in memory")
	}
	return strings.Join(parts, ", ")
}

func (s *Session) listRelations(stats *client.Stats) error {
	if len(stats.Relations) == 0 {
		fmt.Fprintln(s.Out, "there are no relations: CREATE TABLE makes one, and tidemill append --create one from a file")
		return nil
	}
	rows := make([][]string, len(stats.Relations))
	for i, r := range stats.Relations {
		rows[i] = []string{r.Name, r.Kind, count(r.Rows), count(r.Groups), count(r.Rejects), table.Bytes(r.Bytes)}
	}
	return table.Strings(s.Out, []string{"name", "kind", "rows", "groups", "rejects", "memory"}, []bool{false, false, true, true, true, true}, rows,
		table.Options{Width: s.Width(), Unicode: s.Unicode, Color: s.Color})
}

// count is a number, or nothing for zero.
func count(n int64) string {
	if n == 0 {
		return ""
	}
	return table.Group(n)
}
