package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
)

// pieces is a source of n batches of a row each, which can be read once and fails in the end if failure is set.
func pieces(t *testing.T, n int64, failure error) client.Source {
	t.Helper()
	var batches iter.Seq2[arrow.RecordBatch, error] = func(yield func(arrow.RecordBatch, error) bool) {
		for id := range n {
			if !yield(points(id), nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure)
		}
	}
	return client.Source{Schema: pointSchema, Batches: batches, Once: true}
}

func inParts(ctx context.Context, c *client.Client, rows client.Source) (*dataapi.InsertResponse, error) {
	return c.InsertInParts(ctx, &dataapi.InsertRequest{Common: client.ID("t")}, rows, 1) // each batch is a part
}

// idsIn returns the ids of the table t in the order of its rows.
func idsIn(t *testing.T, c *client.Client) string {
	t.Helper()
	rows := ok[*client.Rows](t)(c.QueryTable(t.Context(), &queryapi.Request{Common: client.ID("t")}))
	return idsOf(t, rows)
}

// A watch counts the requests to paths that contain a text, and loses answers.
type watch struct {
	count func(r *http.Request) bool
	seen  atomic.Int32
	lose  func(r *http.Request, n int32) bool // the answer to the nth of them is lost
	// instead is the status that comes in the place of a lost answer. 0: the connection breaks.
	instead int
}

func (w *watch) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if w.count(r) && w.lose(r, w.seen.Add(1)) {
			next.ServeHTTP(&discard{}, r)
			if w.instead == 0 {
				panic(http.ErrAbortHandler)
			}
			answer.WriteHeader(w.instead)
			return
		}
		next.ServeHTTP(answer, r)
	})
}

func never(*http.Request, int32) bool { return false }

func isPart(r *http.Request) bool { return r.URL.Query().Has("upload_part_id") }

func ends(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, path) }
}

func TestRowsOfSeveralPartsBecomeOneVersion(t *testing.T) {
	for _, test := range []struct {
		rows  int64
		parts int32
	}{{0, 0}, {1, 0}, {2, 2}, {9, 9}} {
		t.Run(fmt.Sprint(test.rows), func(t *testing.T) {
			w := &watch{count: isPart, lose: never}
			c := openBehind(t, w.wrap)
			createPoints(t, c, "t", 100)
			answer := ok[*dataapi.InsertResponse](t)(inParts(t.Context(), c, pieces(t, test.rows, nil)))
			want := "100"
			for id := range test.rows {
				want += fmt.Sprint(" ", id)
			}
			version := int64(2)
			if test.rows == 0 {
				version = 1
			}
			if got := strings.Join(strings.Fields(idsIn(t, c)), " "); got != want || answer.NumInsertedRows != test.rows || answer.Version != version || w.seen.Load() != test.parts {
				t.Errorf("got the rows %s, %+v, in %d parts; want %s in version %d and %d parts", got, answer, w.seen.Load(), want, version, test.parts)
			}
		})
	}
}

// The answers to single parts, or to the end of the upload, are lost.
func TestLostAnswersOfAnUploadAddNoRowTwice(t *testing.T) {
	for name, w := range map[string]*watch{
		"some parts":   {count: isPart, lose: func(_ *http.Request, n int32) bool { return n%2 == 1 }},
		"the create":   {count: ends("/multipart_write/create"), lose: func(_ *http.Request, n int32) bool { return n == 1 }},
		"the complete": {count: ends("/multipart_write/complete"), lose: func(_ *http.Request, n int32) bool { return n == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			c := openBehind(t, w.wrap)
			createPoints(t, c, "t")
			answer := ok[*dataapi.InsertResponse](t)(inParts(t.Context(), c, pieces(t, 3, nil)))
			if got := strings.Join(strings.Fields(idsIn(t, c)), " "); got != "0 1 2" || answer.NumInsertedRows != 3 {
				t.Errorf("got the rows %s, %+v", got, answer)
			}
		})
	}
}

// All answers to complete are lost, so the caller sends all rows again.
func TestUploadThatIsSentAgainAddsItsRowsOnce(t *testing.T) {
	var lose atomic.Bool
	w := &watch{count: ends("/multipart_write/complete"), lose: func(*http.Request, int32) bool { return lose.Load() }, instead: 500}
	c := openBehind(t, w.wrap)
	createPoints(t, c, "t")
	lose.Store(true)
	if _, err := inParts(t.Context(), c, pieces(t, 2, nil)); err == nil {
		t.Fatal("the upload got an answer")
	}
	lose.Store(false)
	if _, err := inParts(t.Context(), c, pieces(t, 2, nil)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(idsIn(t, c)), " "); got != "0 1" {
		t.Errorf("got the rows %s, want each once", got)
	}
}

func TestUploadWhoseRowsFailStoresNothing(t *testing.T) {
	w := &watch{count: ends("/multipart_write/abort"), lose: never}
	c := openBehind(t, w.wrap)
	createPoints(t, c, "t", 100)
	broken := errors.New("broken")
	for _, rows := range []int64{0, 1, 2, 5} {
		if _, err := inParts(t.Context(), c, pieces(t, rows, broken)); !errors.Is(err, broken) {
			t.Errorf("%d rows: got error %v, want that of the source", rows, err)
		}
	}
	other := func(id int64) arrow.RecordBatch { // with a column that the table does not have
		row := points(id)
		schema := arrow.NewSchema([]arrow.Field{{Name: "none", Type: arrow.PrimitiveTypes.Int64}}, nil)
		return array.NewRecordBatch(schema, row.Columns()[:1], 1)
	}
	first := other(1)
	if _, err := inParts(t.Context(), c, client.Batches(first.Schema(), first, other(2), other(3))); !errors.Is(err, protocol.TableSchemaValidationError) {
		t.Errorf("got error %v, want that the schema differs", err)
	}
	if got := strings.TrimSpace(idsIn(t, c)); got != "100" || w.seen.Load() == 0 {
		t.Errorf("got the rows %s after %d aborts", got, w.seen.Load())
	}
}

func TestUploadToAnOlderServerTakesOneInsert(t *testing.T) {
	for _, refusal := range []answer{{status: 501, body: `{"error":"no such operation","code":0}`}, {status: 404, body: "not found"}} {
		s := &script{answers: []answer{refusal, fine}}
		c := scripted(t, s)
		if _, err := inParts(t.Context(), c, pieces(t, 5, nil)); err != nil {
			t.Fatal(err)
		}
		if n := len(s.seen); n != 2 || !strings.HasSuffix(s.seen[1].URL.Path, "/insert") {
			t.Fatalf("got %d requests, want one to create an upload and one to insert", n)
		}
		rows, err := query(t, []byte(s.bodies[1]))
		if ids := strings.Fields(rows); err != nil || !slices.Equal(ids, []string{"0", "1", "2", "3", "4"}) {
			t.Errorf("got the rows %v, error %v", ids, err)
		}
	}
}

// A part is repeated also at a server that honours no keys.
func TestPartsAreRepeatedWithoutKeys(t *testing.T) {
	s := &script{answers: []answer{{status: 200, body: `{"upload_id":"u"}`}, brokeOff, brokeOff, fine, fine, fine, fine}}
	if _, err := inParts(t.Context(), scripted(t, s), pieces(t, 2, nil)); err != nil {
		t.Error(err)
	}
}

// A gateway takes bodies of a few kilobytes. The source has one batch that is larger, or several.
func TestPartsThatAreTooLargeAreDivided(t *testing.T) {
	refused := atomic.Int32{}
	c := openBehind(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || len(body) > 2000 {
				refused.Add(1)
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		})
	})
	for batches, partBytes := range map[int]int64{1: 0, 7: 0, 20: 8000} {
		name := fmt.Sprint("t", batches)
		createPoints(t, c, name)
		var all []arrow.RecordBatch
		for b := range batches {
			ids := make([]int64, 140/batches)
			for i := range ids {
				ids[i] = int64(b*len(ids) + i)
			}
			all = append(all, points(ids...))
		}
		req := &dataapi.InsertRequest{Common: client.ID(name)}
		answer := ok[*dataapi.InsertResponse](t)(c.InsertInParts(t.Context(), req, client.Batches(pointSchema, all...), partBytes))
		rows := ok[*client.Rows](t)(c.QueryTable(t.Context(), &queryapi.Request{Common: client.ID(name)}))
		want := ""
		for id := range 140 {
			want += fmt.Sprintln(id)
		}
		if got := idsOf(t, rows); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") || answer.NumInsertedRows != 140 || answer.Version != 2 {
			t.Errorf("%d batches: got the rows %s, %+v", batches, got, answer)
		}
	}
	if refused.Load() == 0 {
		t.Error("no part was too large")
	}
}
