package stage_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// numbers returns n rows of one column in batches of 1000.
func numbers(n int) (*schema.Match, iter.Seq2[arrow.RecordBatch, error], error) {
	columns := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	s, err := schema.FromArrowAbove(columns, -1)
	if err != nil {
		return nil, nil, err
	}
	match, err := s.Match(columns)
	return match, func(yield func(arrow.RecordBatch, error) bool) {
		for from := 0; from < n; from += 1000 {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for i := from; i < min(from+1000, n); i++ {
				b.Append(int64(i))
			}
			batch := array.NewRecordBatch(columns, []arrow.Array{b.NewArray()}, int64(min(1000, n-from)))
			if !yield(batch, nil) {
				return
			}
		}
	}, err
}

func TestRowsBecomeFragmentsOfWholeFiles(t *testing.T) {
	cases := []struct {
		name string
		rows int
		want []uint64 // rows by fragment
	}{
		{"none", 0, nil},
		{"one file", 2500, []uint64{2500}},
		{"a full file and a rest", stage.MaxFileRows + 5, []uint64{stage.MaxFileRows, 5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := memstore.New()
			match, rows, err := numbers(c.rows)
			if err != nil {
				t.Fatal(err)
			}
			place := stage.Place{Store: store, Prefix: "t", Buffers: new(stage.Buffers)}
			files, err := place.WriteRows(t.Context(), match, stage.Format{Version: lance.V2_2}, rows)
			if err != nil {
				t.Fatal(err)
			}
			if err := files.Wait(); err != nil {
				t.Fatal(err)
			}
			if files.Rows != int64(c.rows) || len(files.Fragments) != len(c.want) {
				t.Fatalf("got %d rows in %d fragments, want %d in %d", files.Rows, len(files.Fragments), c.rows, len(c.want))
			}
			for i, f := range files.Fragments {
				_, info, err := store.GetRanges(t.Context(), "t/data/"+f.Files[0].Path)
				if err != nil || uint64(info.Size) != f.Files[0].SizeBytes || f.PhysicalRows != c.want[i] {
					t.Errorf("fragment %d: %d rows, want %d; file of %d bytes, want %d; error %v",
						i, f.PhysicalRows, c.want[i], info.Size, f.Files[0].SizeBytes, err)
				}
			}
		})
	}
}

func TestRowsThatFailLeaveNoFile(t *testing.T) {
	store, broken := memstore.New(), errors.New("broken")
	match, rows, err := numbers(1500)
	if err != nil {
		t.Fatal(err)
	}
	failing := func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows {
			if !yield(batch, err) {
				return
			}
		}
		yield(nil, broken)
	}
	place := stage.Place{Store: store, Prefix: "t", Buffers: new(stage.Buffers)}
	if _, err := place.WriteRows(t.Context(), match, stage.Format{Version: lance.V2_2}, failing); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the rows", err)
	}
	page, err := store.List(context.Background(), objectstore.ListOptions{Prefix: "t/"})
	if err != nil || len(page.Objects) > 0 {
		t.Errorf("got %d files, want none; error %v", len(page.Objects), err)
	}
}

// Written is called for each durable file and for no other.
func TestPlaceReportsDurableFiles(t *testing.T) {
	broken := errors.New("broken")
	for _, cause := range []error{nil, broken} {
		store := faultstore.New(memstore.New(), func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Err: cause} })
		match, rows, err := numbers(2500)
		if err != nil {
			t.Fatal(err)
		}
		told := map[string][]byte{}
		place := stage.Place{Store: store, Prefix: "t", Buffers: new(stage.Buffers), Written: func(key string, file []byte) {
			told[key] = bytes.Clone(file)
		}}
		files, err := place.WriteRows(t.Context(), match, stage.Format{Version: lance.V2_2}, rows)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.Wait(); !errors.Is(err, cause) {
			t.Fatalf("got %v, want %v", err, cause)
		}
		if cause != nil {
			if len(told) > 0 {
				t.Error("the place tells of a file that could not be written")
			}
			continue
		}
		key := "t/data/" + files.Fragments[0].Files[0].Path
		data, _, err := store.Get(t.Context(), key)
		if err != nil || len(told) != 1 || !bytes.Equal(told[key], data) {
			t.Errorf("the place tells of %d files, want the one at %s with its bytes; error %v", len(told), key, err)
		}
	}
}

func TestNamesOfFilesSpreadTheKeys(t *testing.T) {
	match, rows, err := numbers(1)
	if err != nil {
		t.Fatal(err)
	}
	place := stage.Place{Store: memstore.New(), Prefix: "t", Buffers: new(stage.Buffers)}
	files, err := place.WriteRows(t.Context(), match, stage.Format{Version: lance.V2_1}, rows)
	if err != nil {
		t.Fatal(err)
	}
	name := files.Fragments[0].Files[0].Path
	if len(name) != 50+len(".lance") || strings.Trim(name[:24], "01") != "" {
		t.Errorf("got the name %s, want 24 binary digits and 26 hexadecimal ones", name)
	}
}
