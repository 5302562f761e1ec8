package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
)

// encode writes batches in the form of a stream or of a file.
func encode(t *testing.T, file bool, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	} = ipc.NewWriter(&out, ipc.WithSchema(pointSchema))
	if file {
		var err error
		if w, err = ipc.NewFileWriter(&out, ipc.WithSchema(pointSchema), ipc.WithZstd()); err != nil {
			t.Fatal(err)
		}
	}
	for _, batch := range batches {
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// query asks a server that answers with these bytes, and returns the ids.
func query(t *testing.T, body []byte) (string, error) {
	t.Helper()
	c := scripted(t, &script{answers: []answer{{status: 200, body: string(body)}}})
	rows, err := c.QueryTable(t.Context(), &queryapi.Request{Common: client.ID("t")})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var ids []string
	for batch, err := range rows.Batches() {
		if err != nil {
			return "", err
		}
		for i := range int(batch.NumRows()) {
			ids = append(ids, batch.Column(0).ValueStr(i))
		}
	}
	return strings.Join(ids, " "), nil
}

func TestRowsComeInBothForms(t *testing.T) {
	for _, file := range []bool{false, true} {
		got, err := query(t, encode(t, file, points(1, 2), points(3)))
		if err != nil || got != "1 2 3" {
			t.Errorf("file: %v: %q, %v; want 1 2 3", file, got, err)
		}
		if file {
			whole := encode(t, true, points(1))
			padded := slices.Concat(whole[:8], make([]byte, 56), whole[8:])
			if got, err := query(t, padded); err != nil || got != "1" {
				t.Errorf("a file whose beginning has 64 bytes: %q, %v", got, err)
			}
			if _, err := query(t, append(whole[:8:8], make([]byte, 1<<20)...)); !errors.Is(err, client.ErrAnswer) {
				t.Errorf("a file of zeros: %v, want ErrAnswer", err)
			}
		}
		if got, err := query(t, encode(t, file)); err != nil || got != "" {
			t.Errorf("file: %v, no rows: %q, %v", file, got, err)
		}
	}
}

func TestRowsThatBreakOffAreAnError(t *testing.T) {
	whole := encode(t, false, points(1, 2), points(3))
	for size := range len(whole) {
		if got, err := query(t, whole[:size]); err == nil {
			t.Fatalf("%d of %d bytes: ids %q and no error", size, len(whole), got)
		}
	}
}

func TestQueryRefusesAnAnswerThatIsNotArrow(t *testing.T) {
	for _, text := range []string{"", "{}", "ARROW1\x00\x00", "ARROW1", "<html><body>Sign in</body></html>", strings.Repeat("\xff", 100), "\xff\xff\xff\xff\x08\x00\x00\x00aaaaaaaaaaaaaaaa"} {
		if _, err := query(t, []byte(text)); !errors.Is(err, client.ErrAnswer) {
			t.Errorf("%q: %v, want ErrAnswer", text, err)
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, file := range []bool{false, true} {
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(pointSchema))
		_ = w.Write(points(1, 2))
		_ = w.Close()
		if file {
			f.Add(append([]byte("ARROW1\x00\x00"), out.Bytes()...))
		} else {
			f.Add(out.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := client.New("http://server", client.Options{Transport: &script{answers: []answer{{status: 200, body: string(data)}}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rows, err := c.QueryTable(ctx, &queryapi.Request{Common: client.ID("t")})
		if err != nil {
			return
		}
		defer rows.Close()
		for batch, err := range rows.Batches() {
			if (batch == nil) != (err != nil) {
				t.Fatalf("batch %v and error %v", batch, err)
			}
		}
	})
}

// The server sees the first rows while the source still makes the others.
func TestUploadsAreNotHeld(t *testing.T) {
	const batches, rows = 50, 20_000
	made, madeAtFirst := 0, -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reader, err := ipc.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		var got int64
		for reader.Next() {
			if madeAtFirst < 0 {
				madeAtFirst = made
			}
			got += reader.RecordBatch().NumRows()
		}
		if err := reader.Err(); err != nil || got != batches*rows {
			t.Errorf("the server got %d rows and %v, want %d", got, err, batches*rows)
		}
		_, _ = io.WriteString(w, `{"num_inserted_rows":1,"version":2}`)
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, rows)
	for i := range ids {
		ids[i] = int64(i * 7919 % 10007)
	}
	batch := points(ids...)
	source := client.Source{Schema: pointSchema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for made = 1; made <= batches; made++ {
			if !yield(batch, nil) {
				return
			}
		}
	}}
	if _, err := c.InsertIntoTable(t.Context(), &dataapi.InsertRequest{Common: client.ID("t")}, source); err != nil {
		t.Fatal(err)
	}
	if madeAtFirst > batches/2 {
		t.Errorf("%d of %d batches were made when the first arrived", madeAtFirst, batches)
	}
}

func TestSourceThatFailsStoresNothing(t *testing.T) {
	c := open(t)
	createPoints(t, c, "t", 1)
	cause := errors.New("the file is damaged")
	source := client.Source{Schema: pointSchema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		_ = yield(points(2), nil) && yield(nil, cause)
	}}
	_, err := c.InsertIntoTable(t.Context(), &dataapi.InsertRequest{Common: client.ID("t")}, source)
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want the error of the source", err)
	}
	rows := ok[*client.Rows](t)(c.QueryTable(t.Context(), &queryapi.Request{Common: client.ID("t")}))
	if got := idsOf(t, rows); got != "1" {
		t.Errorf("ids are %s, want 1", got)
	}
}

// A refusal is returned at once, also while the source waits for something.
func TestRefusalDoesNotWaitForTheSource(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // it does not wait for the body
		http.Error(w, `{"error":"no","code":16}`, http.StatusUnauthorized)
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	source := client.Source{Schema: pointSchema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		if yield(points(1), nil) {
			<-release
		}
	}}
	_, err = c.InsertIntoTable(t.Context(), &dataapi.InsertRequest{Common: client.ID("no")}, source)
	if !errors.Is(err, protocol.Unauthenticated) {
		t.Errorf("got %v, want Unauthenticated", err)
	}
}
