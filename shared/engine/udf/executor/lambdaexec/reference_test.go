package lambdaexec_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/engine/udf/executor/lambdaexec"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A signingStore lends its objects at the URLs of a server.
type signingStore struct {
	*memstore.Store
	url string
}

func (s *signingStore) SignGet(_ context.Context, key, _ string, lasts time.Duration) (string, error) {
	return s.url + "/get/" + key + "?lasts=" + lasts.String(), nil
}

func (s *signingStore) SignPut(_ context.Context, key string, lasts time.Duration) (string, error) {
	return s.url + "/put/" + key + "?lasts=" + lasts.String(), nil
}

func (s *signingStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if key, ok := strings.CutPrefix(r.URL.Path, "/put/"); ok && r.Method == http.MethodPut {
		data, _ := io.ReadAll(r.Body)
		_, _ = s.Put(r.Context(), key, data, objectstore.Condition{})
		return
	}
	key, ok := strings.CutPrefix(r.URL.Path, "/get/")
	data, _, err := s.Get(r.Context(), key)
	if !ok || err != nil || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data)
}

// received records the data that a stand-in for a function has received.
type received struct {
	eventBytes, artifact, stream int
	byReference                  bool
}

// echo answers a call with its rows, like the shipped executor: by reference if they exceed the size of a
// response.
func echo(t *testing.T, got *[]received) http.HandlerFunc {
	fetch := func(url string) []byte {
		answer, err := http.Get(url)
		if err != nil || answer.StatusCode != http.StatusOK || !strings.HasSuffix(url, "lasts=6m0s") {
			t.Errorf("%s: got %v, %v", url, answer, err)
			return nil
		}
		defer func() { _ = answer.Body.Close() }()
		data, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		return data
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var event struct {
			Call    *executor.Call `json:"call"`
			Arrow   []byte         `json:"arrow"`
			ArrowAt string         `json:"arrow_url"`
			ReplyAt string         `json:"reply_url"`
		}
		if err := json.Unmarshal(body, &event); err != nil {
			t.Error(err)
			return
		}
		one := received{eventBytes: len(body), artifact: len(event.Call.Artifact), byReference: event.ArrowAt != ""}
		if event.Call.ArtifactURL != "" {
			one.artifact = len(fetch(event.Call.ArtifactURL))
		}
		if event.ArrowAt != "" {
			event.Arrow = fetch(event.ArrowAt)
		}
		one.stream = len(event.Arrow)
		*got = append(*got, one)
		if len(event.Arrow) < 4<<20 {
			_ = json.NewEncoder(w).Encode(map[string][]byte{"arrow": event.Arrow})
			return
		}
		put, err := http.NewRequestWithContext(r.Context(), http.MethodPut, event.ReplyAt, bytes.NewReader(event.Arrow))
		if err != nil {
			t.Error(err)
			return
		}
		answer, err := http.DefaultClient.Do(put)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("put the reply: %s", answer.Status)
		}
		_, _ = w.Write([]byte(`{"stored":true}`))
	}
}

// openEcho opens a function of texts, whose artifact has a size.
func openEcho(t *testing.T, by objectstore.Store, artifact int, shape udf.Shape) (udf.Caller, *[]received) {
	t.Helper()
	got := new([]received)
	server := httptest.NewServer(echo(t, got))
	t.Cleanup(server.Close)
	set, err := executor.Open([]executor.Config{{Name: "e", Address: "lambda:" + arn, Concurrency: 1, Timeout: time.Minute, PayloadBytes: 16 << 20}}, executor.Options{
		Lambda: func(arn string) (executor.Carrier, error) {
			return lambdaexec.New(aws.Config{
				Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
			}, arn, by, "calls/"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	field := []arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String}}
	caller, err := set.Open(t.Context(), udf.Spec{
		Name: "f", Runtime: []byte(`{"kind":"executor","executor":"e"}`), Artifact: make([]byte, artifact), Inputs: field, Outputs: field, Shape: shape,
	})
	if err != nil {
		t.Fatal(err)
	}
	return caller, got
}

// texts returns rows of texts of some length.
func texts(n, length int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String}}, nil))
	for range n {
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat("v", length))
	}
	return b.NewRecordBatch()
}

func newSigningStore(t *testing.T) *signingStore {
	t.Helper()
	s := &signingStore{Store: memstore.New()}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// Data too large for an event are passed through the store, and no object remains there.
func TestLargeCallsGoByWayOfTheStore(t *testing.T) {
	store := newSigningStore(t)
	for name, c := range map[string]struct {
		artifact, rows, length int
		shape                  udf.Shape
		calls                  int
		byReference            bool
	}{
		"artifact":           {3 << 20, 10, 10, udf.EachRow, 1, false},
		"rows are divided":   {3 << 20, 10, 2 << 20, udf.EachRow, 5, false},
		"one large row":      {10, 1, 7 << 20, udf.EachRow, 1, true},
		"all rows at once":   {3 << 20, 4, 2 << 20, udf.AllRows, 1, true},
		"the payload bounds": {10, 3, 6 << 20, udf.EachRow, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			caller, got := openEcho(t, store, c.artifact, c.shape)
			result, err := caller.Call(t.Context(), texts(c.rows, c.length))
			if err != nil || len(result.Failed) > 0 || result.Outputs.NumRows() != int64(c.rows) {
				t.Fatalf("got %v, %v", result, err)
			}
			if result.Outputs.Column(0).(*array.String).Value(c.rows-1) != strings.Repeat("v", c.length) {
				t.Error("the values are others")
			}
			if len(*got) != c.calls {
				t.Errorf("got %d calls, want %d: %+v", len(*got), c.calls, *got)
			}
			for _, one := range *got {
				if one.eventBytes > 6<<20 || one.artifact != c.artifact || one.byReference != c.byReference {
					t.Errorf("got %+v", one)
				}
			}
			if err := caller.Close(); err != nil {
				t.Error(err)
			}
			for object, err := range objectstore.Objects(t.Context(), store, objectstore.ListOptions{}) {
				t.Errorf("remains: %v, %v", object, err)
			}
		})
	}
}

// Without a signing store, rows are divided, rows above the limit fail, and a function above the limit is
// refused.
func TestCallsWithoutAStoreFitIntoEvents(t *testing.T) {
	for _, store := range []objectstore.Store{nil, memstore.New()} {
		caller, got := openEcho(t, store, 2<<20, udf.EachRow)
		result, err := caller.Call(t.Context(), texts(8, 1<<20))
		if err != nil || len(result.Failed) > 0 || len(*got) != 4 {
			t.Fatalf("got %v, %v after %d calls", result, err, len(*got))
		}
		result, err = caller.Call(t.Context(), texts(1, 4<<20))
		if err != nil || len(result.Failed) != 1 || result.Failed[0].Type != executor.TooLarge || !strings.Contains(result.Failed[0].Message, "event") {
			t.Errorf("got %v, %v", result, err)
		}
		caller, _ = openEcho(t, store, 5<<20, udf.EachRow)
		if _, err := caller.Call(t.Context(), texts(0, 0)); !protocol.HasCode(err, protocol.InvalidInput) || !strings.Contains(err.Error(), "5242880 of the function") {
			t.Errorf("got %v", err)
		}
	}
}
