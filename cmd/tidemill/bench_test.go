package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchEmbedded: bench starts servers as processes of their own, whose memory it knows.
func TestBenchEmbedded(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir := t.TempDir()
	figures := filepath.Join(dir, "figures.jsonl")
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs([]string{"bench", "agg", "footprint", "--rows", "20000", "--batch", "3000", "--keys", "100", "--seconds", "0.1",
		"--memory", "256MiB", "--dir", dir, "--json", figures})
	root.SetOut(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	text, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 4 || strings.Count(string(text), `"right":true`) != n || !strings.Contains(string(text), `"peak_mb":`) {
		t.Errorf("%d figures:\n%s", n, text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("bench left %v, error %v", left, err)
	}
}

func TestBenchRefused(t *testing.T) {
	for _, args := range [][]string{
		{"bench"}, {"bench", "nonsense"}, {"bench", "agg", "--rows", "0"}, {"bench", "agg", "--url", "http://127.0.0.1:1"},
		{"bench", "agg", "--url", "http://127.0.0.1:1", "--embedded"}, {"bench", "agg", "--clients", "0"}, {"demo", "--seconds", "0"},
	} {
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(&bytes.Buffer{})
		if err := root.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
