package extsort_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/extsort"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func each(keys [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, k := range keys {
			if !yield(k, nil) {
				return
			}
		}
	}
}

func merge(ctx context.Context, files []*datafile.File) (keys [][]byte, err error) {
	for key, err := range extsort.Merge(ctx, files) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, bytes.Clone(key))
	}
	return keys, nil
}

func TestRunsAreReadAsIfTheyWereOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	out := indextest.NewOutput(t)
	budget := memory.NewBudget(8<<20, 8<<20)
	share := budget.Open()
	ctx := memory.WithShare(t.Context(), share)
	var all [][]byte
	var files []*datafile.File
	for i, n := range []int{0, 1, 20_000, 300, 70_000} {
		keys := make([][]byte, n)
		for k := range keys {
			keys[k] = fmt.Appendf(nil, "%0*d", 1+random.IntN(30), random.IntN(1000))
		}
		slices.SortFunc(keys, bytes.Compare)
		name := fmt.Sprintf("run %d", i)
		count, _, err := extsort.Write(ctx, each(keys), out, name)
		if err != nil || count != int64(n) {
			t.Fatalf("wrote %d keys of %d: %v", count, n, err)
		}
		file, err := out.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		all, files = append(all, keys...), append(files, file)
	}
	slices.SortStableFunc(all, bytes.Compare)
	got, err := merge(ctx, files)
	if err != nil || !slices.EqualFunc(got, all, bytes.Equal) {
		t.Errorf("got %d keys of %d, error %v", len(got), len(all), err)
	}
	for _, err := range extsort.Merge(ctx, files) { // a loop that ends early leaves nothing behind
		if err != nil {
			t.Error(err)
		}
		break
	}
	if held := share.Held(); held != 0 {
		t.Errorf("%d bytes of memory are still taken", held)
	}
}

func TestMergeRefusesAFileThatIsNoRun(t *testing.T) {
	out := indextest.NewOutput(t)
	failed := errors.New("of the source")
	if _, _, err := extsort.Write(t.Context(), func(yield func([]byte, error) bool) { yield(nil, failed) }, out, "failed"); !errors.Is(err, failed) {
		t.Errorf("a source that fails: got %v", err)
	}
	if _, _, err := extsort.Write(t.Context(), each([][]byte{{2}, {1}}), out, "unsorted"); err != nil {
		t.Fatal(err)
	}
	texts := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	texts.Append("x")
	schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: arrow.BinaryTypes.String}}, nil)
	file, err := out.Create(t.Context(), "texts", schema)
	if err == nil {
		err = file.Write(t.Context(), array.NewRecordBatch(schema, []arrow.Array{texts.NewArray()}, 1))
	}
	if err == nil {
		err = file.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"unsorted", "texts"} {
		file, err := out.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := merge(t.Context(), []*datafile.File{file}); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got %v, want lance.ErrCorrupt", name, err)
		}
	}
}

// Whatever is in a run, reading it ends, within a bound of memory.
func FuzzMerge(f *testing.F) {
	out := indextest.NewOutput(f)
	if _, _, err := extsort.Write(f.Context(), each([][]byte{nil, {1}, {1, 2}, []byte("text")}), out, "run"); err != nil {
		f.Fatal(err)
	}
	data, _, err := out.Store.Get(f.Context(), out.Prefix+"/run")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, store := indextest.Bounded(t), memstore.New()
		if _, err := store.Put(ctx, "run", data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		file, err := datafile.Open(ctx, store, "run", 0, nil)
		if err != nil {
			return
		}
		keys, err := merge(ctx, []*datafile.File{file, file})
		if err == nil && !slices.IsSortedFunc(keys, bytes.Compare) {
			t.Error("keys are not in order")
		}
	})
}
