// Package audit chains the lines of the audit log by hashes, so that later changes and omissions are detected.
//
// Each process writes a chain. Each line ends with the name of its chain, its number in the chain, from 1 on, and the
// SHA-256 of the line before, as it was written and without its line feed:
//
//	{…,"chain":"5f0c…","line":2,"before":"9b74…"}
//
// A [Verifier] reads lines again and reports those that do not match. A chain cannot reveal lines missing at its end; only
// a store that forbids deletion, such as a bucket with object lock, protects these.
package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"sync"
)

// Message is the message of a line of the audit, which distinguishes it from other lines of the log.
const Message = "audit"

// NewHandler returns a handler that starts a new chain, and writes each line to w with one call of
// Write. form returns the handler that formats lines: as JSON, or as the text of package slog.
func NewHandler(w io.Writer, form func(io.Writer) slog.Handler) slog.Handler {
	var name [8]byte
	_, _ = rand.Read(name[:]) // never returns an error: a failure ends the program
	c := &chain{name: hex.EncodeToString(name[:]), w: w}
	return handler{chain: c, form: form(&c.line)}
}

// A chain is the lines of a process.
type chain struct {
	name string
	w    io.Writer

	mu     sync.Mutex
	lines  uint64 // number of written lines
	before string // hash of the last one
	line   bytes.Buffer
}

// A handler writes lines to a chain. Handlers with attributes or groups share the chain of the first
// one.
type handler struct {
	*chain
	form slog.Handler // writes to the line of the chain
}

// Enabled returns true: no level drops a line of the audit.
func (h handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes a line. If w fails, the line still counts, so that a verifier reports it as
// missing.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r = r.Clone()
	r.AddAttrs(slog.String("chain", h.name), slog.Uint64("line", h.lines+1), slog.String("before", h.before))
	h.line.Reset()
	if err := h.form.Handle(ctx, r); err != nil {
		return err
	}
	h.lines++
	h.before = hashOf(bytes.TrimSuffix(h.line.Bytes(), []byte("\n")))
	_, err := h.w.Write(h.line.Bytes())
	return err
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.chain, h.form.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.chain, h.form.WithGroup(name)}
}

// hashOf returns the SHA-256 of a line in hexadecimal.
func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}
