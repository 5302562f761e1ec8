package datafile

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestOpenNeedsNoSizeAndOneRequest(t *testing.T) {
	data, err := os.ReadFile("testdata/native/typical_v22.lance")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	store := faultstore.New(memstore.New(), nil)
	if _, err := store.Put(ctx, "f.lance", data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, int64(len(data))} {
		store.Recorder.Reset()
		f, err := Open(ctx, store, "f.lance", size, map[int32]int32{})
		if err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
		if got := store.Recorder.Snapshot(); got.Requests != 1 {
			t.Errorf("size %d: opening took %d requests, want 1: %v", size, got.Requests, got.Log)
		}
		if f.Size() != int64(len(data)) {
			t.Errorf("size %d: Size() = %d, want %d", size, f.Size(), len(data))
		}
	}
}

// A file with a known tail opens without a request and reads the same rows.
func TestOpenDoesNotReadAKnownTail(t *testing.T) {
	for _, name := range []string{"vectors_v22", "typical_v22", "codecs_v22", "typical_v20"} {
		t.Run(name, func(t *testing.T) {
			fx := openFixture(t, "testdata/native/"+name+".lance")
			data, _, err := fx.file.store.Get(t.Context(), fx.file.key)
			if err != nil {
				t.Fatal(err)
			}
			store := faultstore.New(fx.file.store, nil)
			known, err := OpenTail(t.Context(), store, fx.file.key, int64(len(data)), Tail(data), fx.file.fields)
			if err != nil {
				t.Fatal(err)
			}
			if got := store.Recorder.Snapshot(); got.Requests != 0 {
				t.Errorf("opening took %d requests, want none: %v", got.Requests, got.Log)
			}
			clear(data) // the tail is a copy
			want, err := fx.file.ReadRange(t.Context(), fx.fields, 0, fx.file.NumRows())
			if err != nil {
				t.Fatal(err)
			}
			got, err := known.ReadRange(t.Context(), fx.fields, 0, known.NumRows())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, array.Equal) {
				t.Error("the rows differ from those of a file that was read")
			}
		})
	}
}

func TestReadTakesFewRequests(t *testing.T) {
	cases := []struct {
		name            string
		requests, depth int
	}{
		// All of a small file has been read when it was opened.
		{"vectors_v22", 0, 0}, {"vectors_wide_v22", 0, 0}, {"nested_v22", 0, 0},
		// Of a larger file, one request reads the adjacent pages outside of the tail.
		{"typical_v22", 1, 1}, {"codecs_v22", 1, 1}, {"typical_v20", 1, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			fx := openFixture(t, "testdata/native/"+c.name+".lance")
			store := faultstore.New(fx.file.store, nil)
			fx.file.store = store
			if _, err := fx.file.ReadRange(ctx, fx.fields, 0, fx.file.NumRows()); err != nil {
				t.Fatal(err)
			}
			got := store.Recorder.Snapshot()
			if got.Requests > c.requests || got.Depth > c.depth {
				t.Errorf("scan: got %d requests %d deep, want %d, %d:\n%v", got.Requests, got.Depth, c.requests, c.depth, got.Log)
			}
		})
	}
}

func TestOpenRefusesOtherVersions(t *testing.T) {
	data, err := os.ReadFile("testdata/native/vectors_v22.lance")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []lance.Version{{Major: 0, Minor: 1}, {Major: 0, Minor: 2}, {Major: 2, Minor: 3}, {Major: 3, Minor: 0}} {
		other := slices.Clone(data)
		binary.LittleEndian.PutUint16(other[len(other)-8:], v.Major)
		binary.LittleEndian.PutUint16(other[len(other)-6:], v.Minor)
		if _, err := openBytes(other); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("version %s: got error %v, want ErrUnsupported", v, err)
		}
	}
}

// readAll opens a data file and reads some of each field, which must not take the
// process down whatever the bytes are.
func readAll(data []byte) error {
	f, err := openBytes(data)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := f.Schema(ctx)
	if err != nil {
		return err
	}
	var errs []error
	to := min(f.NumRows(), 2000)
	for i := range s.Fields {
		got, err := f.ReadRange(ctx, s.Fields[i:i+1], to/3, to)
		errs = append(errs, err)
		if err == nil {
			errs = append(errs, check(got[0]))
		}
		if to > 10 {
			_, err = f.Take(ctx, s.Fields[i:i+1], []int64{1, 4, 5, to - 1})
			errs = append(errs, err)
		}
	}
	_ = f.BytesPerRow(s.Fields)
	return errors.Join(errs...)
}

func TestDamagedFilesAreErrorsNotPanics(t *testing.T) {
	for _, fx := range fixtures(t) {
		data, err := os.ReadFile("testdata/native/" + fx.name + ".lance")
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fx.name, func(t *testing.T) {
			rng := rand.New(rand.NewSource(1))
			for range 60 {
				if err := readAll(data[:rng.Intn(len(data))]); !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
					t.Errorf("cut short: got error %v", err)
				}
			}
			for range 150 {
				damaged := slices.Clone(data)
				for range 1 + rng.Intn(4) {
					// The second half holds the metadata, where damage does most.
					at := len(data) - 1 - rng.Intn(len(data))*rng.Intn(len(data))/len(data)
					damaged[at] ^= 1 << rng.Intn(8)
				}
				if err := readAll(damaged); err != nil && !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
					t.Errorf("damaged: got error %v", err)
				}
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	paths, err := filepath.Glob("testdata/golden/*.lance")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	blobs, err := filepath.Glob("testdata/matrix/blobs*.lance")
	if err != nil || len(blobs) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	paths = append(append(paths, blobs...), "testdata/native/nested_v22.lance", "testdata/native/compressed_v22.lance")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(smallV20(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readAll(data); err != nil && !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("got error %v, want ErrCorrupt or ErrUnsupported", err)
		}
	})
}

// smallV20 returns a data file of version 2.0.
func smallV20(t testing.TB) []byte {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	rows := `[{"i": 1, "s": "ab", "l": ["x", null], "v": [1, 2]}, {}, {"i": 3, "s": "", "l": [], "v": [3, null]}]`
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	data, _ := writeFile(t, schema, lance.V2_0, batch)
	return data
}

func TestOpenOfAWholeFileTakesOneRequest(t *testing.T) {
	file, err := os.ReadFile("testdata/native/typical_v22.lance") // larger than its tail
	if err != nil {
		t.Fatal(err)
	}
	store := faultstore.New(memstore.New(), nil)
	if _, err := store.Put(t.Context(), "f.lance", file, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name     string
		size     int64
		limit    int64 // of memory
		requests int
	}{
		{"all of it is read when it is opened", int64(len(file)), 64 << 20, 1},
		{"of a file of unknown size the tail is read first", 0, 64 << 20, 2},
		{"without memory for all of it the tail is read first", int64(len(file)), int64(len(file)) - 1, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			share := account.NewBudget(c.limit, c.limit).Open()
			defer share.Close()
			ctx := account.WithShare(t.Context(), share)
			store.Reset()
			f, err := OpenWhole(ctx, store, "f.lance", c.size)
			if err != nil {
				t.Fatal(err)
			}
			if held := share.Held(); held != 0 {
				t.Errorf("the open file holds %d bytes of the request's share", held)
			}
			if c.limit < int64(len(file)) {
				if f.MemBytes() > int64(len(file)) {
					t.Errorf("the open file takes %d bytes", f.MemBytes())
				}
				return
			}
			if f.IsHeld() != (c.requests == 1) {
				t.Errorf("the open file holds all bytes: %t", f.IsHeld())
			}
			s, err := f.Schema(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.ReadRange(ctx, s.Fields[:1], 0, f.NumRows()); err != nil {
				t.Fatal(err)
			}
			if got := store.Snapshot(); got.Requests != c.requests {
				t.Errorf("%d requests, want %d: %v", got.Requests, c.requests, got.Log)
			}
		})
	}
}
