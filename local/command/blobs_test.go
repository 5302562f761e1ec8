package command_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/all/alltest"
)

var marked = arrow.MetadataFrom(map[string]string{"lance-encoding:blob": "true", "unit": "px"})

// noise returns bytes that do not compress, the same ones for a seed.
func noise(seed byte, n int) []byte {
	value := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(value)
	return value
}

// blobFile writes an Arrow file of ids, names and two columns of blobs. The second one has each value backwards in its place.
func blobFile(t *testing.T, values [][]byte) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "picture", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: marked},
		{Name: "name", Type: arrow.BinaryTypes.String},
		{Name: "thumbnail", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: marked},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range values {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprint("row ", i))
		for field, value := range map[int][]byte{1: values[i], 3: values[len(values)-1-i]} {
			if into := b.Field(field).(*array.BinaryBuilder); value == nil {
				into.AppendNull()
			} else {
				into.Append(value)
			}
		}
	}
	return arrowFile(t, b.NewRecordBatch())
}

// arrowFile writes rows to an Arrow stream.
func arrowFile(t *testing.T, rows arrow.RecordBatch) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.arrow")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := ipc.NewWriter(file, ipc.WithSchema(rows.Schema()))
	if err := errors.Join(w.Write(rows), w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkBlobs compares the blobs of a table with those of [blobFile], one by one.
func checkBlobs(t *testing.T, server *alltest.Server, table string, values [][]byte) {
	t.Helper()
	c, err := client.New(server.URL, client.Options{Token: alltest.Token})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.QueryTable(t.Context(), &queryapi.Request{
		Common: client.ID(table), WithRowID: true, Columns: queryapi.Projection{{Name: "id"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := 0
	for batch, err := range rows.Batches() {
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range batch.Column(0).(*array.Int64).Int64Values() {
			seen++
			for column, want := range map[string][]byte{"picture": values[id], "thumbnail": values[len(values)-1-int(id)]} {
				blob, err := c.ReadTableBlob(t.Context(), &queryapi.ReadBlobRequest{
					Common: client.ID(table), Column: column, RowID: batch.Column(1).ValueStr(i),
				}, client.Part{})
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(blob)
				if err := errors.Join(err, blob.Close()); err != nil || blob.Null != (want == nil) || !bytes.Equal(got, want) {
					t.Errorf("%s, row %d: column %s has %d bytes (null %t, %v), want those of the source, %d", table, id, column, len(got), blob.Null, err, len(want))
				}
			}
		}
	}
	if seen%len(values) != 0 || seen == 0 {
		t.Errorf("%s has %d rows", table, seen)
	}
}

func TestCopyCarriesTheBytesOfBlobs(t *testing.T) {
	server := setUp(t)
	values := [][]byte{noise(1, 5<<20), nil, {}, []byte("small"), noise(2, 7<<20), noise(3, 6<<20), noise(4, 100_000)}
	must(t, "insert", "t", blobFile(t, values), "--create")
	folder := t.TempDir()
	parquet, stream := filepath.Join(folder, "t.parquet"), filepath.Join(folder, "t.arrow")
	for _, step := range []struct{ from, to, table string }{
		{"t", "u", "u"},
		{"u", parquet, ""},
		{parquet, "v", "v"},
		{"v", stream, ""},
		{stream, "w", "w"},
	} {
		must(t, "cp", step.from, step.to)
		if step.table != "" {
			checkBlobs(t, server, step.table, values)
		}
	}
	must(t, "cp", "t", "w", "--append")
	if got := must(t, "table", "count", "w"); got != "rows  14\n" {
		t.Errorf("after --append: %s", got)
	}
	checkBlobs(t, server, "w", values)
	must(t, "export", "t", parquet, "--where", "id >= 3", "--columns", "name,picture")
	must(t, "cp", parquet, "some")
	if got := must(t, "query", "some", "--columns", "name", "-o", "json"); strings.Count(got, "\n") != 4 {
		t.Errorf("the exported rows are\n%s", got)
	}
	if got := must(t, "table", "show", "w", "-o", "json"); strings.Count(got, `"unit": "px"`) != 2 {
		t.Errorf("the metadata of the blobs are not copied: %s", got)
	}
}

func TestCopyRefusesBlobsThatItCannotCarry(t *testing.T) {
	setUp(t)
	must(t, "insert", "t", blobFile(t, [][]byte{{1}}), "--create")
	inside := arrow.StructOf(arrow.Field{Name: "scan", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: marked})
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "s", Type: inside, Nullable: true}}, nil))
	b.Field(0).AppendNull()
	must(t, "insert", "nested", arrowFile(t, b.NewRecordBatch()), "--create")
	folder := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cp", "t", filepath.Join(folder, "t.csv")}, "column picture has blobs, which a file of csv cannot hold\nparquet and arrow can"},
		{[]string{"cp", "t", filepath.Join(folder, "t.jsonl")}, "column picture has blobs"},
		{[]string{"export", "t", filepath.Join(folder, "t.csv")}, "column picture has blobs"},
		{[]string{"cp", "nested", "new"}, "column s has blobs inside, in scan"},
		{[]string{"cp", "nested", filepath.Join(folder, "t.parquet")}, "column s has blobs inside, in scan"},
	} {
		if _, stderr, code := tiltyard(t, "", c.args...); code != command.ExitRefused || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %s, want %d, %s", c.args, code, stderr, command.ExitRefused, c.want)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	if got := must(t, "table", "list", "--all"); strings.Contains(got, "new") {
		t.Errorf("a table is left: %s", got)
	}
	must(t, "export", "t", filepath.Join(folder, "t.csv"), "--columns", "id,name")
}

// CSV and JSON that are added to a table give its blobs in base64.
func TestInsertTakesBlobsFromText(t *testing.T) {
	server := setUp(t)
	must(t, "insert", "t", blobFile(t, [][]byte{noise(1, 100), nil, nil}), "--create")
	value := base64.StdEncoding.EncodeToString(noise(1, 100))
	for _, c := range []struct{ id, format, row string }{
		{"0", "jsonl", `{"id":0,"name":"zero","picture":"` + value + `"}`},
		{"1", "jsonl", `{"id":1,"name":"one"}`},
		{"2", "csv", "id,name,thumbnail,picture\n2,two," + value + ",\n"},
	} {
		must(t, "table", "delete", "t", "--where", "id = "+c.id)
		if _, stderr, code := tiltyard(t, c.row, "insert", "t", "--format", c.format); code != 0 {
			t.Errorf("%s: exit code %d, %s", c.row, code, stderr)
		}
	}
	checkBlobs(t, server, "t", [][]byte{noise(1, 100), nil, nil})
}

// A meter counts the bytes of blobs that the server has sent and the command has not yet written.
type meter struct {
	sent, written, most atomic.Int64
}

// Write counts output of the command.
func (m *meter) Write(p []byte) (int, error) {
	m.written.Add(int64(len(p)))
	return len(p), nil
}

// count wraps the handler of a server.
func (m *meter) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/fetch_blobs") {
			w = meteredWriter{w, m}
		}
		next.ServeHTTP(w, r)
	})
}

type meteredWriter struct {
	http.ResponseWriter
	*meter
}

// Write counts what the server has sent. A large write returns once the command has read most of it.
func (w meteredWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	held := w.sent.Add(int64(n)) - w.written.Load()
	for most := w.most.Load(); held > most && !w.most.CompareAndSwap(most, held); most = w.most.Load() {
	}
	return n, err
}

// Unwrap returns the writer for http.ResponseController.
func (w meteredWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// The server sends batches of 16 MiB. The command holds one, while the connection takes from the next one.
func TestBlobsAreStreamedInBoundedMemory(t *testing.T) {
	const each, all = 3 << 20, 24
	var m meter
	serve(t, m.count)
	var values [][]byte
	for i := range all {
		values = append(values, noise(byte(i), each))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "picture", Type: arrow.BinaryTypes.LargeBinary, Metadata: marked}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.BinaryBuilder).AppendValues(values, nil)
	must(t, "insert", "t", arrowFile(t, b.NewRecordBatch()), "--create")

	root := &cobra.Command{Use: "tiltyard", SilenceErrors: true, SilenceUsage: true}
	command.Add(root)
	root.SetOut(&m)
	root.SetErr(io.Discard)
	root.SetArgs([]string{"export", "t", "--format", "arrow"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.written.Load() < each*all || m.sent.Load() < each*all {
		t.Errorf("the command got %d bytes and wrote %d, of %d", m.sent.Load(), m.written.Load(), each*all)
	}
	if most := m.most.Load(); most > 40<<20 {
		t.Errorf("%d bytes of %d were on the way at once", most, each*all)
	}
}

// A gateway delivers answers of at most 4.5 MB while it is on, as that of functions does.
type gateway struct {
	on      atomic.Bool
	mu      sync.Mutex
	refused map[string]int // answers that were not delivered, by the last part of the path
}

func (g *gateway) serve(t *testing.T) *alltest.Server {
	const most = 4_500_000
	g.refused = map[string]int{}
	return serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			operation := path.Base(r.URL.Path)
			if operation != "query" && operation != "fetch_blobs" && operation != "bytes" {
				next.ServeHTTP(w, r)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if answer.Body.Len() > most && g.on.Load() {
				g.mu.Lock()
				g.refused[operation]++
				g.mu.Unlock()
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				_, _ = io.WriteString(w, `{"error": "the response is larger than the gateway delivers", "code": 13, "type": "/errors/response-too-large", "status": 413}`)
				return
			}
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
	})
}

func TestCopyReadsInPartsWhatAGatewayDoesNotDeliver(t *testing.T) {
	var g gateway
	server := g.serve(t)
	values := [][]byte{noise(1, 9<<20), nil, {}, []byte("small"), noise(2, 4<<20), noise(3, 4_500_001), noise(4, 8<<20)}
	for i := range 40 {
		values = append(values, noise(byte(5+i), 300_000))
	}
	must(t, "insert", "t", blobFile(t, values), "--create")
	g.on.Store(true)
	must(t, "cp", "t", "u")
	g.on.Store(false)
	checkBlobs(t, server, "u", values)
	if got := g.refused["fetch_blobs"]; got == 0 || got > 40 {
		t.Errorf("%d answers were too large, want a few: requests follow the sizes of the blobs", got)
	}

	// Rows that are too many for an answer come from storage.
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "noise", Type: arrow.BinaryTypes.Binary}}, nil))
	for i := range 10 {
		b.Field(0).(*array.BinaryBuilder).Append(noise(byte(i), 1<<20))
	}
	must(t, "insert", "rows", arrowFile(t, b.NewRecordBatch()), "--create")
	g.on.Store(true)
	must(t, "cp", "rows", "again")
	if got := must(t, "table", "count", "again"); got != "rows  10\n" || g.refused["query"] == 0 {
		t.Errorf("%s, and %d answers were too large", got, g.refused["query"])
	}
}
