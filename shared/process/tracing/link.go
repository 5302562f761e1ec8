package tracing

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
)

// A link identifies a span and its trace across processes. Its text has four hexadecimal fields:
//
//	00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
//	│  trace                            span             flags: 1 if the trace is recorded
//	version
//
// Source: W3C Trace Context, "Traceparent Header" and "Tracestate Header".
type link struct {
	trace [16]byte // not zero
	span  [8]byte  // not zero
	flags byte
	state string // the tracestate of other tracing systems
}

const (
	linkBytes = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	// recorded is the flag of recorded traces; knownFlags are the flags that are passed on.
	recorded, knownFlags = 1, 3
	// maxStateBytes bounds the state, as far as each system has to pass it on. All spans of a request refer to it.
	maxStateBytes = 512
)

// parseLink reads the text of a link, without a state. Later versions may have more fields.
func parseLink(text string) (l link, ok bool) {
	if len(text) < linkBytes || len(text) > linkBytes && (text[:2] == "00" || text[linkBytes] != '-') {
		return l, false
	}
	var version, flags [1]byte
	at := 0
	for i, field := range [][]byte{version[:], l.trace[:], l.span[:], flags[:]} {
		if i > 0 {
			if text[at] != '-' {
				return l, false
			}
			at++
		}
		digits := text[at : at+2*len(field)]
		at += len(digits)
		if _, err := hex.Decode(field, []byte(digits)); err != nil || strings.ToLower(digits) != digits {
			return l, false
		}
	}
	l.flags = flags[0] & knownFlags
	return l, version[0] != 0xff && l.trace != [16]byte{} && l.span != [8]byte{}
}

// linkOf parses the headers of a request. Duplicate Traceparent headers are ambiguous, and invalid. A
// tracestate that is too long or malformed is dropped.
func linkOf(headers http.Header) (l link, ok bool) {
	parents := headers.Values("Traceparent")
	if len(parents) != 1 {
		return l, false
	}
	if l, ok = parseLink(parents[0]); !ok {
		return l, false
	}
	if state := strings.Join(headers.Values("Tracestate"), ","); isState(state) {
		l.state = state
	}
	return l, true
}

// isState reports whether a text is a list of NAME=VALUE in printable characters, as any header of HTTP may carry it.
func isState(text string) bool {
	if len(text) > maxStateBytes || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return false
	}
	for member := range strings.SplitSeq(text, ",") {
		if member = strings.TrimSpace(member); member != "" && strings.IndexByte(member, '=') < 1 {
			return false
		}
	}
	return true
}

func (l link) String() string {
	const digits = "0123456789abcdef"
	text := append(make([]byte, 0, linkBytes), "00-"...)
	text = append(hex.AppendEncode(text, l.trace[:]), '-')
	text = append(hex.AppendEncode(text, l.span[:]), '-', '0', digits[l.flags])
	return string(text)
}

func (l link) isRecorded() bool { return l.flags&recorded != 0 }

// below returns the link of a new span in the same trace.
func (l link) below() link {
	l.span = [8]byte(newID())
	return l
}

// newTrace returns the link of the first span of a trace.
func newTrace(isRecorded bool) (l link) {
	l.trace = [16]byte(append(newID(), newID()...))
	if isRecorded {
		l.flags = recorded
	}
	return l.below()
}

// newID returns a random id other than zero, which means none. It need not be unpredictable.
func newID() []byte { return binary.BigEndian.AppendUint64(nil, max(rand.Uint64(), 1)) }

// Parent returns the span of the context as text for a message, or "".
func Parent(ctx context.Context) string {
	if s := of(ctx); s != nil {
		return s.link.String()
	}
	return ""
}

// PassOn adds the span of the context to the headers of a request.
func PassOn(ctx context.Context, headers http.Header) {
	s := of(ctx)
	if s == nil {
		return
	}
	headers.Set("Traceparent", s.link.String())
	if s.link.state != "" {
		headers.Set("Tracestate", s.link.state)
	}
}

// TraceID returns the trace id of the context in hexadecimal, or "".
func TraceID(ctx context.Context) string {
	if s := of(ctx); s != nil {
		return hex.EncodeToString(s.link.trace[:])
	}
	return ""
}
