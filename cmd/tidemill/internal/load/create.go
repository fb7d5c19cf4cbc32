package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemill/state/column"
	"tidemill/views/duck"
)

// createTable makes the table with the columns of the files.
func (l *loader) createTable(ctx context.Context, in *inputs) error {
	cols, err := l.infer(ctx, in)
	if err != nil {
		return err
	}
	cols = slices.DeleteFunc(cols, func(c fileColumn) bool { return c.name == deletedField })
	for _, names := range [][]string{l.Key, typed(l.Types)} {
		for _, name := range names {
			if !slices.ContainsFunc(cols, func(c fileColumn) bool { return strings.EqualFold(c.name, name) }) {
				return fmt.Errorf("the files have no column %s: they have %s", name, strings.Join(namesOf(cols), ", "))
			}
		}
	}
	sql := l.createSQL(cols)
	if _, err := l.client.SQL(ctx, sql); err != nil {
		return err
	}
	l.Progress.Note(sql)
	return nil
}

func typed(types map[string]string) []string {
	var out []string
	for name := range types {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func namesOf(cols []fileColumn) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.name
	}
	return out
}

// createSQL writes the statement, a column a line.
func (l *loader) createSQL(cols []fileColumn) string {
	lines := make([]string, len(cols))
	for i, c := range cols {
		t := c.sqlType
		for name, given := range l.Types {
			if strings.EqualFold(name, c.name) {
				t = given
			}
		}
		lines[i] = "  " + quoteIdent(c.name) + " " + t
	}
	if len(l.Key) > 0 {
		key := make([]string, len(l.Key))
		for i, k := range l.Key {
			key[i] = quoteIdent(k)
		}
		lines = append(lines, "  PRIMARY KEY ("+strings.Join(key, ", ")+")")
	}
	return "CREATE TABLE IF NOT EXISTS " + quoteIdent(l.Table) + " (\n" + strings.Join(lines, ",\n") + "\n)"
}

// wholeSample is the most bytes of text that are read in full to infer its types; of more, the beginning is.
const wholeSample = 512 << 20

// infer returns the columns of the files, all of those of the first file's format together.
func (l *loader) infer(ctx context.Context, in *inputs) ([]fileColumn, error) {
	first := in.files[0]
	if first.format == Arrow {
		return columnsOf(first)
	}
	var paths []string
	var size int64
	for _, f := range in.files {
		if f.format == first.format {
			paths, size = append(paths, f.path), size+f.size
		}
	}
	files, err := duck.OpenFiles(duck.Options{Threads: readThreads, MemoryLimit: readMemory})
	if err != nil {
		return nil, err
	}
	defer files.Close()
	options := []string{"union_by_name=true"}
	if first.format != Parquet && size <= wholeSample {
		options = append(options, "sample_size=-1")
	}
	cols, err := describeScan(ctx, files, scanAll(first.format, paths, options...))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", first.name, err)
	}
	for i := range cols {
		cols[i].sqlType = storable(cols[i].sqlType)
	}
	if first.format == JSON || first.format == NDJSON {
		settle(ctx, files, first.format, paths, cols)
	}
	return cols, nil
}

// storable is the type of a table's column that holds values of a type: itself, or text.
func storable(sqlType string) string {
	if _, err := column.ParseType(sqlType); err == nil {
		return sqlType
	}
	return "VARCHAR"
}

// settle corrects what inference from JSON leaves open: integers of both signs that it takes for HUGEINT are BIGINT
// when all of them fit, and dates and times that only a guess can read are text, since what is read later is read
// by its type alone.
func settle(ctx context.Context, files *duck.Files, format Format, paths []string, cols []fileColumn) {
	reads := func(c fileColumn, t string) bool {
		call := scanAll(format, paths, "columns={"+quoteString(c.name)+": "+quoteString(t)+"}")
		return readable(ctx, files, call, c.name)
	}
	for i, c := range cols {
		switch {
		case c.sqlType == "HUGEINT" && reads(c, "BIGINT"):
			cols[i].sqlType = "BIGINT"
		case (strings.HasPrefix(c.sqlType, "DATE") || strings.HasPrefix(c.sqlType, "TIME")) && !reads(c, c.sqlType):
			cols[i].sqlType = "VARCHAR"
		}
	}
}

// readable reports whether every value of a column can be read as the scan says.
func readable(ctx context.Context, files *duck.Files, call, name string) bool {
	rows, err := files.Query(ctx, "SELECT count("+quoteIdent(name)+") FROM "+call)
	if err != nil {
		return false
	}
	defer rows.Close()
	_, _, err = rows.ReadAll()
	return err == nil
}
