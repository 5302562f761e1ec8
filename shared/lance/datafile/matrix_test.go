package datafile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestTypesOfEachVersionReadAsNativeLanceWroteThem(t *testing.T) {
	paths, err := filepath.Glob("testdata/matrix/*.lance")
	if err != nil || len(paths) < 20 {
		t.Fatalf("got %d files, %v", len(paths), err)
	}
	for _, path := range paths {
		fx := openFixture(t, path)
		t.Run(fx.name, func(t *testing.T) {
			all, err := fx.file.ReadRange(t.Context(), fx.fields, 0, fx.file.NumRows())
			if err != nil {
				t.Fatal(err)
			}
			var rows []int64
			for row := int64(1); row < fx.file.NumRows(); row += 1 + row%5 {
				rows = append(rows, row)
			}
			taken, err := fx.file.Take(t.Context(), fx.fields, rows)
			if err != nil {
				t.Fatal(err)
			}
			for i, field := range fx.fields {
				if why := diff(all[i], fx.want[i]); why != "" {
					t.Errorf("%s: %s", field.Name, why)
				}
				for k, row := range rows {
					one := array.NewSlice(fx.want[i], row, row+1)
					if why := diff(array.NewSlice(taken[i], int64(k), int64(k+1)), one); why != "" {
						t.Errorf("%s, row %d taken: %s", field.Name, row, why)
					}
				}
			}
		})
	}
}

func TestBlobsAreDescribedAndTheirBytesAreRead(t *testing.T) {
	var want []*string
	text, err := os.ReadFile("testdata/matrix/blobs.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"blobs_v20", "blobs_v21", "blobs_v22"} {
		t.Run(name, func(t *testing.T) {
			fx := openWithSideFiles(t, name)
			columns, err := fx.file.ReadRange(t.Context(), fx.fields, 0, fx.file.NumRows())
			if err != nil {
				t.Fatal(err)
			}
			inStruct := columns[1].(*array.Struct).Field(0)
			for _, column := range []*array.Struct{columns[0].(*array.Struct), inStruct.(*array.Struct)} {
				blobs, err := Blobs(column)
				if err != nil {
					t.Fatal(err)
				}
				last := len(blobs) - 1
				if blobs[last].Kind == ExternalBlob {
					checkExternal(t, fx.file, blobs[last])
					blobs = blobs[:last]
				}
				contents, err := fx.file.ReadBlobs(t.Context(), blobs)
				if err != nil {
					t.Fatal(err)
				}
				var got []*string
				for _, b := range contents {
					s := string(b)
					got = append(got, &s)
					if b == nil {
						got[len(got)-1] = nil
					}
				}
				if d := cmp.Diff(want[:len(blobs)], got); d != "" {
					t.Errorf("contents differ (-want +got):\n%s", d)
				}
			}
		})
	}
}

func checkExternal(t *testing.T, f *File, b Blob) {
	t.Helper()
	if want := (Blob{Kind: ExternalBlob, Position: 3, Size: 4, URI: "file:///tmp/elsewhere"}); b != want {
		t.Errorf("got blob %+v, want %+v", b, want)
	}
	if _, err := f.ReadBlobs(t.Context(), []Blob{b}); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("reading an external blob: got error %v, want ErrUnsupported", err)
	}
}

// openWithSideFiles opens a data file of testdata/matrix from a store that also has the
// side files of its blobs.
func openWithSideFiles(t *testing.T, name string) fixture {
	t.Helper()
	fx := openFixture(t, "testdata/matrix/"+name+".lance")
	store := memstore.New()
	sides, err := filepath.Glob("testdata/matrix/" + name + "/*.blob")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(sides, "testdata/matrix/"+name+".lance") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		key, err := filepath.Rel("testdata/matrix", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), filepath.ToSlash(key), data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if fx.file, err = Open(t.Context(), store, name+".lance", fx.file.Size(), nil); err != nil {
		t.Fatal(err)
	}
	return fx
}

func TestBlobsThatCannotBeAreCorrupt(t *testing.T) {
	fx := openWithSideFiles(t, "blobs_v22")
	size := uint64(fx.file.Size())
	for _, b := range []Blob{
		{Kind: InlineBlob, Position: size, Size: 1},
		{Kind: InlineBlob, Position: 1, Size: 1<<64 - 1},
		{Kind: InlineBlob, Position: 1<<64 - 1, Size: 2},
		{Kind: PackedBlob, Position: 1<<64 - 1, Size: 1, ID: 1},
		{Kind: PackedBlob, Position: 0, Size: 1 << 39, ID: 1},
		{Kind: DedicatedBlob, Size: 1 << 62, ID: 1},
	} {
		if _, err := fx.file.ReadBlobs(t.Context(), []Blob{b}); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%+v: got error %v, want ErrCorrupt", b, err)
		}
	}
	column := array.NewSlice(fx.want[0], 0, 1)
	if _, err := Blobs(column.(*array.Struct).Field(1)); err == nil {
		t.Error("positions alone were taken for blobs")
	}
}
