package operators

import (
	"slices"

	"tidemill/state/column"
)

// grouped returns a slice once for each grouping set: the rows are the same, of the groups only those of the set are not
// NULL, and before them stands the number of the set, by which equal groups of different sets are told apart. What can
// fail is evaluated once: a row is rejected once, whatever the number of sets.
func (a *Aggregate) grouped(p *prepared) []*prepared {
	out := make([]*prepared, len(a.c.Sets))
	for i := range a.c.Sets {
		q := *p
		q.groups = a.setColumns(i, p.groups, p.n)
		q.makeKeys(a.keys)
		out[i] = &q
	}
	return out
}

// setColumns returns the number of a set and the groups as it shows them.
func (a *Aggregate) setColumns(set int, groups []column.Column, n int) []column.Column {
	number := column.Of(column.T(column.Int32), []int32{int32(set)}, nil)
	out := []column.Column{number.Repeat(0, n)}
	for k, g := range a.c.Groups {
		if slices.Contains(a.c.Sets[set], k) {
			out = append(out, groups[k])
		} else {
			out = append(out, column.Nulls(g.Type, n))
		}
	}
	return out
}

// touchEmptySets gives the group of each set without columns a row that no aggregate counts, and that is never
// retracted: SQL has such a group even when there is no input.
func (a *Aggregate) touchEmptySets() error {
	for i, set := range a.c.Sets {
		if len(set) > 0 {
			continue
		}
		p := &prepared{n: 1}
		p.groups = a.setColumns(i, nil, 1)
		p.makeKeys(a.keys)
		if err := a.find(p); err != nil {
			return err
		}
		a.note(p, a.table.Touch(a.slots))
		if err := a.cells.rows.Add(a.slots, nil, nil); err != nil {
			return err
		}
		if a.cells.identity != nil {
			if err := a.cells.identity.AddRows(a.slots, p.groups, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
