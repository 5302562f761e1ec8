// Package servicetest opens tables in memory for the tests of the services. Everything below a
// service is the real code.
package servicetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/query"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// Root is the URI of the root in which [Open] stores tables.
const Root = "memory://test"

// A House is a set of tables in memory, with methods for common steps of tests. It runs no jobs.
type House struct {
	tables.Tables
	Objects objectstore.Store
}

// Open returns a house without a table.
func Open(t *testing.T) *House {
	t.Helper()
	return Over(t, memstore.New())
}

// Over returns a house with tables in the given store.
func Over(t *testing.T, objects objectstore.Store) *House {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: Root, Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	return &House{Objects: objects, Tables: tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20,
	})}
}

// Named returns the common part of a request for a table in the root namespace.
func Named(name string) protocol.Common {
	return protocol.Common{ID: []string{name}, Delimiter: protocol.DefaultDelimiter}
}

// Columns is the schema of [Upload]: a number id and a text name, both nullable.
var Columns = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// Upload returns the body of a request: an Arrow stream of rows. rows is a JSON array of objects
// with the keys of [Columns].
func Upload(t *testing.T, rows string) protocol.Upload {
	t.Helper()
	return UploadOf(t, Columns, rows)
}

// UploadOf returns an upload of rows with the given schema.
func UploadOf(t *testing.T, columns *arrow.Schema, rows string) protocol.Upload {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, columns, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	w := ipc.NewWriter(&body, ipc.WithSchema(columns))
	if err := errors.Join(w.Write(batch), w.Close()); err != nil {
		t.Fatal(err)
	}
	return protocol.Upload{Body: &body}
}

// Create creates a table from rows, in the form of [Upload], and returns the answer.
func (h *House) Create(t *testing.T, name, rows string) *dataapi.CreateTableResponse {
	t.Helper()
	made, err := data.New(h.Tables, arrowipc.Limits{}).Create(t.Context(), &dataapi.CreateTableRequest{
		Common: Named(name), Upload: Upload(t, rows),
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Insert appends rows, in the form of [Upload], and returns the new version.
func (h *House) Insert(t *testing.T, name, rows string) int64 {
	t.Helper()
	done, err := data.New(h.Tables, arrowipc.Limits{}).Insert(t.Context(), &dataapi.InsertRequest{
		Common: Named(name), Upload: Upload(t, rows),
	})
	if err != nil {
		t.Fatal(err)
	}
	return done.Version
}

// Rows returns the rows of the newest version of a table, one JSON object per line.
func (h *House) Rows(t *testing.T, name string) string {
	t.Helper()
	found, err := query.New(h.Tables).Query(t.Context(), &queryapi.Request{Common: Named(name)})
	if err != nil {
		t.Fatal(err)
	}
	return Lines(t, found)
}

// Lines returns the rows of an answer, one JSON object per line.
func Lines(t *testing.T, rows *protocol.Rows) string {
	t.Helper()
	var lines strings.Builder
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		array, err := json.Marshal(batch)
		if err != nil {
			t.Fatal(err)
		}
		var objects []json.RawMessage
		if err := json.Unmarshal(array, &objects); err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			lines.Write(append(object, '\n'))
		}
	}
	return lines.String()
}

// TableNames returns the names of the tables in the root namespace, in order.
func (h *House) TableNames(t *testing.T) []string {
	t.Helper()
	names, _, err := h.Names.Lists.Names(t.Context(), lists.Tables, nil, "", lists.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Files returns the keys of the data files of all tables.
func (h *House) Files(t *testing.T) []string {
	t.Helper()
	page, err := h.Objects.List(t.Context(), objectstore.ListOptions{KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, object := range page.Objects {
		if strings.Contains(object.Key, "/data/") {
			files = append(files, object.Key)
		}
	}
	return files
}

// WantCode fails the test unless err has the given code.
func WantCode(t *testing.T, what string, err error, want protocol.Code) {
	t.Helper()
	if err == nil || protocol.CodeOf(err) != want {
		t.Errorf("%s: got error %v, want one with the code %s", what, err, want)
	}
}
