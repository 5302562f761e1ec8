package session

import (
	"log/slog"
	"net/http"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// Path is the path of sessions below the base path of the server.
const Path = "/console/session"

const maxBodyBytes = 4 << 10

// Handler serves sessions at [Path]. POST with {"code": …} opens one: {"token": …, "expires_in": seconds without a request}.
// DELETE ends all sessions of the principal of its token, which verifier knows. audit gets a line for each; it may be nil.
func (s *Sessions) Handler(verifier auth.Verifier, audit *slog.Logger) http.Handler {
	h := &handler{sessions: s, verifier: verifier, audit: audit}
	return httpapi.Beside(func(w http.ResponseWriter, r *http.Request) error {
		switch r.Method {
		case http.MethodPost:
			return h.open(w, r)
		case http.MethodDelete:
			return h.end(w, r)
		}
		return httpapi.MethodNotAllowed(r, http.MethodDelete, http.MethodPost)
	})
}

type handler struct {
	sessions *Sessions
	verifier auth.Verifier
	audit    *slog.Logger
}

// open answers with the token of a new session.
func (h *handler) open(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Code string `json:"code"`
	}
	if err := httpapi.ReadJSON(w, r, maxBodyBytes, &request); err != nil {
		return err
	}
	token, err := h.sessions.Open(request.Code)
	if err != nil {
		h.report(r, "OpenSession", nil, err)
		return err
	}
	h.report(r, "OpenSession", h.sessions.principal, nil)
	return httpapi.WriteJSON(w, http.StatusOK, struct {
		Token     string `json:"token"`
		ExpiresIn int    `json:"expires_in"`
	}{token, int(idleTime.Seconds())})
}

// end ends the sessions of the sender.
func (h *handler) end(w http.ResponseWriter, r *http.Request) error {
	principal, err := h.sender(r)
	if err == nil {
		h.sessions.End(principal)
	}
	h.report(r, "EndSessions", principal, err)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// sender returns the principal of the token in the header.
func (h *handler) sender(r *http.Request) (*auth.Principal, error) {
	token, err := httpapi.Credential(r)
	if err != nil {
		return nil, err
	}
	return h.verifier.Verify(r.Context(), token)
}

// report writes the audit line of a request, with the fields of the lines of operations.
func (h *handler) report(r *http.Request, operation string, principal *auth.Principal, err error) {
	if h.audit == nil {
		return
	}
	outcome, status, name := "done", http.StatusOK, ""
	if err != nil {
		outcome, status = "denied", http.StatusUnauthorized
		if protocol.CodeOf(err) == protocol.Throttling {
			status = http.StatusTooManyRequests
		}
	} else if operation == "EndSessions" {
		status = http.StatusNoContent
	}
	if principal != nil {
		name = principal.String()
	}
	h.audit.LogAttrs(r.Context(), slog.LevelInfo, "audit",
		slog.String("outcome", outcome), slog.String("principal", name), slog.String("remote", r.RemoteAddr),
		slog.String("operation", operation), slog.String("object", ""), slog.Int("status", status),
		slog.String("request_id", r.Header.Get("X-Request-Id")))
}
