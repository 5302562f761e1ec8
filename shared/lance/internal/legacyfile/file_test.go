package legacyfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// nativeFiles returns the data files of package dataset's golden tables, which pylance wrote.
func nativeFiles(t testing.TB) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader("../../dataset/testdata/legacy.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	files := map[string][]byte{}
	for _, f := range archive.File {
		if path.Base(path.Dir(f.Name)) != "data" || !strings.HasPrefix(f.Name, "legacy/types") && !strings.HasPrefix(f.Name, "legacy/plain") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// readAll reads all that a file holds, by its own schema, and some of its rows.
func readAll(t testing.TB, data []byte) error {
	t.Helper()
	store := memstore.New()
	if _, err := store.Put(t.Context(), "f", data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	file, err := Open(t.Context(), store, "f", 0)
	if err != nil {
		return err
	}
	var fields []*schema.Field
	for _, field := range file.fields {
		if field.ParentID == -1 {
			fields = append(fields, field.Field)
		}
	}
	if w := file.BytesPerRow(fields); w < 0 {
		t.Errorf("rows of %v bytes", w)
	}
	var failed error
	for _, field := range fields {
		one := []*schema.Field{field}
		// A column of nulls occupies nothing, however long it claims to be.
		rows := min(file.NumRows(), 1<<12)
		whole, err := file.ReadRange(t.Context(), one, 0, rows)
		if err != nil {
			failed = err
			continue
		}
		if n := int64(whole[0].Len()); n != rows {
			t.Errorf("%s: got %d rows, want %d", field.Name, n, rows)
		}
		var picked []int64
		for row := int64(0); row < rows; row += 3 {
			picked = append(picked, row)
		}
		taken, err := file.Take(t.Context(), one, picked)
		if err != nil {
			failed = err
			continue
		}
		for i, row := range picked {
			got, want := array.NewSlice(taken[0], int64(i), int64(i)+1), array.NewSlice(whole[0], row, row+1)
			if !array.ApproxEqual(got, want, array.WithNaNsEqual(true)) {
				t.Errorf("%s: row %d is %v when taken, %v when scanned", field.Name, row, got, want)
			}
		}
	}
	return failed
}

func TestRowsTakenAreThoseScanned(t *testing.T) {
	for name, data := range nativeFiles(t) {
		if err := readAll(t, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever bytes there are: they are read, or are damaged or unsupported.
func FuzzRead(f *testing.F) {
	for _, data := range nativeFiles(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readAll(t, data); err != nil && !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("error %v is of no kind", err)
		}
	})
}

func TestFileSurvivesPrefixesAndChangedBytes(t *testing.T) {
	for name, data := range nativeFiles(t) {
		if !strings.Contains(name, "plain") {
			continue
		}
		for n := range data {
			if err := readAll(t, data[:n]); !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Fatalf("%s: the first %d of %d bytes: got error %v", name, n, len(data), err)
			}
			changed := append([]byte(nil), data...)
			for _, x := range []byte{0x00, 0xFF, changed[n] ^ 0x80} {
				changed[n] = x
				if err := readAll(t, changed); err != nil && !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
					t.Fatalf("%s: byte %d set to %d: got error %v", name, n, x, err)
				}
			}
		}
	}
}

// Written files read back as the same rows, in batches of the requested lengths.
func TestFilesWrittenAreReadAgain(t *testing.T) {
	for name, data := range nativeFiles(t) {
		file, fields, columns := ownColumns(t, data)
		lengths := file.Batches()
		for _, batches := range [][]int64{nil, lengths, {1, file.NumRows() - 1}} {
			var out bytes.Buffer
			w, err := NewWriter(&out, &schema.Schema{Fields: fields}, Options{Batches: batches, Dictionaries: ownDictionaries(file)})
			if err != nil {
				t.Fatal(err)
			}
			rec := array.NewRecordBatch(arrowSchema(fields), columns, file.NumRows())
			for from := int64(0); from < rec.NumRows(); from += 7 {
				if err := w.Write(rec.NewSlice(from, min(from+7, rec.NumRows()))); err != nil {
					t.Fatal(err)
				}
			}
			sum, err := w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if sum.Rows != file.NumRows() || sum.Size != int64(out.Len()) {
				t.Errorf("%s: got %d rows in %d bytes, want %d in %d", name, sum.Rows, sum.Size, file.NumRows(), out.Len())
			}
			again, _, got := ownColumns(t, out.Bytes())
			if batches != nil && !slices.Equal(again.Batches(), batches) {
				t.Errorf("%s: got batches of %v, want %v", name, again.Batches(), batches)
			}
			for i := range columns {
				if !array.ApproxEqual(got[i], columns[i], array.WithNaNsEqual(true)) {
					t.Errorf("%s: %s is\n%v, want\n%v", name, fields[i].Name, got[i], columns[i])
				}
			}
		}
	}
}

// ownDictionaries returns the dictionaries of a file after all columns were read.
func ownDictionaries(file *File) map[int32]arrow.Array {
	dictionaries := map[int32]arrow.Array{}
	for id, field := range file.fields {
		if values := field.values.Load(); values != nil {
			dictionaries[id] = *values
		}
	}
	return dictionaries
}

func arrowSchema(fields []*schema.Field) *arrow.Schema {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = f.Arrow()
	}
	return arrow.NewSchema(out, nil)
}

// ownColumns returns the columns of a file that can be written, by their ids.
func ownColumns(t *testing.T, data []byte) (*File, []*schema.Field, []arrow.Array) {
	t.Helper()
	store := memstore.New()
	if _, err := store.Put(t.Context(), "f", data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	file, err := Open(t.Context(), store, "f", int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var fields []*schema.Field
	for _, field := range file.fields {
		ok := true
		for at := range (&schema.Schema{Fields: []*schema.Field{field.Field}}).All() {
			ok = ok && writable(at)
		}
		if ok && field.ParentID == -1 {
			fields = append(fields, field.Field)
		}
	}
	slices.SortFunc(fields, func(a, b *schema.Field) int { return int(a.ID - b.ID) })
	columns, err := file.ReadRange(t.Context(), fields, 0, file.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	return file, fields, columns
}

// Nulls are stored like the native writer's: fixed-width values as zeros, others as nothing.
func TestWriterStoresNoValuesUnderNulls(t *testing.T) {
	list := arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Boolean)
	garbage := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	valid := memory.NewBufferBytes([]byte{0b01})
	values := array.NewData(arrow.FixedWidthTypes.Boolean, 4, []*memory.Buffer{nil, memory.NewBufferBytes(garbage)}, nil, 0, 0)
	columns := []arrow.ArrayData{
		array.NewData(arrow.PrimitiveTypes.Int32, 2, []*memory.Buffer{valid, memory.NewBufferBytes(garbage)}, nil, 1, 0),
		array.NewData(arrow.FixedWidthTypes.Boolean, 2, []*memory.Buffer{valid, memory.NewBufferBytes(garbage)}, nil, 1, 0),
		array.NewData(list, 2, []*memory.Buffer{valid}, []arrow.ArrayData{values}, 1, 0),
		array.NewData(arrow.BinaryTypes.String, 2, []*memory.Buffer{valid, memory.NewBufferBytes([]byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}), memory.NewBufferBytes([]byte("ab"))}, nil, 1, 0),
	}
	var fields []arrow.Field
	var arrays []arrow.Array
	for i, c := range columns {
		fields = append(fields, arrow.Field{Name: string(rune('a' + i)), Type: c.DataType(), Nullable: true})
		arrays = append(arrays, array.MakeFromData(c))
	}
	s, err := schema.FromArrowAbove(arrow.NewSchema(fields, nil), -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, got := ownColumns(t, out.Bytes())
	for i, want := range []string{"[-1 0]", "[true false]", "[[true true] [false false]]", `["a" (null)]`} {
		if got := got[i].String(); got != want {
			t.Errorf("column %d: got %s, want %s", i, got, want)
		}
	}
}
