package inverted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/inverted/fst"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// plain are parameters of an index that keeps words as they are.
func plain(blockSize int, positions bool) fulltext.Params {
	p := fulltext.DefaultParams()
	p.Stem, p.RemoveStopWords, p.WithPosition, p.BlockSize = false, false, positions, blockSize
	return p
}

// randomTexts returns random texts whose words have different frequencies. An empty text has no words.
func randomTexts(r *rand.Rand, count int) []string {
	texts := make([]string, count)
	for i := range texts {
		var words []string
		for range r.IntN(40) {
			words = append(words, fmt.Sprintf("w%d", int(r.ExpFloat64()*8)))
		}
		if i%97 == 5 {
			words = append(words, slices.Repeat([]string{"w1"}, 100+r.IntN(400))...)
		}
		texts[i] = strings.Join(words, " ")
	}
	return texts
}

// build builds a segment of texts, by several goroutines.
func build(ctx context.Context, t testing.TB, p fulltext.Params, texts []string) indextest.Output {
	t.Helper()
	analyzer, err := fulltext.NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	out := indextest.NewOutput(t)
	b := NewBuilder(ctx, analyzer, out)
	defer b.Release()
	var group sync.WaitGroup
	errs := make(chan error, len(texts))
	const batch = 50
	for from := 0; from < len(texts); from += batch {
		group.Go(func() {
			part := texts[from:min(from+batch, len(texts))]
			numbers := make([]uint64, len(part))
			for i := range numbers {
				numbers[i] = uint64(from + i)
			}
			errs <- b.Add(ctx, Documents{Rows: numbers, Text: func(row int) (string, bool) { return part[row], from+row == 7 }})
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return out
}

// holdersOf returns who has the terms of texts.
func holdersOf(texts []string) map[string][]holder {
	found := map[string][]holder{}
	for row, text := range texts {
		words := strings.Fields(text)
		at := map[string][]int{}
		for i, w := range words {
			at[w] = append(at[w], i)
		}
		for w, positions := range at {
			if row != 7 {
				found[w] = append(found[w], holder{row, len(words), positions})
			}
		}
	}
	return found
}

// found returns who has some terms by a segment, in the order of the rows.
func found(ctx context.Context, t testing.TB, r *Reader, terms []string, positions bool) [][]holder {
	t.Helper()
	matches, err := r.Find(ctx, terms, positions)
	if err != nil {
		t.Fatal(err)
	}
	got := make([][]holder, len(terms))
	for _, m := range matches {
		err := m.Each(ctx, func(d *Document) error {
			for i, n := range d.Frequencies {
				if n == 0 {
					continue
				}
				row, _ := locate(ctx, t, m, d)
				h := holder{row: int(row), length: int(d.Length), positions: make([]int, n)}
				if positions {
					h.positions = slices.Clone(d.Positions[i])
				}
				got[i] = append(got[i], h)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, holders := range got {
		slices.SortFunc(holders, func(a, b holder) int { return a.row - b.row })
	}
	return got
}

func TestBuilderKeepsTheTermsOfItsTexts(t *testing.T) {
	texts := randomTexts(rand.New(rand.NewPCG(1, 2)), 6000)
	want := holdersOf(texts)
	terms := append(slices.Sorted(maps.Keys(want)), "nowhere")
	for _, blockSize := range []int{128, 256} {
		for _, positions := range []bool{false, true} {
			t.Run(fmt.Sprint(blockSize, positions), func(t *testing.T) {
				r, err := Open(t.Context(), build(t.Context(), t, plain(blockSize, positions), texts), Expected{})
				if err != nil {
					t.Fatal(err)
				}
				if r.Partitions() != 1 {
					t.Errorf("%d partitions, want 1", r.Partitions())
				}
				for i, holders := range found(t.Context(), t, r, terms, positions) {
					compare(t, terms[i], holders, want[terms[i]], positions, blockSize == maxBlock)
				}
				var listed []string
				if err := r.Terms(t.Context(), func(term []byte) error { listed = append(listed, string(term)); return nil }); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(listed, terms[:len(terms)-1]) {
					t.Errorf("%d terms are listed, want %d", len(listed), len(terms)-1)
				}
			})
		}
	}
}

// A segment that is larger than the memory it is built in has several partitions.
func TestBuilderKeepsToItsMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	texts := make([]string, 20_000)
	for i := range texts {
		texts[i] = fmt.Sprintf("all%d %d-%d", i%3, r.Uint64(), r.Uint64())
	}
	want := holdersOf(slices.Collect(func(yield func(string) bool) {
		for _, text := range texts {
			yield(strings.ReplaceAll(text, "-", " "))
		}
	}))
	const limit = 12 << 20
	share := memory.NewBudget(limit, limit).Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	out := build(ctx, t, plain(128, true), texts)
	if share.Held() != 0 {
		t.Errorf("the build holds %d bytes in the end", share.Held())
	}
	reader, err := Open(t.Context(), out, Expected{})
	if err != nil {
		t.Fatal(err)
	}
	if reader.Partitions() < 2 {
		t.Errorf("%d partitions, want several", reader.Partitions())
	}
	terms := slices.Sorted(maps.Keys(want))
	for i, holders := range found(t.Context(), t, reader, terms, true) {
		compare(t, terms[i], holders, want[terms[i]], true, false)
	}
}

func TestBuilderEndsWithItsContext(t *testing.T) {
	analyzer, err := fulltext.NewAnalyzer(plain(128, false))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	b := NewBuilder(ctx, analyzer, indextest.NewOutput(t))
	defer b.Release()
	stop()
	err = b.Add(ctx, Documents{Rows: []uint64{1}, Text: func(int) (string, bool) { return strings.Repeat("word ", 1<<20), false }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
}

func TestOpenReadsAnEmptySegment(t *testing.T) {
	r, err := Open(t.Context(), build(t.Context(), t, plain(128, false), []string{"", " . "}), Expected{})
	if err != nil {
		t.Fatal(err)
	}
	if count, _ := r.Documents(); count != 0 || r.Partitions() != 0 {
		t.Errorf("%d documents in %d partitions, want none", count, r.Partitions())
	}
}

// Each element of a list is a document, also one without terms.
func TestDocumentsAreElementsOfLists(t *testing.T) {
	p := plain(128, false)
	p.DocumentGranularity = fulltext.ListElements
	analyzer, err := fulltext.NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"red fox", "", "blue fox fox", "red"}
	segmentOf := func(rows []uint64, elements []uint32) (*Reader, error) {
		out := indextest.NewOutput(t)
		b := NewBuilder(t.Context(), analyzer, out)
		defer b.Release()
		if err := b.Add(t.Context(), Documents{Rows: rows, Elements: elements, Text: func(i int) (string, bool) { return texts[i], false }}); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), out, Expected{}); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("elements of lists are read as rows: %v", err)
		}
		return Open(t.Context(), out, Expected{Elements: true})
	}
	r, err := segmentOf([]uint64{4, 4, 4, 9}, []uint32{0, 1, 2, 0})
	if err != nil {
		t.Fatal(err)
	}
	if count, length := r.Documents(); count != 4 || length != 6 {
		t.Errorf("%d documents of %d terms, want 4 of 6", count, length)
	}
	matches, err := r.Find(t.Context(), []string{"fox"}, false)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		Row         uint64
		Element     uint32
		Frequencies []uint32
	}
	var got []place
	err = matches[0].Each(t.Context(), func(d *Document) error {
		row, element := locate(t.Context(), t, matches[0], d)
		got = append(got, place{row, element, slices.Clone(d.Frequencies)})
		return nil
	})
	want := []place{{4, 0, []uint32{1}}, {4, 2, []uint32{2}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := segmentOf([]uint64{4, 4, 4, 9}, []uint32{0, 1, 1, 0}); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("an element with several documents is read: %v", err)
	}
}

// nativeTerms returns the bytes of the automaton of a segment.
func nativeTerms(t testing.TB, segment indextest.Folder) []byte {
	t.Helper()
	file, err := segment.Open(t.Context(), "part_0_tokens.lance")
	if err != nil {
		t.Fatal(err)
	}
	c, err := index.ColumnsOf(t.Context(), file, automatonColumn)
	if err != nil {
		t.Fatal(err)
	}
	read, err := c.Read(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return read[0].(interface{ Value(int) []byte }).Value(0)
}

// The automaton of native Lance has the checksum that the builder writes.
func TestChecksumsAreThoseOfNativeLance(t *testing.T) {
	segments, _, _ := native(t)
	for name, segment := range segments {
		data := nativeTerms(t, segment)
		body := data[:len(data)-4]
		if got, want := fst.Checksum(body), (&reader{data: data[len(data)-4:]}).uint32(); got != want {
			t.Errorf("%s: checksum %x, want %x", name, got, want)
		}
	}
}

// Blocks that are encoded decode to themselves.
func FuzzEncode(f *testing.F) {
	f.Add(uint64(1), 128, 3, false)
	f.Add(uint64(2), 256, 1<<20, true)
	f.Add(uint64(3), 77, 1<<31, false)
	f.Fuzz(func(t *testing.T, seed uint64, n, most int, large bool) {
		c := coding{block: 128, varint: true}
		if large {
			c.block = maxBlock
		}
		if n < 1 || n > c.block || most < 1 || most > 1<<31 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		want, at := block{}, uint64(0)
		for range n {
			if at += 1 + r.Uint64N(uint64(most)); at > 1<<32-1 {
				return
			}
			frequency := 1 + uint32(r.ExpFloat64())
			if r.IntN(20) == 0 {
				frequency = 1 + r.Uint32N(uint32(most))
			}
			want.documents, want.frequencies = append(want.documents, uint32(at)), append(want.frequencies, frequency)
		}
		got := block{documents: make([]uint32, 0, c.block), frequencies: make([]uint32, 0, c.block)}
		if err := c.decode(c.encode(nil, &want), n, &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.documents, want.documents) || !slices.Equal(got.frequencies, want.frequencies) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
