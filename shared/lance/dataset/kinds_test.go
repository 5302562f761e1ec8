package dataset_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Every file of a table may have its own kind. Files that are not read take no memory per column,
// and the keys of the kinds are charged to the request.
func TestStorageOfManyKindsOfFiles(t *testing.T) {
	const columns, files = 4000, 2000
	fields := make([]arrow.Field, columns)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint(i), Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	}
	m := new(manifest.Manifest)
	var err error
	if m.Schema, err = schema.FromArrow(arrow.NewSchema(fields, nil)); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		m.Fragments = append(m.Fragments, &pb.Fragment{ID: uint64(i), PhysicalRows: 1, Files: []pb.DataFile{
			{Path: "gone.lance", Fields: []int32{int32(i)}, ColumnIndices: []int32{0}, MajorVersion: 2, MinorVersion: 1},
		}})
	}
	d, err := dataset.OpenManifest(datasettest.TableIn(memstore.New()), m)
	if err != nil {
		t.Fatal(err)
	}
	storage := func(bytes int64) (uint64, error) {
		share := memory.NewBudget(bytes, bytes).Open()
		defer share.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := d.Storage(memory.WithShare(t.Context(), share), 1)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, err
	}
	if _, err := storage(768 << 10); !memory.TooMuch(err) {
		t.Errorf("with a share for the files and not for the kinds: got %v, want a refusal", err)
	}
	made, err := storage(8 << 20)
	if !errors.Is(err, objectstore.ErrNotExist) || made > 16<<20 {
		t.Errorf("got %v and %d MiB of memory, want the error of the one file that is read and 16 MiB at the most", err, made>>20)
	}
}
