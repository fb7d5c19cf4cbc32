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
	tokenFile, cert, key    string
	origins                 []string
	timeout                 time.Duration
	slowMillis              int64
	format                  string
	resultCache             size
}

// serveFlags lists every flag of serve: each can be set by a variable.
var serveFlags = []string{"dir", "addr", "memory", "max-body", "insecure", "pprof", "log-level", "log-format", "token-file",
	"tls-cert", "tls-key", "cors-origin", "statement-timeout", "slow-query-ms", "result-cache"}

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
	f.BoolVar(&s.insecure, "insecure", false, "allow an --addr that other machines can reach, without tokens and TLS")
	f.StringVar(&s.tokenFile, "token-file", "", "`file` of the tokens that requests must have; tidemill token makes its lines")
	f.StringVar(&s.cert, "tls-cert", "", "PEM `file` of the certificate and its chain")
	f.StringVar(&s.key, "tls-key", "", "PEM `file` of the certificate's key")
	f.StringSliceVar(&s.origins, "cors-origin", nil, "`origin` whose pages may call from a browser, such as https://app.example; may be repeated")
	f.DurationVar(&s.timeout, "statement-timeout", 0, "ends statements that give no timeout_ms; 0 is never")
	f.Int64Var(&s.slowMillis, "slow-query-ms", 1000, "logs statements that take so many `milliseconds`; 0 logs none")
	f.Var(&s.resultCache, "result-cache", "memory for answers that are kept; 0 is a sixteenth of --memory")
	f.StringVar(&s.pprof, "pprof", "", "loopback `address` for Go's profiles; none by default")
	f.StringVar(&s.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.format, "log-format", "text", "text, or json for programs")
	return cmd
}

// serve runs a server until a signal or its failure.
func serve(s *serveSettings, stderr io.Writer) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.level)); err != nil {
		return fmt.Errorf("--log-level %q: give debug, info, warn or error", s.level)
	}
	logger, err := newLogger(stderr, s.format, level)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	limitHeap(int64(s.memory))
	srv, err := server.Open(server.Options{Dir: s.dir, Addr: s.addr, Memory: int64(s.memory), MaxBodyBytes: int64(s.maxBody),
		Insecure: s.insecure, TokenFile: s.tokenFile, TLSCert: s.cert, TLSKey: s.key, CORSOrigins: s.origins,
		StatementTimeout: s.timeout, SlowQuery: time.Duration(s.slowMillis) * time.Millisecond, ResultCache: int64(s.resultCache),
		Pprof: s.pprof, Logger: logger})
	if err != nil {
		return explainOpen(err, s.dir)
	}
	begun := time.Now()
	logger.Info("serving", "version", buildVersion().Version, "address", srv.Addr(), "dir", s.dir, "commit", srv.Engine.Commit(),
		"opened", srv.OpenTime.Round(time.Microsecond))
	if !srv.Loopback() && s.insecure {
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

func newLogger(w io.Writer, format string, level slog.Level) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("--log-format %q: give text or json", format)
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
