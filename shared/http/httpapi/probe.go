package httpapi

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/outage"
)

// serveProbe answers the paths that are not operations:
//
//	/healthz   the process runs
//	/readyz    the stores and the keys of tokens are reachable; 503 if not
//	/storez    the store has the guarantees that commits need, for principals that may sign in; 503 if not
//	/version   versions of the program and of the specification
//	/metrics   metrics, for principals that may sign in, if the server has any
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
	case "storez":
		if h.Store == nil {
			return false
		}
		h.serveStore(w, r)
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

// serveVersion answers with the versions of the program and of the specification.
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
	if err := h.ready.check(r.Context(), h.Ready, h.Now); err != nil {
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

// serveStore answers with the reason, because its clients have credentials.
func (h *handler) serveStore(w http.ResponseWriter, r *http.Request) {
	if !h.signedIn(w, r) {
		return
	}
	state := protocol.StoreState{Status: "trusted"}
	status := http.StatusOK
	if err := h.store.check(r.Context(), h.Store, h.Now); err != nil {
		h.Logger.ErrorContext(r.Context(), "the store is not to be trusted", "error", err)
		state, status = protocol.StoreState{Status: "not trusted", Reason: err.Error()}, http.StatusServiceUnavailable
	}
	answer, err := encodeJSON(state)
	if err != nil {
		panic(err) // a struct of strings always encodes
	}
	writeProbe(w, status, string(answer))
}

// Many clients may send probes, and each check costs storage requests. So an answer is reused for
// readyAge, and a check has a time limit.
const (
	readyAge     = 5 * time.Second
	readyTimeout = 3 * time.Second
	storeAge     = time.Minute
	storeTimeout = 25 * time.Second // less than the timeout of a gateway
)

// readiness is the last answer of a check.
type readiness struct {
	age, timeout time.Duration

	mu   sync.Mutex // held during a check, so that concurrent requests share one
	at   time.Time
	last error
}

// check returns the last result if it is recent, and checks again otherwise.
func (r *readiness) check(ctx context.Context, ready func(context.Context) error, now func() time.Time) error {
	if ready == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && now().Sub(r.at).Abs() < r.age {
		return r.last
	}
	// Other requests wait for this answer as well, so the check continues if this client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	r.last = ready(ctx)
	r.at = now()
	return r.last
}

// serveMetrics requires credentials as operations do, because the numbers show what other users do.
func (h *handler) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if !h.signedIn(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	h.Metrics(w)
}

// signedIn reports whether a request has valid credentials. If not, it answers the request.
func (h *handler) signedIn(w http.ResponseWriter, r *http.Request) bool {
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
	}
	return err == nil
}
