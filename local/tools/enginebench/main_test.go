package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// writeStream writes an Arrow stream of rows with the columns id and name.
func writeStream(t *testing.T, path, rows string) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	w := ipc.NewWriter(&data, ipc.WithSchema(schema))
	for range 2 {
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ask sends lines to the program and returns its answers.
func ask(t *testing.T, requests ...request) ([]answer, error) {
	t.Helper()
	var in, out bytes.Buffer
	for _, r := range requests {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	err := serve(t.Context(), &in, &out)
	var answers []answer
	for d := json.NewDecoder(&out); d.More(); {
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return answers, err
}

func TestAnswersCountRowsAndReads(t *testing.T) {
	dir := t.TempDir()
	stream, table := filepath.Join(dir, "rows.arrow"), filepath.Join(dir, "t.lance")
	writeStream(t, stream, `[{"id": 1, "name": "a"}, {"id": 2, "name": null}, {"id": 3, "name": "c"}]`)
	got, err := ask(t,
		request{Do: "load", Path: stream},
		request{Do: "write", Path: table, Source: stream},
		request{Do: "scan", Path: table},
		request{Do: "scan", Path: table, Columns: []string{"id"}},
		request{Do: "take", Path: table, Rows: []uint64{4, 0}},
	)
	if err != nil || len(got) != 5 {
		t.Fatalf("got %d answers, error %v; want 5", len(got), err)
	}
	for i, rows := range []int64{0, 6, 6, 6, 2} {
		if got[i].Rows != rows {
			t.Errorf("answer %d: got %d rows, want %d", i, got[i].Rows, rows)
		}
	}
	for _, i := range []int{2, 3, 4} {
		if got[i].Requests < 2 || got[i].Bytes <= 0 || got[i].Seconds <= 0 || got[i].PeakRSS <= 0 {
			t.Errorf("answer %d: got %+v, want counts of requests and bytes, a time and memory", i, got[i])
		}
	}
}

func TestServeEndsAtARequestThatFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.lance")
	for do, want := range map[string]string{"scan": "scan " + missing, "dance": "not known", "load": "load " + missing} {
		if got, err := ask(t, request{Do: do, Path: missing}); err == nil || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%s: got %v, error %v; want one with %q", do, got, err, want)
		}
	}
	if err := serve(t.Context(), strings.NewReader("no JSON\n"), new(bytes.Buffer)); err == nil {
		t.Error("a line that is no JSON has no error")
	}
}
