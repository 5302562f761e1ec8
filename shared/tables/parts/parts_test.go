package parts_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/query"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/tables/parts"
	"tiltyard/shared/tables/stores"
)

// part is a part to send.
var part = &query.Part{Format: 3, Version: 7, Origin: "o", Kind: "count", Query: &query.Query{Filter: "a > 1"}, Stretches: []query.Stretch{{Fragment: 3, To: 9}}}

// answer is a stream with a count, and with what the part took unless it is of an older release.
func answer(t *testing.T, count int64, older bool) []byte {
	t.Helper()
	b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
	b.Append(count)
	schema := arrow.NewSchema([]arrow.Field{{Name: "count", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rows := &protocol.Rows{Schema: schema}
	if !older {
		rows = query.WithUsage(rows, query.Usage{Requests: 5, Bytes: 6})
	}
	var out strings.Builder
	w := ipc.NewWriter(&out, ipc.WithSchema(rows.Schema))
	if err := errors.Join(w.Write(array.NewRecordBatch(rows.Schema, []arrow.Array{b.NewArray()}, 1)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}

// counted returns the count of an answer.
func counted(t *testing.T, a *query.Answered) (count int64) {
	t.Helper()
	defer a.Close()
	for batch, err := range a.Batches {
		if err != nil {
			t.Fatal(err)
		}
		count += batch.Column(0).(*array.Int64).Value(0)
	}
	return count
}

// spreadTo returns the spread of a place, over the API of Lambda at an endpoint.
func spreadTo(where, endpoint string) *query.Spread {
	return parts.Open(stores.Parts{Where: where, Endpoint: endpoint, AWS: cloud.FromEnv, Bytes: 1, Together: 2}).Spread([]string{"ns", "a/b c"}, "main", 0)
}

// lambdaOf serves the API of Lambda with a function of an event and the response.
func lambdaOf(t *testing.T, function func(w http.ResponseWriter, event map[string]any) any) *httptest.Server {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-test-1")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent := r.Header.Get("Authorization"); r.URL.Path != "/2015-03-31/functions/query/invocations" || !strings.Contains(sent, "eu-test-1/lambda/aws4_request") || strings.Contains(sent, "token") {
			t.Errorf("%s is called with Authorization %q", r.URL.Path, sent)
		}
		var event map[string]any
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			t.Error(err)
		}
		if response := function(w, event); response != nil {
			if err := json.NewEncoder(w).Encode(response); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAPartIsARequestOfItsCaller(t *testing.T) {
	s := lambdaOf(t, func(_ http.ResponseWriter, event map[string]any) any {
		headers := event["headers"].(map[string]any)
		if event["version"] != "2.0" || event["rawPath"] != "/v1/table/ns%24a%2Fb%20c/query" || headers["authorization"] != "Bearer token" || headers["x-tiltyard-result"] != "redirect" {
			t.Errorf("got the event %v", event)
		}
		var body struct {
			Branch, Part string
		}
		err := json.Unmarshal([]byte(event["body"].(string)), &body)
		sent, malformed := query.ParsePart([]byte(body.Part))
		if err != nil || malformed != nil || body.Branch != "main" || sent.Query.Filter != "a > 1" || sent.Stretches[0] != part.Stretches[0] {
			t.Errorf("got the body %s, errors %v, %v", event["body"], err, malformed)
		}
		return map[string]any{"statusCode": 200, "headers": map[string]string{"content-type": "application/vnd.apache.arrow.stream"}, "body": base64.StdEncoding.EncodeToString(answer(t, 42, false)), "isBase64Encoded": true}
	})
	budget := memory.NewBudget(64<<20, 64<<20)
	share := budget.Open()
	defer share.Close()
	a, err := spreadTo("lambda:query", s.URL).Call(memory.WithShare(auth.WithToken(t.Context(), "token"), share), part)
	if err != nil {
		t.Fatal(err)
	}
	waiting := budget.Usage().Held
	if n := counted(t, a); n != 42 || a.Usage.Requests != 5 || a.Usage.Bytes != 6 {
		t.Errorf("got %d, usage %+v", n, a.Usage)
	}
	if held := budget.Usage().Held; waiting == 0 || held != 0 {
		t.Errorf("%d bytes are held while the answer waits, and %d after it was read; want some, and none", waiting, held)
	}
}

func TestWhatAPartFailsWith(t *testing.T) {
	problem := func(status, code int, message string) func(http.ResponseWriter, map[string]any) any {
		body, _ := json.Marshal(map[string]any{"error": message, "code": code})
		return func(http.ResponseWriter, map[string]any) any {
			return map[string]any{"statusCode": status, "headers": map[string]string{"content-type": "application/json"}, "body": string(body)}
		}
	}
	refused := func(status int) func(http.ResponseWriter, map[string]any) any {
		return func(w http.ResponseWriter, _ map[string]any) any { w.WriteHeader(status); return nil }
	}
	for name, c := range map[string]struct {
		function            func(http.ResponseWriter, map[string]any) any
		here, busy, passing bool
		code                protocol.Code // of the error, unless the query continues here
	}{
		"no function":   {refused(404), true, false, false, 0},
		"no right":      {refused(403), true, false, false, 0},
		"too long":      {refused(413), true, false, false, 0},
		"all busy":      {refused(429), false, true, true, 0},
		"Lambda fails":  {refused(500), false, false, true, protocol.ServiceUnavailable},
		"other format":  {problem(501, int(protocol.Unsupported), "part: format 1"), true, false, false, 0},
		"right revoked": {problem(403, int(protocol.PermissionDenied), "no"), false, false, false, protocol.PermissionDenied},
		"busy store":    {problem(503, int(protocol.ServiceUnavailable), "S3"), false, false, true, protocol.ServiceUnavailable},
		"a fault":       {problem(500, int(protocol.Internal), "internal error"), false, false, true, protocol.ServiceUnavailable},
		"it crashed": {func(w http.ResponseWriter, _ map[string]any) any {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			return map[string]string{"errorType": "Runtime.ExitError"}
		}, false, false, true, protocol.ServiceUnavailable},
		"no response": {func(http.ResponseWriter, map[string]any) any { return map[string]string{"a": "b"} }, false, false, true, protocol.ServiceUnavailable},
		"older release": {func(http.ResponseWriter, map[string]any) any {
			return map[string]any{"statusCode": 200, "body": base64.StdEncoding.EncodeToString(answer(t, 1, true)), "isBase64Encoded": true}
		}, true, false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := lambdaOf(t, c.function)
			spread := spreadTo("lambda:query", s.URL)
			_, err := spread.Call(t.Context(), part)
			if err == nil || spread.Here(err) != c.here || spread.Busy(err) != c.busy || spread.Options.Passing(err) != c.passing {
				t.Errorf("got %v: here %t, busy %t, passing %t", err, spread.Here(err), spread.Busy(err), spread.Options.Passing(err))
			}
			if !c.here && !c.busy && protocol.CodeOf(err) != c.code {
				t.Errorf("got the code %v of %v, want %v", protocol.CodeOf(err), err, c.code)
			}
		})
	}
}

// A long answer is in the storage, which must not get the token.
func TestLongAnswersAreReadFromTheStorage(t *testing.T) {
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.URL.RawQuery != "signature=1" {
			t.Errorf("the storage gets %s with Authorization %q", r.URL, r.Header.Get("Authorization"))
		}
		_, _ = w.Write(answer(t, 77, false))
	}))
	defer storage.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("%s gets Authorization %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/query"):
			w.Header().Set("Location", "result/r1")
		case strings.HasSuffix(r.URL.Path, "/result/r1"):
			w.Header().Set("Location", storage.URL+"/bucket/r1?signature=1")
		default:
			t.Errorf("got %s", r.URL)
		}
		w.WriteHeader(http.StatusSeeOther)
	}))
	defer server.Close()
	a, err := spreadTo(server.URL+"/base", "").Call(auth.WithToken(t.Context(), "token"), part)
	if err != nil {
		t.Fatal(err)
	}
	if n := counted(t, a); n != 77 {
		t.Errorf("got %d", n)
	}
	round := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "query")
		w.WriteHeader(http.StatusSeeOther)
	}))
	defer round.Close()
	if _, err := spreadTo(round.URL, "").Call(t.Context(), part); protocol.CodeOf(err) != protocol.ServiceUnavailable {
		t.Errorf("an answer that leads round in a circle: got %v", err)
	}
}

func TestPartsOfFunctionsHaveAPrice(t *testing.T) {
	asked := stores.Parts{Where: "lambda:query", AWS: cloud.FromEnv, Bytes: 1, Together: 2}
	if s := parts.Open(asked).Spread([]string{"a"}, "", 0); s.Dollars != nil {
		t.Error("parts have a price, although the memory of the function is unknown")
	}
	asked.Memory = 2 << 30
	got := parts.Open(asked).Spread([]string{"a"}, "", 0).Dollars(query.Usage{Requests: 1_000_000, Took: 3 * time.Second})
	if want := 0.40 + 3*2*0.0000166667 + 0.0000002; math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v dollars, want %v", got, want)
	}
}

func TestQuotasBoundTheParts(t *testing.T) {
	c := parts.Open(stores.Parts{Where: "lambda:query", AWS: cloud.FromEnv, Bytes: 1, Together: 5})
	if s := c.Spread([]string{"a"}, "", 1); s != nil {
		t.Error("a query of one part at a time is divided")
	}
	for most, want := range map[int]int{0: 5, 2: 2, 9: 5} {
		if s := c.Spread([]string{"a"}, "", most); s.Options.Together != want || s.Most != 4*want {
			t.Errorf("with a bound of %d: %d parts at once of %d, want %d of %d", most, s.Options.Together, s.Most, want, 4*want)
		}
	}
}

func TestNoPlaceSpreadsNothing(t *testing.T) {
	if s := parts.Open(stores.Parts{}).Spread([]string{"a"}, "", 0); s != nil {
		t.Errorf("got %v", s)
	}
}
