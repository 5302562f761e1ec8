package legacyfile

import (
	"archive/zip"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/memstore"
)

// nativeFiles returns the data files of package dataset's golden tables, which pylance wrote.
func nativeFiles(t testing.TB) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader("../dataset/testdata/legacy.zip")
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
		rows := min(file.NumRows(), 1<<16)
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

func TestEveryPrefixAndManyChangedBytesAreSurvived(t *testing.T) {
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
