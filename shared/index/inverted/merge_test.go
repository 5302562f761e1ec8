package inverted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// partitionsOf writes texts as partitions with the given sizes and numbers. If documents are list elements,
// each row has three.
func partitionsOf(ctx context.Context, t testing.TB, p fulltext.Params, texts []string, sizes []int, numbers []uint64, out index.Output) {
	t.Helper()
	analyzer, err := fulltext.NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for i, size := range sizes {
		b := NewBuilder(ctx, analyzer, out)
		b.NumberFrom(numbers[i])
		var d Documents
		from := row
		for range size {
			if p.OfElements() {
				d.Rows, d.Elements = append(d.Rows, uint64(row/3)), append(d.Elements, uint32(row%3))
			} else {
				d.Rows = append(d.Rows, uint64(row))
			}
			row++
		}
		d.Text = func(i int) (string, bool) { return texts[from+i], false }
		if err := b.Add(ctx, d); err != nil {
			t.Fatal(err)
		}
		made, sizes, err := b.Flush(ctx)
		if err != nil || len(made) != 1 || made[0] != numbers[i] || sizes.Bytes == 0 || sizes.Documents == 0 {
			t.Fatalf("made partitions %v of %+v, error %v", made, sizes, err)
		}
		b.Release()
	}
}

// sameFile compares two files of segments: their rows and metadata.
func sameFile(ctx context.Context, t *testing.T, name string, got, want *datafile.File) {
	t.Helper()
	gotSchema, err := got.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	wantSchema, err := want.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(gotSchema.Metadata) != fmt.Sprint(wantSchema.Metadata) || len(gotSchema.Fields) != len(wantSchema.Fields) {
		t.Errorf("%s: metadata %v, want %v", name, gotSchema.Metadata, wantSchema.Metadata)
	}
	if got.NumRows() != want.NumRows() {
		t.Fatalf("%s: %d rows, want %d", name, got.NumRows(), want.NumRows())
	}
	for i := range wantSchema.Fields {
		one, err := got.ReadRange(ctx, gotSchema.Fields[i:i+1], 0, got.NumRows())
		if err != nil {
			t.Fatal(err)
		}
		other, err := want.ReadRange(ctx, wantSchema.Fields[i:i+1], 0, got.NumRows())
		if err != nil {
			t.Fatal(err)
		}
		if !array.Equal(one[0], other[0]) {
			t.Errorf("%s: column %s differs", name, wantSchema.Fields[i].Name)
		}
	}
}

// A merge equals the output of one Builder for the same documents.
func TestMergedPartitionsAreWhatOneBuilderMakes(t *testing.T) {
	texts := randomTexts(rand.New(rand.NewPCG(5, 6)), 9000)
	texts[100] = strings.Repeat("long", 40_000) + " w1" // a term that walks of searches do not go along
	elements := plain(128, true)
	elements.DocumentGranularity = fulltext.ListElements
	whole := plain(128, true)
	whole.BaseTokenizer = "raw"
	for name, p := range map[string]fulltext.Params{
		"128": plain(128, false), "256": plain(256, false), "128 with positions": plain(128, true), "256 with positions": plain(256, true),
		"elements": elements, "raw": whole,
	} {
		t.Run(name, func(t *testing.T) {
			p.MaxTokenLength = nil
			share := memory.NewBudget(256<<20, 256<<20).Open()
			defer share.Close()
			ctx := memory.WithShare(t.Context(), share)
			out := indextest.NewOutput(t)
			partitionsOf(ctx, t, p, texts, []int{len(texts)}, []uint64{1}, out)
			sizes, numbers := []int{3000, 129, 1, 256, 14, 4000, 1600}, []uint64{12, 700, 13, 1 << 50, 14, 15, 16}
			partitionsOf(ctx, t, p, texts, sizes, numbers, out)
			postings := int64(0)
			if err := Merge(ctx, &p, Parts{out.Open, numbers}, 2, func(n int64) { postings += n }, out); err != nil {
				t.Fatal(err)
			}
			if held := share.Held(); held != 0 {
				t.Errorf("%d bytes of memory are still taken", held)
			}
			for _, part := range []string{"tokens", "invert", "docs"} {
				one, err := out.Open(t.Context(), fmt.Sprintf("part_1_%s.lance", part))
				if err != nil {
					t.Fatal(err)
				}
				other, err := out.Open(t.Context(), fmt.Sprintf("part_2_%s.lance", part))
				if err != nil {
					t.Fatal(err)
				}
				sameFile(t.Context(), t, part, other, one)
			}
			if postings < int64(len(texts)) {
				t.Errorf("%d postings were watched", postings)
			}
		})
	}
}

// damaged opens files, with the content of one of them replaced.
func damaged(t testing.TB, files indextest.Folder, name string, data []byte) func(ctx context.Context, name string) (*datafile.File, error) {
	t.Helper()
	store := memstore.New()
	if _, err := store.Put(t.Context(), name, data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, file string) (*datafile.File, error) {
		if file == name {
			return datafile.Open(ctx, store, name, 0, nil)
		}
		return files.Open(ctx, file)
	}
}

// Partitions that do not fit together are refused, and so is one that is not there.
func TestMergeRefusesWhatDoesNotFit(t *testing.T) {
	p := plain(128, true)
	out := indextest.NewOutput(t)
	texts := randomTexts(rand.New(rand.NewPCG(7, 8)), 400)
	partitionsOf(t.Context(), t, p, texts, []int{150, 250}, []uint64{1, 2}, out)
	partitionsOf(t.Context(), t, plain(256, true), texts, []int{150}, []uint64{3}, out)
	partitionsOf(t.Context(), t, plain(128, false), texts, []int{150}, []uint64{4}, out)
	swap := func(name string) func(ctx context.Context, name string) (*datafile.File, error) {
		data, _, err := out.Store.Get(t.Context(), path.Join(out.Prefix, strings.Replace(name, "part_1_", "part_2_", 1)))
		if err != nil {
			t.Fatal(err)
		}
		return damaged(t, out.Folder, name, data)
	}
	for name, parts := range map[string]Parts{
		"other blocks":       {out.Open, []uint64{1, 3}},
		"no positions":       {out.Open, []uint64{1, 4}},
		"no partitions":      {out.Open, nil},
		"terms of another":   {swap("part_1_tokens.lance"), []uint64{1, 2}},
		"lists of another":   {swap("part_1_invert.lance"), []uint64{1, 2}},
		"a partition is not": {out.Open, []uint64{1, 9}},
	} {
		err := Merge(t.Context(), &p, parts, 5, nil, out)
		if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, objectstore.ErrNotExist) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := Merge(ctx, &p, Parts{out.Open, []uint64{1, 2}}, 6, nil, out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
}

// Whatever is in a file of a partition, merging it ends, within a bound of memory.
func FuzzMergePartitions(f *testing.F) {
	p := plain(128, true)
	out := indextest.NewOutput(f)
	partitionsOf(f.Context(), f, p, randomTexts(rand.New(rand.NewPCG(9, 10)), 300), []int{140, 160}, []uint64{1, 2}, out)
	names := []string{"part_1_tokens.lance", "part_1_invert.lance", "part_1_docs.lance"}
	for i, name := range names {
		data, _, err := out.Store.Get(f.Context(), path.Join(out.Prefix, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
		f.Add(uint8(i), bytes.Replace(data, []byte{0, 0, 0, 1}, []byte{0, 0, 0xff, 1}, 1))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		ctx, made := indextest.Bounded(t), indextest.NewOutput(t)
		open := damaged(t, out.Folder, names[int(which)%len(names)], data)
		if err := Merge(ctx, &p, Parts{open, []uint64{1, 2}}, 3, nil, made); err != nil {
			return
		}
		if err := Describe(ctx, &p, []uint64{3}, made); err != nil {
			t.Fatal(err)
		}
		r, err := Open(ctx, made, Expected{})
		if err != nil {
			return // rows may be there twice
		}
		_ = r.Terms(ctx, func([]byte) error { return io.EOF })
	})
}
