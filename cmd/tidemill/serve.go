package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tidemill/cmd/tidemill/internal/server"
	"tidemill/runtime"
	"tidemill/runtime/httpd"
)

// serveSettings are what the flags of serve say.
type serveSettings struct {
	dir, addr, pprof, level string
	memory, maxBody         size
	insecure                bool
}

// serveFlags lists every flag of serve: each can be set by a variable.
var serveFlags = []string{"dir", "addr", "memory", "max-body", "insecure", "pprof", "log-level"}

func serveCommand() *cobra.Command {
	s := serveSettings{memory: runtime.DefaultMemory, maxBody: httpd.DefaultMaxBodyBytes}
	cmd := &cobra.Command{
		Use:   "serve --dir DIR",
		Short: "Serve a directory over HTTP",
		Long: `Serve opens a directory, or makes it, and answers over HTTP until it gets SIGINT or SIGTERM: then it answers
the requests that run, saves its state and exits 0. A second signal ends it at once; nothing that was
acknowledged is lost by that, the next start replays the log.

Every flag can also be set by a variable: --max-body by TIDEMILL_MAX_BODY. The command line goes first.`,
		Example: `  tidemill serve --dir data
  tidemill serve --dir data --addr 127.0.0.1:9000 --memory 2GiB
  TIDEMILL_DIR=data TIDEMILL_LOG_LEVEL=debug tidemill serve`,
		Args: argsOf(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd, serveFlags, os.Getenv); err != nil {
				return err
			}
			if err := required(cmd, "dir"); err != nil {
				return err
			}
			return serve(&s, cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.dir, "dir", "", "`directory` that holds everything; it is made when it is not there")
	f.StringVar(&s.addr, "addr", httpd.DefaultAddr, "`address` to listen on; port 0 takes a free one")
	f.Var(&s.memory, "memory", "memory for state, rows and requests")
	f.Var(&s.maxBody, "max-body", "largest body of an append")
	f.BoolVar(&s.insecure, "insecure", false, "allow an --addr that other machines can reach, without authentication")
	f.StringVar(&s.pprof, "pprof", "", "loopback `address` for Go's profiles; none by default")
	f.StringVar(&s.level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// serve runs a server until a signal or its failure.
func serve(s *serveSettings, stderr io.Writer) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.level)); err != nil {
		return fmt.Errorf("--log-level %q: give debug, info, warn or error", s.level)
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	limitHeap(int64(s.memory))
	srv, err := server.Open(server.Options{Dir: s.dir, Addr: s.addr, Memory: int64(s.memory), MaxBodyBytes: int64(s.maxBody),
		Insecure: s.insecure, Pprof: s.pprof, Logger: logger})
	if err != nil {
		return explainOpen(err, s.dir)
	}
	begun := time.Now()
	logger.Info("serving", "version", buildVersion().Version, "address", srv.Addr(), "dir", s.dir, "commit", srv.Engine.Commit(),
		"opened", srv.OpenTime.Round(time.Microsecond))
	if !srv.Loopback() {
		logger.Warn("other machines can reach this server, and nothing asks them who they are", "address", srv.Addr())
	}
	var failed error
	select {
	case sig := <-signals:
		logger.Info("stopping", "signal", sig.String())
	case failed = <-srv.Failed():
		failed = fmt.Errorf("serve %s: %w", srv.Addr(), failed)
	}
	go func() {
		sig := <-signals
		logger.Warn("stopped at once", "signal", sig.String())
		os.Exit(1)
	}()
	commit := srv.Engine.Commit
	if err := errors.Join(failed, srv.Close()); err != nil {
		return err
	}
	logger.Info("stopped", "dir", s.dir, "commit", commit(), "served", time.Since(begun).Round(time.Millisecond))
	return nil
}

// explainOpen says what to do about a directory that cannot be opened.
func explainOpen(err error, dir string) error {
	switch {
	case errors.Is(err, runtime.ErrLocked):
		return fmt.Errorf("directory %s is in use by another process: one server has a directory at a time; stop the other one, or give another --dir", dir)
	case errors.Is(err, runtime.ErrNewerFormat):
		return fmt.Errorf("%w; use that version or a later one", err)
	}
	return err
}
