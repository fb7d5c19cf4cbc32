package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Stats is what GET /stats says, as far as it is shown.
type Stats struct {
	Commit        uint64           `json:"commit"`
	Checkpoint    uint64           `json:"checkpoint"`
	Commits       int64            `json:"commits"`
	Rows          int64            `json:"rows_appended"`
	Bytes         int64            `json:"bytes_appended"`
	StepSeconds   float64          `json:"step_seconds"`
	SyncSeconds   float64          `json:"sync_seconds"`
	Queries       int64            `json:"queries"`
	Lookups       int64            `json:"lookups"`
	LogBytes      int64            `json:"log_bytes"`
	StateBytes    int64            `json:"state_disk_bytes"`
	MemoryLimit   int64            `json:"memory_limit_bytes"`
	Memory        map[string]int64 `json:"memory_bytes"`
	Relations     []RelationStats  `json:"relations"`
	Checkpointing bool             `json:"checkpointing"`
	Failed        string           `json:"failed"`
	Queue         int              `json:"requests_in_queue"`
}

// RelationStats is a relation in Stats.
type RelationStats struct {
	ID      uint32 `json:"id"`
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Rows    int64  `json:"rows"`
	Groups  int64  `json:"groups"`
	Rejects int64  `json:"rejects"`
	Bytes   int64  `json:"bytes"`
}

// Stats returns the server's figures.
func (c *Client) Stats(ctx context.Context) (*Stats, error) {
	text, err := c.Text(ctx, "/stats")
	if err != nil {
		return nil, fmt.Errorf("read statistics: %w", err)
	}
	s := &Stats{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read statistics: %w", err)
	}
	return s, nil
}

// Relation returns a relation's figures by its name, whatever its case; nil when there is none.
func (s *Stats) Relation(name string) *RelationStats {
	for i := range s.Relations {
		if strings.EqualFold(s.Relations[i].Name, name) {
			return &s.Relations[i]
		}
	}
	return nil
}
