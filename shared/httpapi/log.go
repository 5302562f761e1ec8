package httpapi

import (
	"context"
	"log/slog"

	"tiltyard/shared/protocol"
)

// report passes a finished request to the log, the audit and the metrics.
func (h *handler) report(ctx context.Context, s *Served) {
	h.log(ctx, s)
	h.audit(ctx, s)
	if h.Observe != nil {
		h.Observe(s)
	}
}

// log writes the one line of a request. It contains no secrets: no tokens, bodies or query strings,
// and none of the values that errors quote.
func (h *handler) log(ctx context.Context, s *Served) {
	level := slog.LevelInfo
	if s.Failed() {
		level = slog.LevelError
	}
	if !h.Logger.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 26),
		slog.String("request_id", s.RequestID),
		slog.String("method", s.Method),
		slog.String("operation", s.Operation.Name),
		slog.String("object", s.Object),
		slog.String("dialect", s.Dialect.String()),
		slog.Int("status", s.Status),
		slog.Float64("duration_ms", float64(s.Duration.Microseconds())/1000),
		slog.Int64("bytes_in", s.Received),
		slog.Int64("bytes_out", s.Sent),
		slog.Int64("storage_reads", s.Storage.Requests()),
		slog.Int64("storage_writes", s.Storage.Writes()),
		slog.Int64("storage_bytes_read", s.Storage.Bytes()),
		slog.Int64("storage_bytes_written", s.Storage.Written()),
		slog.Int64("memory_bytes", s.Memory),
		slog.Bool("cold", s.Cold),
	)
	if s.Rows > 0 || s.Cut {
		attrs = append(attrs, slog.Int64("rows_out", s.Rows))
	}
	if s.Cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	attrs = appendSaid(attrs, "principal", s.Principal)
	attrs = appendSaid(attrs, "version", s.Version)
	attrs = appendSaid(attrs, "code", s.Code)
	if s.Err != nil {
		attrs = append(attrs, slog.String("error", protocol.LogText(s.Err)))
	}
	h.Logger.LogAttrs(ctx, level, "request", attrs...)
}

// audit writes the line of a change, whether it succeeded or not, and of a request that was refused
// because of its sender. Its message distinguishes it from other lines, and no log level drops it.
func (h *handler) audit(ctx context.Context, s *Served) {
	if h.Audit == nil || s.Operation.Name == "" || s.Operation.Access != protocol.Write && !s.denied() {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String("outcome", s.outcome()),
		slog.String("principal", s.Principal),
		slog.String("remote", s.Remote),
		slog.String("operation", s.Operation.Name),
		slog.String("object", s.Object),
		slog.Int("status", s.Status),
		slog.String("request_id", s.RequestID),
	)
	attrs = appendSaid(attrs, "version", s.Version)
	attrs = appendSaid(attrs, "transaction", s.Transaction)
	attrs = appendSaid(attrs, "code", s.Code)
	h.Audit.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
}

// outcome is the result of a request in the words of the audit. A request may have failed in a way
// that leaves open whether the change was made.
func (s *Served) outcome() string {
	switch {
	case s.denied():
		return "denied"
	case s.mayHaveChanged():
		return "unknown"
	case s.Err != nil:
		return "failed"
	case s.Replayed:
		return "replayed"
	}
	return "done"
}

// appendSaid appends an attribute unless its value is empty.
func appendSaid(attrs []slog.Attr, key, value string) []slog.Attr {
	if value == "" {
		return attrs
	}
	return append(attrs, slog.String(key, value))
}

// Redact is a ReplaceAttr function for log handlers (slog.HandlerOptions). It removes the values of
// rows and requests that errors quote, from all lines of the log.
func Redact(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		return slog.String(a.Key, protocol.LogText(err))
	}
	return a
}
