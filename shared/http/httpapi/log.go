package httpapi

import (
	"context"
	"log/slog"
	"time"

	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol"
)

// report passes a finished request to the log, the audit, the metrics and its span.
func (h *handler) report(c *call, s *Served) {
	h.log(c.ctx(), s)
	h.audit(c.ctx(), s)
	if c.span != nil {
		endSpan(c.span, s)
	}
	if h.Observe != nil {
		h.Observe(s)
	}
}

// endSpan adds the description of a request to its span, and ends it. The span has the fields of the log line, except the
// sender of the request and the text of the error.
func endSpan(span *tracing.Span, s *Served) {
	if s.Principal == "" {
		span.Distrust()
	}
	if s.Operation.Name != "" {
		span.Name(s.Operation.Name)
	}
	span.Text("http.request.method", s.Method)
	span.Text("http.route", s.Operation.Path)
	span.Number("http.response.status_code", int64(s.Status))
	span.Number("http.request.body.size", s.Received)
	span.Number("http.response.body.size", s.Sent)
	span.Text("tiltyard.request_id", s.RequestID)
	span.Text("tiltyard.object", s.Object)
	span.Text("tiltyard.version", s.Version)
	span.Text("tiltyard.transaction", s.Transaction)
	span.Number("tiltyard.storage.reads", s.Storage.Requests())
	span.Number("tiltyard.storage.writes", s.Storage.Writes())
	if s.Cold {
		span.Number("tiltyard.cold", 1)
	}
	span.Text("tiltyard.code", s.Code)
	if s.Failed() {
		span.Fail(s.Code)
	}
	span.End()
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
	attrs := append(make([]slog.Attr, 0, 27),
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
	if kept := s.Storage.Kept(); kept > 0 {
		attrs = append(attrs, slog.Int64("storage_kept", kept))
	}
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
	// The handler is called directly, because a logger would look up the line of this call, which no handler writes.
	line := slog.NewRecord(time.Now(), level, "request", 0)
	line.AddAttrs(attrs...)
	_ = h.Logger.Handler().Handle(ctx, line)
}

// audit writes the line of a change, whether it succeeded or not, and of a request that was refused
// because of its sender. Its message distinguishes it from other lines, and it is written at all
// log levels.
func (h *handler) audit(ctx context.Context, s *Served) {
	operation := s.effect()
	if h.Audit == nil || operation.Name == "" || operation.Access != protocol.Write && !s.denied() {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String("outcome", s.outcome()),
		slog.String("principal", s.Principal),
		slog.String("remote", s.Remote),
		slog.String("operation", operation.Name),
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
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	if err, ok := a.Value.Any().(error); ok {
		return slog.String(a.Key, protocol.LogText(err))
	}
	return a
}
