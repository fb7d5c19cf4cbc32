package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/server"
	"tidemill/runtime"
	"tidemill/runtime/httpd"
)

// target is what a command talks to: a server, or a directory that it opens itself.
type target struct {
	url, dir string
	memory   size
}

// targetFlags can be set by variables.
var targetFlags = []string{"url"}

func (t *target) add(cmd *cobra.Command) {
	t.memory = runtime.DefaultMemory
	f := cmd.Flags()
	f.StringVar(&t.url, "url", "http://"+httpd.DefaultAddr, "`address` of the server, or TIDEMILL_URL")
	f.StringVar(&t.dir, "dir", "", "open this `directory` in this process, without a server")
	f.Var(&t.memory, "memory", "memory for state and rows, with --dir")
	cmd.MarkFlagsMutuallyExclusive("url", "dir")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
}

// with calls fn with the target open until it returns, and a context that ends with an interrupt of the process.
func (t *target) with(cmd *cobra.Command, fn func(ctx context.Context, c *client.Client) error) (err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, closer, err := t.open(ctx, cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	return fn(ctx, c)
}

// open connects, or opens the directory. The error has the exit code. The closer is to be closed.
func (t *target) open(ctx context.Context, cmd *cobra.Command) (*client.Client, io.Closer, error) {
	given := cmd.Flags().Changed("url")
	if err := fromEnvironment(cmd, targetFlags, os.Getenv); err != nil {
		return nil, nil, wrongUsage(cmd, err)
	}
	if t.dir != "" && !given {
		limitHeap(int64(t.memory))
		l, err := server.OpenLocal(server.Options{Dir: t.dir, Memory: int64(t.memory)})
		if err != nil {
			return nil, nil, codedError{explainOpen(err, t.dir), exitUsage}
		}
		return client.NewOver(l.Dial), l, nil
	}
	base, err := baseURL(t.url)
	if err != nil {
		return nil, nil, wrongUsage(cmd, err)
	}
	c := client.New(base)
	if _, err := c.Text(ctx, "/livez"); err != nil {
		return nil, nil, codedError{fmt.Errorf("cannot reach %s: %w\nstart one with tidemill serve --dir DIR, or open a directory with --dir", t.url, err), exitUsage}
	}
	return c, closeClient{c}, nil
}

// where names the target for people.
func (t *target) where() string {
	if t.dir != "" {
		return t.dir
	}
	return t.url
}

type closeClient struct{ *client.Client }

// Close implements io.Closer.
func (c closeClient) Close() error {
	c.Client.Close()
	return nil
}

// baseURL completes an address: localhost:8080 is one too.
func baseURL(s string) (string, error) {
	full := s
	if !strings.Contains(s, "://") {
		full = "http://" + s
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--url %q: give the server's address, such as http://127.0.0.1:8080", s)
	}
	return full, nil
}
