package bench

import (
	"fmt"
	"os"
	stdruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Machine is what figures were measured on.
type Machine struct {
	CPU      string  `json:"cpu"`
	Cores    int     `json:"cores"`
	MemoryMB int64   `json:"memory_mb,omitempty"`
	OS       string  `json:"os"`
	FsyncMS  float64 `json:"fsync_p50_ms"` // of 4 KiB, in the directory that servers use
}

// String is the machine in a line.
func (m *Machine) String() string {
	memory := ""
	if m.MemoryMB > 0 {
		memory = fmt.Sprintf(", %.1f GiB", float64(m.MemoryMB)/1024)
	}
	return fmt.Sprintf("%s, %d cores%s, %s, fsync p50 %.2f ms", m.CPU, m.Cores, memory, m.OS, m.FsyncMS)
}

func lookAtMachine(dir string) (*Machine, error) {
	m := &Machine{CPU: stdruntime.GOARCH, Cores: stdruntime.NumCPU(), OS: stdruntime.GOOS}
	if v := field("/proc/cpuinfo", "model name"); v != "" {
		m.CPU = v
	}
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryMB = kb >> 10
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.OS += " " + strings.TrimSpace(string(release))
	}
	p50, err := probeSync(dir)
	m.FsyncMS = p50.Seconds() * 1000
	return m, err
}

// field returns the first value of a key in a file of lines "key: value", as Linux has them; "" elsewhere.
func field(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// probeSync measures what an acknowledgement pays at least: 4 KiB written into room that is there already,
// and an fsync.
func probeSync(dir string) (time.Duration, error) {
	const block, times = 4096, 100
	f, err := os.CreateTemp(dir, "tidemill-fsync-")
	if err != nil {
		return 0, fmt.Errorf("probe fsync: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(make([]byte, block*times)); err != nil {
		return 0, fmt.Errorf("probe fsync: %w", err)
	}
	if err := f.Sync(); err != nil {
		return 0, fmt.Errorf("probe fsync: %w", err)
	}
	took := make([]time.Duration, times)
	for i := range took {
		begun := time.Now()
		_, err := f.WriteAt(make([]byte, block), int64(i)*block)
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return 0, fmt.Errorf("probe fsync: %w", err)
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[times/2], nil
}
