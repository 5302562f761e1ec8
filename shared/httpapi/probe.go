package httpapi

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"tiltyard/shared/outage"
	"tiltyard/shared/protocol"
)

// serveProbe answers the paths that are not operations:
//
//	/healthz   the process runs
//	/readyz    the stores and the keys of tokens can be reached; 503 when not
//	/version   versions of the program and of the specification
//	/metrics   numbers, for principals that may sign in, if the server keeps any
func (h *handler) serveProbe(w http.ResponseWriter, r *http.Request) bool {
	segments := h.router.segments(r.URL.EscapedPath())
	if len(segments) != 1 || r.Method != http.MethodGet {
		return false
	}
	switch segments[0] {
	case "healthz":
		writeProbe(w, http.StatusOK, `{"status":"ok"}`)
	case "readyz":
		h.serveReady(w, r)
	case "version":
		h.serveVersion(w)
	case "metrics":
		if h.Metrics == nil {
			return false
		}
		h.serveMetrics(w, r)
	default:
		return false
	}
	return true
}

func (h *handler) serveVersion(w http.ResponseWriter) {
	answer, err := encodeJSON(protocol.ServerVersion{
		Version: h.Release, Specification: protocol.SpecificationVersion, IdempotencyKeys: h.Ledger != nil,
	})
	if err != nil {
		panic(err) // a struct of strings and booleans always encodes
	}
	writeProbe(w, http.StatusOK, string(answer))
}

func writeProbe(w http.ResponseWriter, status int, answer string) {
	w.Header().Set("Content-Type", contentTypeJSON)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

// serveReady answers without details, because the client may be a stranger. The details are in the
// log. The message of an outage is for everybody: it names the service or the bucket.
func (h *handler) serveReady(w http.ResponseWriter, r *http.Request) {
	if err := h.readiness.check(r.Context(), h.Ready, h.Now); err != nil {
		h.Logger.ErrorContext(r.Context(), "not ready", "error", err)
		answer := map[string]string{"status": "not ready"}
		if trouble := outage.Of(err); trouble != nil {
			answer["reason"] = trouble.Message
		}
		text, err := encodeJSON(answer)
		if err != nil {
			panic(err) // a map of strings always encodes
		}
		writeProbe(w, http.StatusServiceUnavailable, string(text))
		return
	}
	writeProbe(w, http.StatusOK, `{"status":"ready"}`)
}

// Any client may ask whether the server is ready, and each check costs storage requests. So an
// answer is reused for a while, and a check has a short time limit.
const (
	readyAge     = 5 * time.Second
	readyTimeout = 3 * time.Second
)

// readiness is the last answer of the readiness check.
type readiness struct {
	mu   sync.Mutex // held during a check, so that concurrent requests share one
	at   time.Time
	last error
}

func (r *readiness) check(ctx context.Context, ready func(context.Context) error, now func() time.Time) error {
	if ready == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && now().Sub(r.at).Abs() < readyAge {
		return r.last
	}
	// Other requests wait for this answer, too, so the check continues when this client
	// disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.last = ready(ctx)
	r.at = now()
	return r.last
}

// serveMetrics requires credentials as operations do, because the numbers show what other users do.
func (h *handler) serveMetrics(w http.ResponseWriter, r *http.Request) {
	token, ok, err := headerToken(r.Header)
	if err == nil && !ok || h.Verifier == nil {
		err = errNoCredentials
	}
	if err == nil {
		_, err = h.Verifier.Verify(r.Context(), token)
	}
	if err != nil {
		c := &call{handler: h, w: &responseWriter{ResponseWriter: w}, r: r, clientErr: r.Context().Err, requestID: h.chooseRequestID(r)}
		c.writeProblem(err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	h.Metrics(w)
}
