package forward_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/protocol/eventapi"
)

const hookKey = "a key of the test, long enough"

// verified returns the events of a request whose signature is right. docs/events.md describes the same steps.
func verified(r *http.Request) (events []eventapi.Event, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(body)
	mac := hmac.New(sha256.New, []byte(hookKey))
	fmt.Fprintf(mac, "POST\n%s\n%s\n%s", r.URL.EscapedPath(), r.Header.Get("X-Tiltyard-Time"), hex.EncodeToString(digest[:]))
	if r.Header.Get("Authorization") != "TILTYARD-HMAC-SHA256 "+hex.EncodeToString(mac.Sum(nil)) {
		return nil, errors.New("the signature is wrong")
	}
	if kind := r.Header.Get("Content-Type"); kind != forward.ContentType {
		return nil, fmt.Errorf("the content type is %s", kind)
	}
	return events, json.Unmarshal(body, &events)
}

func hook(t *testing.T, key string, serve http.HandlerFunc) forward.Target {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	at, err := forward.ParseAddress(server.URL + "/secret-of-the-path")
	if err != nil {
		t.Fatal(err)
	}
	return forward.NewWebhook(at, func(context.Context) ([]byte, error) { return []byte(key + "\n"), nil })
}

func some(n int) (events []eventapi.Event) {
	for i := range n {
		events = append(events, eventapi.Event{SpecVersion: "1.0", ID: fmt.Sprint(i), Source: "urn:test", Type: eventapi.TableCommitted, Data: eventapi.Data{ID: []string{"t"}}})
	}
	return events
}

func TestWebhookGetsSignedEvents(t *testing.T) {
	var ids []string
	requests := 0
	target := hook(t, hookKey, func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 {
			w.WriteHeader(http.StatusServiceUnavailable) // it is asked again
			return
		}
		events, err := verified(r)
		if err != nil {
			t.Error(err)
		}
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	if err := target.Send(t.Context(), some(150)); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 150 {
		want = append(want, fmt.Sprint(i))
	}
	if !slices.Equal(ids, want) || requests != 3 {
		t.Errorf("got %v in %d requests", ids, requests)
	}
}

// What is refused is an error, which tells neither the key nor the path.
func TestWebhookRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		status, requests int
		key              string
	}{
		"a refusal":           {http.StatusForbidden, 1, hookKey},
		"a redirect":          {http.StatusFound, 1, hookKey},
		"one that stays busy": {http.StatusTooManyRequests, 3, hookKey},
		"one that has failed": {http.StatusInternalServerError, 3, hookKey},
		"a key that is short": {http.StatusOK, 0, "short"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			target := hook(t, c.key, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
			})
			err := target.Send(t.Context(), some(1))
			if err == nil || requests != c.requests || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), c.key) {
				t.Errorf("got %v after %d requests, want an error after %d", err, requests, c.requests)
			}
		})
	}
	at, err := forward.ParseAddress("http://127.0.0.1:1/secret-of-the-path")
	if err != nil {
		t.Fatal(err)
	}
	unreachable := forward.NewWebhook(at, func(context.Context) ([]byte, error) { return []byte(hookKey), nil })
	if err := unreachable.Send(t.Context(), some(1)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("one that cannot be reached: %v", err)
	}
}
