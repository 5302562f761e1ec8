package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"tiltyard/shared/http/audit"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/process/requestid"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// newLogger returns a logger that adds the ids of the request and of its trace to each line.
func newLogger(c Config, w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(tracing.Logging(requestid.Logging(newForm(c, w, level))))
}

// newAudit returns a logger for the audit chain.
func newAudit(c Config, w io.Writer) *slog.Logger {
	return slog.New(tracing.Logging(requestid.Logging(audit.NewHandler(w, func(w io.Writer) slog.Handler { return newForm(c, w, slog.LevelDebug) }))))
}

// openAccessLog returns the loggers of requests and of the audit. They write to the log, or to the file that the
// configuration names. Lines of requests that failed are in the log then, too.
func openAccessLog(c Config, log io.Writer, logger *slog.Logger) (requests, auditing *slog.Logger, err error) {
	if c.AccessLog == "" {
		return logger, newAudit(c, log), nil
	}
	file, err := os.OpenFile(c.AccessLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("access-log: %w", err)
	}
	w := &lockedWriter{w: file}
	both := slog.NewMultiHandler(newForm(c, log, max(c.LogLevel, slog.LevelWarn)), newForm(c, w, slog.LevelInfo))
	return slog.New(tracing.Logging(requestid.Logging(both))), newAudit(c, w), nil
}

// AddVerifier lets clients sign in with the tokens of a verifier, too. It must be called before Handler and Stores.
func (e *Env) AddVerifier(v auth.Verifier) {
	e.Verifier = append(auth.Chain{v}, e.Verifier.(auth.Chain)...)
}

// newForm returns a handler that writes lines in the configured form.
func newForm(c Config, w io.Writer, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: httpapi.Redact}
	if c.LogText {
		return slog.NewTextHandler(w, options)
	}
	return slog.NewJSONHandler(w, options)
}

// lockedWriter lets the loggers and the metrics write whole lines to the same destination.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// observe calls all observers.
func (e *Env) observe(s *httpapi.Served) {
	for _, tell := range e.Observers {
		tell(s)
	}
}

// readyKey is the key of a missing object. Reading it requires the same rights as any other read,
// and is the cheapest request.
const readyKey = "_catalog/ready"

// ready returns an error unless all required stores are reachable and accept writes.
func (e *Env) ready(ctx context.Context) error {
	if _, _, err := e.Objects.Home().Store.Get(ctx, readyKey); err != nil && !errors.Is(err, objectstore.ErrNotExist) {
		return fmt.Errorf("the root cannot be read: %w", err)
	}
	if err := e.writable(ctx); err != nil {
		return err
	}
	if err := auth.Ready(ctx, e.Verifier); err != nil {
		return fmt.Errorf("no client with a JWT could sign in: %w", err)
	}
	if e.Quotas != nil {
		if _, err := e.Quotas.Current(ctx); err != nil {
			return fmt.Errorf("quotas cannot be read, so all requests would be refused: %w", err)
		}
	}
	if e.Policies == nil {
		return nil
	}
	if err := e.Policies.Check(ctx); err != nil {
		return fmt.Errorf("policies cannot be read, so all requests would be refused: %w", err)
	}
	return nil
}

// writable returns an error unless the roots accept writes. An allowed location may be read-only on
// purpose, so only a full one counts as an error.
func (e *Env) writable(ctx context.Context) error {
	for i, root := range e.Objects.All() {
		err := objectstore.Writable(ctx, root.Store)
		if err != nil && (i == 0 || objectstore.IsFull(err)) {
			return fmt.Errorf("root %s does not accept writes: %w", root.URI, err)
		}
	}
	return nil
}

// parseMetrics reports whether metrics are written to the log. With auto, they are if the process
// runs in Lambda, which an environment variable shows.
func parseMetrics(text string) (emf bool, err error) {
	switch text {
	case "emf":
		return true, nil
	case "off":
		return false, nil
	case "auto":
		return os.Getenv(functionVariable) != "", nil
	}
	return false, errors.New("must be auto, emf or off")
}
