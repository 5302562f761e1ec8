package datafile

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A fixture is a data file written by native Lance with its expected content.
type fixture struct {
	name   string
	file   *File
	fields []*schema.Field
	want   []arrow.Array // a column each
}

// fixtures opens the data files below testdata.
func fixtures(t testing.TB) []fixture {
	t.Helper()
	paths, err := filepath.Glob("testdata/native/*.lance")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	all := make([]fixture, len(paths))
	for i, path := range paths {
		all[i] = openFixture(t, path)
	}
	return all
}

func openFixture(t testing.TB, path string) fixture {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := openBytes(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	s, err := f.Schema(context.Background())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".lance")
	columns := expected(t, path)
	want := make([]arrow.Array, len(s.Fields))
	for i, field := range s.Fields {
		if want[i] = columns[field.Name]; want[i] == nil {
			t.Fatalf("%s: nothing is expected of field %s", path, field.Name)
		}
	}
	return fixture{name, f, s.Fields, want}
}

// openBytes opens a data file from memory.
func openBytes(data []byte) (*File, error) {
	store := memstore.New()
	if _, err := store.Put(context.Background(), "f.lance", data, objectstore.Condition{}); err != nil {
		return nil, err
	}
	return Open(context.Background(), store, "f.lance", int64(len(data)), nil)
}

// expected reads the expected columns of a data file from the Arrow file with its name, or with its
// name without the format version.
func expected(t testing.TB, path string) map[string]arrow.Array {
	t.Helper()
	path = strings.TrimSuffix(path, ".lance")
	if _, err := os.Stat(path + ".arrow"); err != nil {
		path = path[:strings.LastIndex(path, "_v2")]
	}
	in, err := os.Open(path + ".arrow")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // only read
	r, err := ipc.NewFileReader(in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	chunks := make([][]arrow.Array, r.Schema().NumFields())
	for i := range r.NumRecords() {
		batch, err := r.RecordBatchAt(i)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for c := range chunks {
			chunks[c] = append(chunks[c], batch.Column(c))
		}
	}
	columns := make(map[string]arrow.Array, len(chunks))
	for c := range chunks {
		if columns[r.Schema().Field(c).Name], err = array.Concatenate(chunks[c], memory.DefaultAllocator); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return columns
}

// diff describes where two arrays hold different values; "" means nowhere. It ignores child names,
// nullability and dictionary encoding.
func diff(got, want arrow.Array) string {
	if got.Len() != want.Len() {
		return fmt.Sprintf("got %d values, want %d", got.Len(), want.Len())
	}
	for i := range want.Len() {
		if got.IsNull(i) && want.IsNull(i) {
			continue
		}
		if g, w := text(got, i), text(want, i); g != w {
			return fmt.Sprintf("value %d: got %.300s, want %.300s", i, g, w)
		}
	}
	return ""
}

func text(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return text(a.Dictionary(), a.GetValueIndex(i))
	case *array.Struct:
		parts := make([]string, a.NumField())
		for k := range parts {
			parts[k] = text(a.Field(k), i)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		parts := make([]string, 0, to-from)
		for k := from; k < to; k++ {
			parts = append(parts, text(a.ListValues(), int(k)))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return a.ValueStr(i)
}

// check walks all values of an array, which panics when one lies outside its memory.
func check(a arrow.Array) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("array of type %s is not sound: %v", a.DataType(), r)
		}
	}()
	for i := range a.Len() {
		text(a, i)
	}
	return nil
}

func TestReadRangeReturnsWhatNativeLanceWrote(t *testing.T) {
	for _, fx := range fixtures(t) {
		t.Run(fx.name, func(t *testing.T) {
			for i, field := range fx.fields {
				got, err := fx.file.ReadRange(context.Background(), fx.fields[i:i+1], 0, fx.file.NumRows())
				if err != nil {
					t.Errorf("field %s: %v", field.Name, err)
					continue
				}
				if d := diff(got[0], fx.want[i]); d != "" {
					t.Errorf("field %s of type %s: %s", field.Name, field.Type, d)
				}
			}
		})
	}
}

func TestReadRangeReturnsAnyWindow(t *testing.T) {
	for _, fx := range fixtures(t) {
		t.Run(fx.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := fx.file.NumRows()
				from := rapid.Int64Range(0, n).Draw(t, "from")
				to := rapid.Int64Range(from, n).Draw(t, "to")
				got, err := fx.file.ReadRange(context.Background(), fx.fields, from, to)
				if err != nil {
					t.Fatalf("rows [%d, %d): %v", from, to, err)
				}
				for i, field := range fx.fields {
					if d := diff(got[i], array.NewSlice(fx.want[i], from, to)); d != "" {
						t.Errorf("field %s, rows [%d, %d): %s", field.Name, from, to, d)
					}
				}
			})
		})
	}
}

func TestTakeReturnsRowsOfAScan(t *testing.T) {
	for _, fx := range fixtures(t) {
		t.Run(fx.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rows := rapid.SliceOfNDistinct(rapid.Int64Range(0, fx.file.NumRows()-1), 0, 40, rapid.ID[int64]).Draw(t, "rows")
				slices.Sort(rows)
				got, err := fx.file.Take(context.Background(), fx.fields, rows)
				if err != nil {
					t.Fatalf("rows %v: %v", rows, err)
				}
				for i, field := range fx.fields {
					for k, row := range rows {
						if d := diff(array.NewSlice(got[i], int64(k), int64(k)+1), array.NewSlice(fx.want[i], row, row+1)); d != "" {
							t.Fatalf("field %s, row %d: %s", field.Name, row, d)
						}
					}
				}
			})
		})
	}
}

func TestReadRefusesRowsThatAreNotThere(t *testing.T) {
	fx := openFixture(t, "testdata/native/vectors_v22.lance")
	n := fx.file.NumRows()
	for _, window := range [][2]int64{{-1, 2}, {3, 2}, {0, n + 1}} {
		if _, err := fx.file.ReadRange(context.Background(), fx.fields, window[0], window[1]); err == nil {
			t.Errorf("ReadRange(%d, %d) of %d rows: got no error", window[0], window[1], n)
		}
	}
	for _, rows := range [][]int64{{-1}, {n}, {2, 2}, {2, 1}} {
		if _, err := fx.file.Take(context.Background(), fx.fields, rows); err == nil {
			t.Errorf("Take(%v) of %d rows: got no error", rows, n)
		}
	}
}

func TestMissingFieldsAreNull(t *testing.T) {
	fx := openFixture(t, "testdata/native/nested_v22.lance")
	for _, field := range fx.fields {
		leaves := field.Leaves()
		if len(leaves) < 2 || field.Type.ID() == arrow.MAP {
			continue // a map cannot be without its keys
		}
		// Take the first leaf out of the file, then all of them.
		whole := fx.file.fields
		for _, missing := range [][]*schema.Field{leaves[:1], leaves} {
			columns := maps.Clone(whole)
			for _, leaf := range missing {
				delete(columns, leaf.ID)
			}
			fx.file.fields = columns
			got, err := fx.file.ReadRange(context.Background(), []*schema.Field{field}, 0, fx.file.NumRows())
			if err != nil {
				t.Fatalf("field %s without %d leaves: %v", field.Name, len(missing), err)
			}
			if len(missing) == len(leaves) && got[0].NullN() != got[0].Len() {
				t.Errorf("field %s without leaves: got %d nulls, want %d", field.Name, got[0].NullN(), got[0].Len())
			}
			if got[0].Len() != int(fx.file.NumRows()) {
				t.Errorf("field %s: got %d rows, want %d", field.Name, got[0].Len(), fx.file.NumRows())
			}
		}
		fx.file.fields = whole
	}
}

func TestFileIsSafeForConcurrentUse(t *testing.T) {
	fx := openFixture(t, "testdata/native/typical_v22.lance")
	var group errgroup.Group
	for worker := range int64(8) {
		group.Go(func() error {
			n := fx.file.NumRows()
			for from := worker; from+50 <= n; from += 50 {
				got, err := fx.file.ReadRange(context.Background(), fx.fields, from, from+50)
				if err != nil {
					return err
				}
				for i := range got {
					if d := diff(got[i], array.NewSlice(fx.want[i], from, from+50)); d != "" {
						return fmt.Errorf("field %s: %s", fx.fields[i].Name, d)
					}
				}
				_ = fx.file.MemBytes()
				_ = fx.file.BytesPerRow(fx.fields)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestBytesPerRowIsNearWhatRowsTake(t *testing.T) {
	for _, fx := range fixtures(t) {
		stored := 0.0
		for i := range fx.fields {
			for _, buffer := range fx.want[i].Data().Buffers() {
				if buffer != nil {
					stored += float64(buffer.Len())
				}
			}
		}
		got := fx.file.BytesPerRow(fx.fields)
		if want := stored / float64(fx.file.NumRows()); got < want/4 {
			t.Errorf("%s: BytesPerRow = %.0f, want at least a quarter of %.0f", fx.name, got, want)
		}
	}
}
