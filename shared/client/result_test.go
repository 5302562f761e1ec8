package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol/queryapi"
)

func TestStoredRowsAreRead(t *testing.T) {
	c := open(t)
	createPoints(t, c, "t", 1, 2, 3)
	made := ok[*queryapi.StoredResult](t)(c.StoreQuery(t.Context(), &queryapi.Request{Common: client.ID("t"), Filter: "id > 1"}))
	if made.Rows != 2 || made.Version != 1 {
		t.Errorf("made %+v", made)
	}
	rows := ok[*client.Rows](t)(c.ReadTableResult(t.Context(), &queryapi.ReadResultRequest{Common: client.ID("t"), ResultID: made.ID}))
	if got := idsOf(t, rows); got != "2 3" {
		t.Errorf("read %s", got)
	}
	if _, err := c.ReadTableResult(t.Context(), &queryapi.ReadResultRequest{Common: client.ID("u"), ResultID: made.ID}); err == nil {
		t.Error("the result of another table was read")
	}
}

// The token of the server is not for the storage that has the rows.
func TestTokenDoesNotGoToTheStorage(t *testing.T) {
	var storage *httptest.Server
	c := openBehind(t, func(next http.Handler) http.Handler {
		storage = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				t.Error("the storage got the token")
			}
			w.WriteHeader(http.StatusForbidden)
		}))
		t.Cleanup(storage.Close)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Location", storage.URL)
			w.WriteHeader(http.StatusSeeOther)
		})
	})
	if _, err := c.ReadTableResult(t.Context(), &queryapi.ReadResultRequest{Common: client.ID("t"), ResultID: "x"}); err == nil {
		t.Error("a refusal of the storage was taken for rows")
	}
}
