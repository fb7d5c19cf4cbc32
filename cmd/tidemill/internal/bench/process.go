package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// process is a server that runs as a child, so that its memory is its own.
type process struct {
	cmd  *exec.Cmd
	addr string
	gone chan struct{} // closed when its output has ended
}

// servingLine is how a server says that it answers.
var servingLine = regexp.MustCompile(`\bmsg=serving\b.*\baddress=(\S+)`)

// startProcess starts a server and returns when it says where it listens. It ends with ctx.
func startProcess(ctx context.Context, command []string) (*process, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	p := &process{cmd: cmd, gone: make(chan struct{})}
	lines := bufio.NewReader(stderr)
	var said strings.Builder
	for {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if m := servingLine.FindStringSubmatch(line); m != nil {
			p.addr = strings.Trim(m[1], `"`)
			break
		}
		if err != nil {
			close(p.gone)
			p.kill()
			return nil, errors.Join(ctx.Err(), fmt.Errorf("the server ended before it served: %s", strings.TrimSpace(said.String())))
		}
	}
	go func() {
		defer close(p.gone)
		io.Copy(io.Discard, lines) // the rest of its log; it must not block
	}()
	return p, nil
}

// kill ends the server at once: its directory goes with it, so there is nothing to save.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.gone
	p.cmd.Wait() // says that it was killed
}

// memory reads what Linux counts for the process, in MB; zeros elsewhere.
func (p *process) memory() (now, peak int64) {
	file := "/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status"
	mb := func(key string) int64 {
		kb, err := strconv.ParseInt(strings.TrimSuffix(field(file, key), " kB"), 10, 64)
		if err != nil {
			return 0
		}
		return kb >> 10
	}
	return mb("VmRSS"), mb("VmHWM")
}
