package image_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

func mapped(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), path)
}

// TestUnmapped: a file's mapping goes when its last holder, here a snapshot, has gone.
func TestUnmapped(t *testing.T) {
	tb, d, path := saved(t, 5_000)
	rows := d.open(t, types)
	snap := rows.Snapshot()
	if err := tb.m.diff(snap); err != nil || !mapped(t, path) {
		t.Fatal("not mapped", err)
	}
	tb.rows = nil // and rows is not used any more
	runtime.GC()
	if !mapped(t, path) {
		t.Fatal("unmapped under a snapshot")
	}
	runtime.KeepAlive(snap)
	for range 1_000 { // the cleanup runs on a goroutine of its own
		runtime.GC()
		runtime.Gosched()
		if !mapped(t, path) {
			return
		}
	}
	t.Fatal("still mapped")
}
