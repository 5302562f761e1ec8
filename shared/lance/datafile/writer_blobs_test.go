package datafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// sideFiles are side files in memory, by their keys.
type sideFiles map[string]*sideFile

type sideFile struct {
	bytes.Buffer
	closed bool
}

func (f *sideFile) Close() error {
	f.closed = true
	return nil
}

// places puts blobs into side files of the data file name.lance, and lets them be anywhere.
func (s sideFiles) places(name string) BlobPlaces {
	return BlobPlaces{
		SideFile: func(id uint32) (io.WriteCloser, error) {
			f := new(sideFile)
			s[SideFileKey(name+".lance", id)] = f
			return f, nil
		},
		External: func(uri string) (uint32, string, error) { return 0, uri, nil },
	}
}

const blobV2 = "lance.blob.v2"

// blobColumns are the columns of the native files: blobs, and structs of blobs and numbers.
func blobColumns(t *testing.T, v lance.Version) (*schema.Schema, arrow.RecordBatch) {
	t.Helper()
	text, err := os.ReadFile("testdata/matrix/blobs.json")
	if err != nil {
		t.Fatal(err)
	}
	var values []*string
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	blob := arrow.Field{Name: "blob", Nullable: true, Type: arrow.BinaryTypes.LargeBinary, Metadata: arrow.MetadataFrom(map[string]string{"lance-encoding:blob": "true"})}
	blobs := blobsOf(values)
	if v == lance.V2_2 {
		metadata := map[string]string{"ARROW:extension:name": blobV2, inlineBlobKey: "400", packedBlobKey: "800"}
		blob.Metadata = arrow.MetadataFrom(metadata)
		blobs = blobStructs(values[:len(values)-1], "file:///tmp/elsewhere", 3, 4)
		blob.Type = blobs.DataType()
	}
	numbers := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range values {
		numbers.Append(int64(i))
	}
	members := []arrow.Field{blob, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	structs, err := array.NewStructArrayWithFields([]arrow.Array{blobs, numbers.NewArray()}, members)
	if err != nil {
		t.Fatal(err)
	}
	as := arrow.NewSchema([]arrow.Field{blob, {Name: "in_struct", Type: structs.DataType(), Nullable: true}}, nil)
	s, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	return s, array.NewRecordBatch(as, []arrow.Array{blobs, structs}, int64(len(values)))
}

func blobsOf(values []*string) arrow.Array {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	for _, v := range values {
		if v == nil {
			b.AppendNull()
		} else {
			b.Append([]byte(*v))
		}
	}
	return b.NewArray()
}

// blobStructs returns values in the form of version 2.2, and one more that is elsewhere.
func blobStructs(values []*string, uri string, position, size uint64) arrow.Array {
	b := array.NewStructBuilder(memory.DefaultAllocator, arrow.StructOf(
		arrow.Field{Name: "data", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		arrow.Field{Name: "uri", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
	))
	for _, v := range values {
		if v == nil {
			b.AppendNull()
			continue
		}
		b.Append(true)
		b.FieldBuilder(0).(*array.BinaryBuilder).Append([]byte(*v))
		for i := 1; i < 4; i++ {
			b.FieldBuilder(i).AppendNull()
		}
	}
	b.Append(true)
	b.FieldBuilder(0).AppendNull()
	b.FieldBuilder(1).(*array.StringBuilder).Append(uri)
	b.FieldBuilder(2).(*array.Uint64Builder).Append(position)
	b.FieldBuilder(3).(*array.Uint64Builder).Append(size)
	return b.NewArray()
}

// Descriptions equal the native writer's at every position, and so do side files.
func TestBlobsAreWrittenWhereTheNativeWriterPutsThem(t *testing.T) {
	for name, v := range map[string]lance.Version{"blobs_v20": lance.V2_0, "blobs_v21": lance.V2_1, "blobs_v22": lance.V2_2} {
		t.Run(name, func(t *testing.T) {
			s, batch := blobColumns(t, v)
			var out bytes.Buffer
			sides := sideFiles{}
			w, err := NewBlobWriter(&out, s, v, sides.places("testdata/matrix/"+name))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(batch); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := openBytes(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			want := openFixture(t, "testdata/matrix/"+name+".lance").file
			for i := range s.Fields {
				if d := diff(readColumn(t, got, i), readColumn(t, want, i)); d != "" {
					t.Errorf("column %d: %s", i, d)
				}
			}
			checkSideFiles(t, sides, name)
		})
	}
}

func readColumn(t *testing.T, f *File, i int) arrow.Array {
	t.Helper()
	s, err := f.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	columns, err := f.ReadRange(t.Context(), s.Fields[i:i+1], 0, f.rows)
	if err != nil {
		t.Fatal(err)
	}
	return columns[0]
}

func checkSideFiles(t *testing.T, got sideFiles, name string) {
	t.Helper()
	files, err := filepath.Glob("testdata/matrix/" + name + "/*.blob")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(got) {
		t.Errorf("%d side files, want %d", len(got), len(files))
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if f := got[file]; f == nil || !f.closed || !bytes.Equal(f.Bytes(), want) {
			t.Errorf("side file %s: got %+v, want %d bytes", file, f, len(want))
		}
	}
}

func TestSharedSideFilesAreOfBoundedSize(t *testing.T) {
	value := "12345"
	metadata := map[string]string{"ARROW:extension:name": blobV2, inlineBlobKey: "0", sideFileKey: "12"}
	blobs := blobStructs([]*string{&value, &value, &value, &value}, "memory://elsewhere", 0, 1)
	as := arrow.NewSchema([]arrow.Field{{Name: "b", Type: blobs.DataType(), Nullable: true, Metadata: arrow.MetadataFrom(metadata)}}, nil)
	s, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	sides := sideFiles{}
	w, err := NewBlobWriter(io.Discard, s, lance.V2_2, sides.places("f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(array.NewRecordBatch(as, []arrow.Array{blobs}, 5)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for key, f := range sides {
		got[key] = f.String()
	}
	want := map[string]string{
		"f/10000000000000000000000000000000.blob": "1234512345",
		"f/01000000000000000000000000000000.blob": "1234512345",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("side files (-want +got):\n%s", d)
	}
}

func TestWriterRefusesWhatIsNoBlob(t *testing.T) {
	v2 := map[string]string{"ARROW:extension:name": blobV2}
	old := map[string]string{"lance-encoding:blob": "true"}
	value := "x"
	elsewhere := blobStructs(nil, "memory://elsewhere", 0, 1)
	both, _ := array.NewStructArrayWithFields([]arrow.Array{blobsOf([]*string{&value}), elsewhere.(*array.Struct).Field(1)},
		elsewhere.DataType().(*arrow.StructType).Fields()[:2])
	for name, c := range map[string]struct {
		column   arrow.Array
		metadata map[string]string
		version  lance.Version
		want     error
	}{
		"elsewhere without a place":  {elsewhere, v2, lance.V2_2, lance.ErrUnsupported},
		"data and a uri":             {both, v2, lance.V2_2, schema.ErrMismatch},
		"a part of no bytes":         {blobStructs(nil, "memory://elsewhere", 1, 0), v2, lance.V2_2, schema.ErrMismatch},
		"version 2.2 in 2.1":         {both, v2, lance.V2_1, lance.ErrUnsupported},
		"version 2.1 in 2.2":         {blobsOf([]*string{&value}), old, lance.V2_2, lance.ErrUnsupported},
		"a size that is no number":   {both, map[string]string{"ARROW:extension:name": blobV2, inlineBlobKey: "x"}, lance.V2_2, lance.ErrUnsupported},
		"a side file without places": {blobStructs([]*string{&value}, "memory://e", 0, 1), map[string]string{"ARROW:extension:name": blobV2, inlineBlobKey: "0"}, lance.V2_2, lance.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			as := arrow.NewSchema([]arrow.Field{{Name: "b", Type: c.column.DataType(), Nullable: true, Metadata: arrow.MetadataFrom(c.metadata)}}, nil)
			s, err := schema.FromArrow(as)
			if err != nil {
				t.Fatal(err)
			}
			w, err := NewWriter(io.Discard, s, c.version)
			if err == nil {
				err = w.Write(array.NewRecordBatch(as, []arrow.Array{c.column}, int64(c.column.Len())))
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
