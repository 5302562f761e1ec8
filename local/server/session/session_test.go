package session

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// clock is a clock that tests advance.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func opened(t *testing.T) (*Sessions, *clock) {
	t.Helper()
	c := &clock{time.Unix(1000, 0)}
	return New(&auth.Principal{Subject: auth.TokenSubject, Scopes: []string{auth.ScopeWrite}}, c.now), c
}

func mustOpen(t *testing.T, s *Sessions, code string) (token string) {
	t.Helper()
	token, err := s.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestCodeSignsInOnce(t *testing.T) {
	s, _ := opened(t)
	if _, err := s.Open(""); protocol.CodeOf(err) != protocol.Unauthenticated {
		t.Errorf("without a code: %v", err)
	}
	code := s.NewCode()
	if len(code) < 26 {
		t.Errorf("the code %q has fewer than 128 bits", code)
	}
	token := mustOpen(t, s, code)
	if p, err := s.Verify(t.Context(), token); err != nil || p.String() != auth.TokenSubject {
		t.Errorf("Verify = %v, %v", p, err)
	}
	for _, other := range []string{code, "", strings.ToLower(code), token} {
		if _, err := s.Open(other); protocol.CodeOf(err) != protocol.Unauthenticated {
			t.Errorf("Open again: %v, want Unauthenticated", err)
		}
	}
	for _, other := range []string{code, "", token + "A"} {
		if _, err := s.Verify(t.Context(), other); protocol.CodeOf(err) != protocol.Unauthenticated {
			t.Errorf("Verify of no session: %v, want Unauthenticated", err)
		}
	}
}

func TestCodeExpires(t *testing.T) {
	s, c := opened(t)
	code := s.NewCode()
	c.at = c.at.Add(codeAge)
	if _, err := s.Open(code); protocol.CodeOf(err) != protocol.Unauthenticated || !strings.Contains(err.Error(), "too old") {
		t.Errorf("got %v", err)
	}
}

func TestGuessesAreLimited(t *testing.T) {
	s, c := opened(t)
	code := s.NewCode()
	for range maxGuesses {
		if _, err := s.Open("guess"); protocol.CodeOf(err) != protocol.Unauthenticated {
			t.Fatal(err)
		}
	}
	if _, err := s.Open(code); protocol.CodeOf(err) != protocol.Throttling {
		t.Errorf("after %d guesses: %v, want Throttling", maxGuesses, err)
	}
	c.at = c.at.Add(guessTime)
	mustOpen(t, s, code)
}

func TestSessionsEnd(t *testing.T) {
	for _, test := range []struct {
		name  string
		step  time.Duration // between requests
		steps int           // after which the session still lasts
	}{
		{"idle", idleTime, 0},
		{"absolute", idleTime - time.Minute, int(wholeTime / (idleTime - time.Minute))},
	} {
		s, c := opened(t)
		token := mustOpen(t, s, s.NewCode())
		for range test.steps {
			c.at = c.at.Add(test.step)
			if _, err := s.Verify(t.Context(), token); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
		}
		c.at = c.at.Add(test.step)
		if _, err := s.Verify(t.Context(), token); protocol.CodeOf(err) != protocol.Unauthenticated {
			t.Errorf("%s: %v, want Unauthenticated", test.name, err)
		}
		if len(s.open) != 0 {
			t.Errorf("%s: %d sessions are kept", test.name, len(s.open))
		}
	}
}

func TestOldestSessionEndsForAnother(t *testing.T) {
	s, c := opened(t)
	first := mustOpen(t, s, s.NewCode())
	for range maxSessions {
		c.at = c.at.Add(time.Second)
		mustOpen(t, s, s.NewCode())
	}
	if _, err := s.Verify(t.Context(), first); err == nil || len(s.open) != maxSessions {
		t.Errorf("%d sessions, and the first: %v", len(s.open), err)
	}
}

func TestHandlerOpensAndEndsSessions(t *testing.T) {
	s, _ := opened(t)
	static, err := auth.NewStatic("other", "other-token")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	handler := s.Handler(auth.Chain{s, static}, slog.New(slog.NewJSONHandler(&log, nil)))
	send := func(method, body, token string) (int, string) {
		r := httptest.NewRequest(method, Path, strings.NewReader(body))
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s: header %v", method, w.Header())
		}
		return w.Code, w.Body.String()
	}
	code := s.NewCode()
	for _, test := range []struct {
		method, body, token string
		status              int
		want                string
	}{
		{http.MethodGet, "", "", 405, "DELETE, POST"},
		{http.MethodPost, "", "", 400, "one JSON object"},
		{http.MethodPost, `{"code":"` + strings.Repeat("x", maxBodyBytes) + `"}`, "", 400, "4096 bytes"},
		{http.MethodPost, `{"code":"wrong"}`, "", 401, "restart the server"},
		{http.MethodDelete, "", "", 401, "no credentials"},
		{http.MethodDelete, "", "wrong", 401, "not known"},
	} {
		if status, body := send(test.method, test.body, test.token); status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %.40s: got %d %s, want %d with %q", test.method, test.body, status, body, test.status, test.want)
		}
	}
	status, body := send(http.MethodPost, `{"code":"`+code+`"}`, "")
	var answer struct {
		Token     string `json:"token"`
		ExpiresIn int    `json:"expires_in"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || answer.ExpiresIn != 1800 {
		t.Fatalf("got %d %s", status, body)
	}
	if status, _ := send(http.MethodDelete, "", "other-token"); status != 204 {
		t.Errorf("another principal ends its sessions: got %d", status)
	}
	if _, err := s.Verify(t.Context(), answer.Token); err != nil {
		t.Errorf("another principal ended the session: %v", err)
	}
	if status, body := send(http.MethodDelete, "", answer.Token); status != 204 || body != "" {
		t.Errorf("end: got %d %q", status, body)
	}
	if _, err := s.Verify(t.Context(), answer.Token); err == nil {
		t.Error("the session has not ended")
	}
	for _, secret := range []string{code, answer.Token, "wrong"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, &log)
		}
	}
	if n := strings.Count(log.String(), `"outcome":"done","principal":"token"`); n != 2 {
		t.Errorf("%d lines name the principal:\n%s", n, &log)
	}
}
