package catalog

import (
	"encoding/json"
	"fmt"

	"tidemill/views/plan"
	"tidemill/views/plan/token"
)

// formatVersion is the version of the stored form. A reader refuses a later one.
const formatVersion = 2

// firstFormat had no schemas: names are one part, whatever is in them.
const firstFormat = 1

type stored struct {
	Format    int         `json:"format"`
	NextID    uint32      `json:"next_id"`
	Schemas   []Schema    `json:"schemas,omitempty"`
	Relations []*Relation `json:"relations"`
}

// MarshalJSON returns the stored form of the catalog.
func (c *Catalog) MarshalJSON() ([]byte, error) {
	return json.Marshal(stored{formatVersion, c.nextID, c.Schemas(), c.Relations()})
}

// Decode reads the stored form of a catalog. The error names what in it is wrong.
func Decode(text []byte) (*Catalog, error) {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	if head.Format != formatVersion && head.Format != firstFormat {
		return nil, fmt.Errorf("catalog: format %d is not format %d: it was written by another version of Tidemill", head.Format, formatVersion)
	}
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	c := New()
	for _, sc := range s.Schemas {
		if err := c.createSchema(sc.Name); err != nil {
			return nil, fmt.Errorf("catalog: schema %q: %w", sc.Name, err)
		}
		c.schemas[fold(sc.Name)] = sc
	}
	for _, r := range s.Relations {
		if r == nil {
			return nil, fmt.Errorf("catalog: a relation is null")
		}
		if head.Format == firstFormat {
			r.Name = token.Join("", r.Name)
			plan.Rename(r.Plan, func(name string) string { return token.Join("", name) })
		}
		if err := c.add(r); err != nil {
			return nil, fmt.Errorf("catalog: %w", err)
		}
		if r.ID >= s.NextID {
			return nil, fmt.Errorf("catalog: relation %q has id %d, the next is %d", r.Name, r.ID, s.NextID)
		}
	}
	if s.NextID == 0 {
		return nil, fmt.Errorf("catalog: the next id is 0")
	}
	c.nextID = s.NextID
	return c, nil
}
