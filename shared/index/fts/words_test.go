package fts

import (
	"errors"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/lance"
)

const metadataFile = "metadata.lance"

// asked returns the question for the rows that contain the words.
func asked(words ...string) (q index.Question) {
	for _, word := range words {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(word)
		bound := index.Bound{Value: b.NewArray()}
		q.All = append(q.All, index.Question{Ranges: []index.Range{{From: bound, To: bound}}})
	}
	return q
}

func TestSearchesFindTheRowsOfWords(t *testing.T) {
	all, _ := indextest.Segments(t, metadataFile)
	leftOut := 0
	for _, f := range all {
		r, err := Open(t.Context(), f, arrow.BinaryTypes.String)
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		rows := func(words ...string) int64 {
			found, err := r.Search(t.Context(), asked(words...))
			if err != nil || found.Exact {
				t.Fatalf("%s: %q: exact %t, error %v", f.Prefix, words, found.Exact, err)
			}
			return found.Rows.Len()
		}
		one, other, both := rows("alpha"), rows("ray"), rows("alpha", "ray")
		if one == 0 || other == 0 || both > min(one, other) || rows("alpha", "nowhere") != 0 {
			t.Errorf("%s: %d and %d rows have one of two words, and %d both", f.Prefix, one, other, both)
		}
		cost, err := r.Cost(asked("gamma"))
		if err != nil {
			t.Fatal(err)
		}
		if cost.Pages < math.MaxInt32 {
			continue
		}
		leftOut++
		if _, err := r.Search(t.Context(), asked("gamma")); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("%s: a word that is left out: got %v, want lance.ErrUnsupported", f.Prefix, err)
		}
	}
	if leftOut == 0 {
		t.Error("no segment leaves out a word")
	}
}

// Whatever is in the file that describes a segment, reading it ends, within a bound of memory.
func FuzzRead(f *testing.F) {
	all, files := indextest.Segments(f, metadataFile)
	folder := map[string][]byte{}
	for _, name := range []string{metadataFile, "part_0_tokens.lance", "part_0_docs.lance", "part_0_invert.lance"} {
		if folder[name] = files[all[0].Prefix+"/"+name]; folder[name] == nil {
			f.Fatalf("%s has no file %s", all[0].Prefix, name)
		}
	}
	f.Add(folder[metadataFile], "alpha")
	f.Fuzz(func(t *testing.T, data []byte, word string) {
		ctx := indextest.Bounded(t)
		s := indextest.FolderOf(t, map[string][]byte{
			metadataFile: data, "part_0_tokens.lance": folder["part_0_tokens.lance"],
			"part_0_docs.lance": folder["part_0_docs.lance"], "part_0_invert.lance": folder["part_0_invert.lance"],
		})
		r, err := Open(ctx, s, arrow.BinaryTypes.String)
		if err != nil {
			return
		}
		_, _ = r.Search(ctx, asked(word))
	})
}
