package client_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"tiltyard/shared/client"
	"tiltyard/shared/service/all/alltest"
)

func TestMetricsReturnsThePageOfTheServer(t *testing.T) {
	c := openBehind(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "Bearer "+alltest.Token {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = io.WriteString(w, "up 1\n")
		})
	})
	if text, err := c.Metrics(t.Context()); err != nil || string(text) != "up 1\n" {
		t.Errorf("%q, %v", text, err)
	}
	var refusal *client.Error
	if text, err := open(t).Metrics(t.Context()); !errors.As(err, &refusal) || len(text) > 0 {
		t.Errorf("without metrics: %q, %v", text, err)
	}
}
