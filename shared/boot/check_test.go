package boot

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A careless store ignores the conditions of puts.
type careless struct{ *memstore.Store }

func (c careless) Put(ctx context.Context, key string, data []byte, _ objectstore.Condition) (objectstore.Info, error) {
	return c.Store.Put(ctx, key, data, objectstore.Condition{})
}

func TestCheckBucketRefusesAStoreThatLosesCommits(t *testing.T) {
	const guarantee = "a put if absent replaces nothing"
	for name, c := range map[string]struct {
		store  objectstore.Store
		status int
	}{
		"good":     {memstore.New(), http.StatusOK},
		"careless": {careless{memstore.New()}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			env, err := openFrom(t, &log, map[string]string{"token": "known"})
			if err != nil {
				t.Fatal(err)
			}
			if env.Objects, err = objectstore.NewRoots(objectstore.Root{URI: "s3://lake/tables", Store: c.store}); err != nil {
				t.Fatal(err)
			}
			env.Root, env.CheckStore = "s3://lake/tables", true
			bad := c.status != http.StatusOK
			err = env.CheckBucket(t.Context())
			if (err != nil) != bad || bad && (!strings.Contains(err.Error(), guarantee) || !strings.Contains(err.Error(), env.Root)) {
				t.Errorf("got %v, want an error: %v", err, bad)
			}
			env.CheckStore = false
			if err := env.CheckBucket(t.Context()); err != nil {
				t.Errorf("without the check: got %v, want nil", err)
			}
			handler := env.Handler()
			for token, status := range map[string]int{"": http.StatusUnauthorized, "known": c.status} {
				request := httptest.NewRequest(http.MethodGet, "/storez", nil)
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				if answer.Code != status || status == c.status && bad != strings.Contains(answer.Body.String(), guarantee) {
					t.Errorf("/storez with token %q: got %d %s, want %d", token, answer.Code, answer.Body, status)
				}
			}
		})
	}
}
