package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

func TestRequestHoldsAShareOfTheMemory(t *testing.T) {
	budget := memory.NewBudget(1000, 800)
	var during int64
	s := &service{do: func(ctx context.Context) error {
		if _, err := memory.Take(ctx, 700); err != nil { // and forgets it
			return err
		}
		during = budget.Usage().Held
		return nil
	}}
	told := newTold(s, Options{Memory: budget})
	request{path: "/v1/table/t/exists", body: `{}`}.do(t, told.handler)
	if during < 700 || budget.Usage().Held != 0 {
		t.Errorf("requests hold %d during the request and %d after it, want 700 and 0", during, budget.Usage().Held)
	}
	if got := told.served[0].Memory; got != during {
		t.Errorf("the request is said to have held %d, want %d", got, during)
	}
	if !strings.Contains(told.log.String(), "memory_bytes=7") {
		t.Errorf("the log does not say what the request held:\n%s", &told.log)
	}
}

func TestRequestThatFindsNoMemorySaysSo(t *testing.T) {
	wrapped := func(err error) error { // as if the bytes were at fault
		return &protocol.Error{Code: protocol.InvalidInput, Message: "the file cannot be read", Unsettled: true, Err: err}
	}
	cases := []struct {
		name   string
		err    error
		status int
		want   []string
	}{
		{"others hold it", &memory.Error{Bytes: 5, Limit: 10, Busy: true}, http.StatusServiceUnavailable, []string{`"retryable":true`, `"code":17`, "send the request again"}},
		{"others hold it, and nobody knows", wrapped(&memory.Error{Bytes: 5, Limit: 10, Busy: true}), http.StatusServiceUnavailable, []string{`"retryable":false`, `"code":17`}},
		{"no request may hold it", &memory.Error{Bytes: 50, Limit: 12345}, http.StatusRequestEntityTooLarge, []string{`"retryable":false`, `"code":13`, "12345 bytes", "smaller batches"}},
		{"no request may hold it, deep inside", wrapped(&memory.Error{Bytes: 50, Limit: 12345}), http.StatusRequestEntityTooLarge, []string{"12345 bytes"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := request{path: "/v1/table/t/exists", body: `{}`}.do(t, Handler((&service{err: c.err}).routes(), Options{Verifier: verifier{}}))
			if w.Code != c.status {
				t.Fatalf("got %d %s, want %d", w.Code, w.Body, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("the answer lacks %q: %s", want, w.Body)
				}
			}
			if retry := w.Header().Get("Retry-After"); (retry != "") != (c.status == http.StatusServiceUnavailable) {
				t.Errorf("Retry-After is %q with status %d", retry, c.status)
			}
		})
	}
}

// An answer of JSON waits for its client in the share of its request.
func TestAnswerThatIsLongIsHeld(t *testing.T) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = strings.Repeat("n", 100)
	}
	list := JSON("ListTables", func(context.Context, *tableapi.ListRequest) (*tableapi.ListResponse, error) {
		return &tableapi.ListResponse{Tables: names}, nil
	})
	for limit, status := range map[int64]int{4 << 20: http.StatusOK, 500 << 10: http.StatusRequestEntityTooLarge} {
		budget := memory.NewBudget(limit, limit)
		w := request{method: http.MethodGet, path: "/v1/namespace/n/table/list"}.do(t, Handler([]Route{list}, Options{Verifier: verifier{}, Memory: budget}))
		if w.Code != status {
			t.Errorf("in %d bytes: got %d %.200s", limit, w.Code, w.Body)
		}
		if use := budget.Usage(); use.Held != 0 || status == http.StatusOK && use.Peak < 1_000_000 {
			t.Errorf("in %d bytes: %+v", limit, use)
		}
	}
}
