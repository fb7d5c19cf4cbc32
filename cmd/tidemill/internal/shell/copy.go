package shell

import (
	"context"
	"fmt"
	"strings"

	"tidemill/cmd/tidemill/internal/export"
	"tidemill/cmd/tidemill/internal/load"
	"tidemill/cmd/tidemill/internal/table"
	"tidemill/views/plan/token"
)

// copyCommand is a \copy that has been read.
type copyCommand struct {
	what string // a relation's name, or a query without its parentheses
	from bool
	file string
}

// parseCopy reads TABLE from FILE, RELATION to FILE or (QUERY) to FILE.
func parseCopy(args string) (copyCommand, error) {
	const forms = `\copy TABLE from FILE, \copy RELATION to FILE or \copy (QUERY) to FILE`
	depth := 0
	for _, t := range token.Scan(args) {
		switch {
		case t.Is(args, "("):
			depth++
		case t.Is(args, ")"):
			depth--
		case depth == 0 && (t.Is(args, "FROM") || t.Is(args, "TO")):
			c := copyCommand{what: strings.TrimSpace(args[:t.Start]), from: t.Is(args, "FROM"), file: unquote(strings.TrimSpace(args[t.End:]))}
			if inner, ok := strings.CutPrefix(c.what, "("); ok {
				c.what = strings.TrimSuffix(inner, ")")
				if c.from {
					return c, usage("rows are copied into a table, not into a query: %s", forms)
				}
			}
			if c.what == "" || c.file == "" {
				return c, usage("write %s", forms)
			}
			c.file = expandHome(c.file)
			return c, nil
		}
	}
	return copyCommand{}, usage("write %s", forms)
}

func (s *Session) copyFile(ctx context.Context, args string) error {
	c, err := parseCopy(args)
	if err != nil {
		return err
	}
	if c.from {
		toks := token.Scan(c.what)
		name, ok := "", len(toks) == 1
		if ok {
			name, ok = toks[0].Name(c.what)
		}
		if !ok {
			return usage("%s is not the name of a table", c.what)
		}
		res, err := load.Run(ctx, s.Client, load.Options{Table: name, Files: []string{c.file}, Again: true})
		if err != nil {
			return err
		}
		fmt.Fprintln(s.Out, res.Summary())
		return nil
	}
	res, err := export.Run(ctx, s.Client, export.Options{What: c.what, File: c.file})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "wrote %s to %s\n", table.Bytes(res.Bytes), c.file)
	return nil
}
