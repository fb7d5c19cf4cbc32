package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// asCommand makes this test binary the command itself, so that tests start, signal and kill the real thing
// without building it a second time.
const asCommand = "TEST_BINARY_IS_TIDEMILL"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// child is a tidemill process.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	mu  sync.Mutex
	log bytes.Buffer // guarded by mu
	// lines gets every line of its log, and is closed at its end.
	lines chan string
}

// start runs the command with a clean environment.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(self, args...), lines: make(chan string, 1000)}
	c.cmd.Env = append(os.Environ(), asCommand+"=1")
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(stderr); ; {
			line, err := r.ReadString('\n')
			c.mu.Lock()
			c.log.WriteString(line)
			c.mu.Unlock()
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
			c.wait()
		}
	})
	return c
}

// said returns the log so far.
func (c *child) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

// waitFor returns what a line of the log has where the pattern has its group.
func (c *child) waitFor(pattern string) string {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	for line := range c.lines {
		if m := re.FindStringSubmatch(line); m != nil {
			return m[len(m)-1]
		}
	}
	c.t.Fatalf("the process ended without a line like %s:\n%s", pattern, c.said())
	return ""
}

// url waits until the process serves.
func (c *child) url() string {
	c.t.Helper()
	return "http://" + c.waitFor(`msg=serving .*address=(\S+)`)
}

// wait returns the exit code; -1 is a signal.
func (c *child) wait() int {
	for range c.lines { // its output must end first
	}
	if err := c.cmd.Wait(); err != nil && c.cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return c.cmd.ProcessState.ExitCode()
}

// TestVersion names everything that a report of a fault must have.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs([]string{"version"})
	root.SetOut(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tidemill ", "go       go1.", "duckdb   v1.", "platform "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestHelp: every command has a text, an example, and help that can be printed.
func TestHelp(t *testing.T) {
	for _, cmd := range rootCommand().Commands() {
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s has no text or no example", cmd.Name())
		}
		cmd.SetOut(io.Discard)
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
	}
}
