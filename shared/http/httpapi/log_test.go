package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/outage"
)

// told is a handler and its reports of requests.
type told struct {
	handler    http.Handler
	log, audit bytes.Buffer
	served     []*Served
}

func newTold(s *service, o Options) *told {
	var t told
	o.Verifier = verifier{}
	o.NewID = func() string { return "generated" }
	o.Logger = slog.New(slog.NewTextHandler(&t.log, nil))
	o.Audit = slog.New(slog.NewTextHandler(&t.audit, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey {
			return slog.Attr{}
		}
		return a
	}}))
	o.Observe = func(s *Served) { t.served = append(t.served, s) }
	t.handler = Handler(s.routes(), o)
	return &t
}

func TestChangesAndDenialsAreAudited(t *testing.T) {
	const of = " remote=192.0.2.1:1234 operation="
	cases := []struct {
		name, path, token string
		err               error
		drop              *namespaceapi.DropResponse
		want              string
	}{
		{"change", "/v1/table/a$t/insert", testToken, nil, nil, "outcome=done principal=ada" + of + "InsertIntoTable object=a$t status=200 request_id=generated version=2\n"},
		{"change that fails", "/v1/table/a$t/drop", testToken, &protocol.Error{Code: protocol.TableNotFound}, nil,
			"outcome=failed principal=ada" + of + "DropTable object=a$t status=404 request_id=generated code=table-not-found\n"},
		{"change that may have happened", "/v1/table/a$t/drop", testToken, &protocol.Error{Code: protocol.ServiceUnavailable, Unsettled: true}, nil,
			"outcome=unknown principal=ada" + of + "DropTable object=a$t status=503 request_id=generated code=service-unavailable\n"},
		{"change that goes on", "/v1/namespace/a/drop", testToken, nil, &namespaceapi.DropResponse{TransactionID: []string{"tx1"}},
			"outcome=done principal=ada" + of + "DropNamespace object=a status=200 request_id=generated transaction=tx1\n"},
		{"nobody", "/v1/table/a$t/exists", "wrong-secret", nil, nil, `outcome=denied principal=""` + of + `TableExists object="" status=401 request_id=generated code=unauthenticated` + "\n"},
		{"without the right", "/v1/table/a$t/insert", "reader", nil, nil, "outcome=denied principal=rae"},
		{"read", "/v1/table/a$t/exists", testToken, nil, nil, ""},
		{"read that fails", "/v1/table/a$t/exists", testToken, errors.New("broken"), nil, ""},
		{"no operation", "/v1/nothing", testToken, nil, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			told := newTold(&service{err: c.err, drop: c.drop}, Options{})
			request{path: c.path, header: map[string]string{"Authorization": "Bearer " + c.token}}.do(t, told.handler)
			got := told.audit.String()
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || strings.Contains(got, "wrong-secret") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestStorageRequestsOfARequestAreCounted(t *testing.T) {
	store := objectstore.Counting(memstore.New())
	s := &service{do: func(ctx context.Context) error {
		if _, err := store.Put(ctx, "k", []byte("12345"), objectstore.Condition{}); err != nil {
			return err
		}
		// What counts for another purpose counts in total as well.
		_, _, err := store.GetRanges(objectstore.WithUsage(ctx, new(objectstore.Usage)), "k", objectstore.Range{Length: 2}, objectstore.Range{Offset: 4, Length: 1})
		return err
	}}
	told := newTold(s, Options{})
	request{path: "/v1/table/t/exists", body: `{}`}.do(t, told.handler)
	request{path: "/v1/table/t/count_rows"}.do(t, told.handler)
	var got []string
	for _, s := range told.served {
		got = append(got, strings.Join(strings.Fields(strings.Join([]string{s.Operation.Name, s.Version, s.Code}, " ")), " "))
		u := s.Storage
		if u.Requests() != 2 || u.Bytes() != 3 || u.Writes() != 1 || u.Written() != 5 {
			t.Errorf("%s: %d reads of %d bytes, %d writes of %d; want 2, 3, 1, 5", s.Operation.Name, u.Requests(), u.Bytes(), u.Writes(), u.Written())
		}
	}
	if diff := cmp.Diff([]string{"TableExists", "CountTableRows 7"}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if !told.served[0].Cold || told.served[1].Cold {
		t.Error("the first request is cold, and only that")
	}
	if told.served[0].Received != 2 || told.served[1].Sent == 0 {
		t.Errorf("%d bytes came, %d went, want 2 and some", told.served[0].Received, told.served[1].Sent)
	}
	for _, want := range []string{"storage_reads=2 storage_writes=1 storage_bytes_read=3 storage_bytes_written=5 memory_bytes=0 cold=true", "cold=false principal=ada version=7"} {
		if !strings.Contains(told.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &told.log)
		}
	}
}

func TestReadinessIsFoundOutNowAndThen(t *testing.T) {
	now, asked, failure := time.Unix(1000, 0), 0, error(nil)
	told := newTold(&service{}, Options{
		Now:   func() time.Time { return now },
		Ready: func(context.Context) error { asked++; return failure },
	})
	get := func() int {
		return request{method: "GET", path: "/readyz", header: map[string]string{"Authorization": ""}}.do(t, told.handler).Code
	}
	if first, second := get(), get(); first != 200 || second != 200 || asked != 1 {
		t.Errorf("got %d, %d, asked %d times; want 200, 200, once", first, second, asked)
	}
	failure = errors.New("bucket secret-name is gone")
	now = now.Add(readyAge)
	if got := get(); got != 503 || asked != 2 {
		t.Errorf("got %d, asked %d times; want 503, twice", got, asked)
	}
	failure = fmt.Errorf("the root cannot be read: %w", outage.Missing("S3 bucket b", failure))
	now = now.Add(readyAge)
	got := request{method: "GET", path: "/readyz", header: map[string]string{"Authorization": ""}}.do(t, told.handler).Body.String()
	if !strings.Contains(got, `"reason":"S3 bucket b does not exist"`) || strings.Contains(got, "secret") {
		t.Errorf("got %s, want the reason and no more", got)
	}
	if len(told.served) != 0 {
		t.Errorf("probes were told of %d times as requests", len(told.served))
	}
}

func TestMetricsAreForThoseWhoMaySignIn(t *testing.T) {
	told := newTold(&service{}, Options{Metrics: func(w io.Writer) { _, _ = io.WriteString(w, "up 1\n") }})
	for token, want := range map[string]int{testToken: 200, "guest": 200, "wrong": 401, "later": 503, "": 401} {
		header := map[string]string{"Authorization": ""}
		if token != "" {
			header["Authorization"] = "Bearer " + token
		}
		got := request{method: "GET", path: "/metrics", header: header}.do(t, told.handler)
		if got.Code != want || (want == 200) != (got.Body.String() == "up 1\n") {
			t.Errorf("token %q: got %d %s, want %d", token, got.Code, got.Body, want)
		}
	}
	if got := (request{method: "GET", path: "/metrics"}).do(t, newTestHandler(&service{})); got.Code != 404 {
		t.Errorf("without metrics: got %d, want 404", got.Code)
	}
}

// A client that asks for a hidden object gets the answer that it is missing; the audit contains the
// real reason.
func TestRequestsForWhatIsHiddenAreAuditedAsDenied(t *testing.T) {
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) {
		return []byte(`permit (principal, action, resource in Namespace::"open");`), nil
	}, time.Now)
	told := newTold(&service{err: &protocol.Error{Code: protocol.TableNotFound}}, Options{Policies: policies})
	for _, id := range []string{"open$t", "closed$t"} {
		if got := (request{path: "/v1/table/" + id + "/exists"}).do(t, told.handler); got.Code != 404 {
			t.Errorf("%s: got %d, want 404", id, got.Code)
		}
	}
	want := "outcome=denied principal=ada remote=192.0.2.1:1234 operation=TableExists object=closed$t status=404 request_id=generated code=table-not-found\n"
	if got := told.audit.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
