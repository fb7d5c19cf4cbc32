package shell

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// keepLines is how many statements the history keeps; the file is shortened when it has twice as many.
const keepLines = 5000

// History is the statements that were typed, oldest first, kept in a file with a JSON string a line, so that a
// statement may have several lines. Shells that run at once add to the same file.
type History struct {
	path  string // "" keeps nothing
	lines []string
}

// HistoryPath returns where the history is kept: below XDG_STATE_HOME, or ~/.local/state.
func HistoryPath() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the history: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "tidemill", "history"), nil
}

// OpenHistory reads the history in a file, which need not be there yet. With the path "" nothing is kept. Lines
// that cannot be read are left out.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	if path == "" {
		return h, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("keep the history: %w", err)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var line string
		if json.Unmarshal(in.Bytes(), &line) == nil && line != "" {
			h.lines = append(h.lines, line)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read the history %s: %w", path, err)
	}
	if len(h.lines) > 2*keepLines {
		h.lines = h.lines[len(h.lines)-keepLines:]
		return h, h.rewrite()
	}
	return h, nil
}

// rewrite replaces the file by what is in memory.
func (h *History) rewrite() error {
	var b []byte
	for _, line := range h.lines {
		b = append(appendLine(b, line), '\n')
	}
	tmp, err := os.CreateTemp(filepath.Dir(h.path), ".history-*")
	if err != nil {
		return fmt.Errorf("shorten the history: %w", err)
	}
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), h.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("shorten the history: %w", err), os.Remove(tmp.Name()))
	}
	return nil
}

func appendLine(b []byte, line string) []byte {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // a string always encodes
	}
	return append(b, text...)
}

// Write adds a statement, unless it is the last one again or begins with a space.
func (h *History) Write(line string) (int, error) {
	line = strings.TrimRight(line, " \t\r\n")
	if line == "" || strings.HasPrefix(line, " ") || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return len(h.lines), nil
	}
	h.lines = append(h.lines, line)
	if h.path == "" {
		return len(h.lines), nil
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return len(h.lines), err
	}
	_, err = f.Write(append(appendLine(nil, line), '\n'))
	return len(h.lines), errors.Join(err, f.Close())
}

// GetLine returns a statement by its number, from 0.
func (h *History) GetLine(i int) (string, error) {
	if i < 0 || i >= len(h.lines) {
		return "", fmt.Errorf("the history has no line %d of %d", i, len(h.lines))
	}
	return h.lines[i], nil
}

// Len returns how many statements there are.
func (h *History) Len() int { return len(h.lines) }

// Dump returns all of them.
func (h *History) Dump() any { return h.lines }
