package inverted

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/inverted/fst"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// many writes a segment of count documents with the terms every1, every1000 …, by the distance of the documents with a
// term. A document has a random length, and its row is twice its number. Each term is up to three times in a document.
func many(t testing.TB, blockSize, count int, every ...int) indextest.Output {
	t.Helper()
	random, out := rand.New(rand.NewPCG(1, uint64(count))), indextest.NewOutput(t)
	lengths, total := make([]uint32, count), int64(0)
	for i := range lengths {
		if lengths[i] = 3 + random.Uint32N(60); i%1000 == 7 {
			lengths[i] = 200 + random.Uint32N(200)
		}
		total += int64(lengths[i])
	}
	p := plain(blockSize, false)
	e := newListEncoder(coding{block: blockSize, varint: true}, corpus{documents: count, average: float32(total) / float32(count)}, false)
	terms, named := fst.NewBuilder(), map[string]int{}
	for _, step := range every {
		named[fmt.Sprint("every", step)] = step
	}
	for _, term := range slices.Sorted(maps.Keys(named)) {
		step := named[term]
		terms.Add(term)
		e.begin(uint32((count + step - 1) / step))
		for i := 0; i < count; i += step {
			e.document(uint32(i), 1+max(random.Uint32N(100), 97)-97, lengths[i])
			e.endDocument()
		}
		e.end()
	}
	names := partition{}
	schema := listSchema(false, formsOf(&p))
	rows := make([]uint64, count)
	for i := range rows {
		rows[i] = 2 * uint64(i)
	}
	docs := documentSchema(total, false)
	for _, err := range []error{
		writeFile(t.Context(), out, names.name("invert"), e.rows(schema)),
		writeTokens(t.Context(), out, names, tokens{automaton: terms.Finish(), count: uint32(len(every)), bytes: 1}),
		writeFile(t.Context(), out, names.name("docs"), array.NewRecordBatch(docs, []arrow.Array{uint64s(rows), uint32s(lengths)}, int64(count))),
		Describe(t.Context(), &p, []uint64{0}, out),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// withoutPromise removes from a segment the promise that documents are distinct, which native Lance does not give.
func withoutPromise(t testing.TB, out indextest.Output) indextest.Output {
	t.Helper()
	file, err := out.Open(t.Context(), metadataFile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := file.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	words := maps.Clone(s.Metadata)
	if words[distinctKey] == "" {
		t.Fatalf("the metadata %v has no %s", words, distinctKey)
	}
	delete(words, distinctKey)
	metadata := arrow.MetadataFrom(words)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Uint32}}, &metadata)
	if err := writeFile(t.Context(), out, metadataFile, array.NewRecordBatch(schema, []arrow.Array{uint32s([]uint32{1})}, 1)); err != nil {
		t.Fatal(err)
	}
	return out
}

// A search whose documents are paged finds what one finds that has all documents in memory.
func TestPagedDocumentsAreTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{128, 256} {
		const count = 70_000
		out := many(t, size, count, 1, 3, 100, 5000)
		whole, err := open(t.Context(), out, Expected{}, wholeUpTo{documents: count, termBytes: math.MaxInt64})
		if err != nil {
			t.Fatal(err)
		}
		kept := out.Folder
		for round := range 2 {
			if kept.Kept = nil; round == 1 {
				kept.Kept = &indextest.Kept{Bytes: 1 << 30, Values: map[string]any{}}
			}
			paged, err := open(t.Context(), kept, Expected{}, wholeUpTo{})
			if err != nil {
				t.Fatal(err)
			}
			if !paged.isPaged() || whole.isPaged() {
				t.Fatal("the test has no paged and no whole documents")
			}
			wantCount, wantLength := whole.Documents()
			if gotCount, gotLength := paged.Documents(); gotCount != wantCount || gotLength != wantLength {
				t.Errorf("%d documents of %d terms, want %d of %d", gotCount, gotLength, wantCount, wantLength)
			}
			for range 12 {
				b := Bound{AverageLength: 1 + random.Float32()*60}
				terms := []string{"every1", "every100", "every3", "every5000"}
				random.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
				terms = terms[:1+random.IntN(4)]
				for range terms {
					b.Weights = append(b.Weights, random.Float32()*4)
				}
				if random.IntN(2) == 0 {
					b.Required = [][]int{{random.IntN(len(terms))}}
				}
				for _, prune := range []bool{true, false} {
					if !prune && round == 0 {
						continue // each document would be located by a read of its own
					}
					want, _ := best(t.Context(), t, whole, terms, b, 10, prune)
					got, _ := best(t.Context(), t, paged, terms, b, 10, prune)
					if !slices.Equal(got, want) {
						t.Fatalf("blocks of %d: best of %q with %+v: got %v, want %v", size, terms, b, got, want)
					}
				}
			}
		}
	}
}

// All rows and lengths come page by page as they are.
func TestPagedDocumentsAreLocatedTogether(t *testing.T) {
	const count = 70_000
	out := many(t, 128, count, 1, 3)
	r, err := open(t.Context(), out, Expected{}, wholeUpTo{})
	if err != nil {
		t.Fatal(err)
	}
	matches, err := r.Find(t.Context(), []string{"every3"}, false)
	if err != nil {
		t.Fatal(err)
	}
	store := &objectstore.Usage{}
	ctx := objectstore.WithUsage(t.Context(), store)
	matches[0].partition.files = indextest.Folder{Store: objectstore.Counting(out.Store), Prefix: out.Prefix}
	if matches[0].partition.columns, err = matches[0].partition.documentColumns(ctx); err != nil {
		t.Fatal(err)
	}
	opened := store.Requests()
	var numbers []int64
	rows, elements, seen := make([]uint64, MostLocated), make([]uint32, MostLocated), 0
	locate := func() {
		if err := matches[0].Locate(ctx, numbers, rows, elements); err != nil {
			t.Fatal(err)
		}
		for i, n := range numbers {
			if rows[i] != 2*uint64(n) || n != int64(3*seen) {
				t.Fatalf("document %d is of row %d, the one numbered %d", n, rows[i], seen)
			}
			seen++
		}
		numbers = numbers[:0]
	}
	if err := matches[0].EachUnmeasured(ctx, func(d *Document) error {
		if numbers = append(numbers, d.Number); len(numbers) == MostLocated {
			locate()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	locate()
	if want := (count + 2) / 3; seen != want {
		t.Errorf("%d documents, want %d", seen, want)
	}
	if n := store.Requests() - opened; n > 20 {
		t.Errorf("%d requests locate all documents, want few with further pages each", n)
	}
	err = matches[0].Locate(ctx, []int64{count}, rows, elements)
	if !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("a document after the last is located: %v", err)
	}
}

// A searchCost is what a cold search reads after the segment is open, and how much memory it holds at most.
type searchCost struct{ bytes, requests, held int64 }

// costOf searches count documents for a term in 1,000 of them and one in 50,000.
func costOf(t testing.TB, count int) searchCost {
	t.Helper()
	common, rare := count/50_000, count/1000
	out := many(t, 128, count, common, rare)
	usage, budget := &objectstore.Usage{}, memory.NewBudget(1<<30, 1<<30)
	share := budget.Open()
	defer share.Close()
	ctx := memory.WithShare(objectstore.WithUsage(t.Context(), usage), share)
	r, err := Open(ctx, indextest.Folder{Store: objectstore.Counting(out.Store), Prefix: out.Prefix}, Expected{})
	if err != nil {
		t.Fatal(err)
	}
	bytes, requests := usage.Bytes(), usage.Requests()
	terms := []string{fmt.Sprint("every", common), fmt.Sprint("every", rare)}
	if hits, _ := best(ctx, t, r, terms, Bound{Weights: []float32{3, 9}, AverageLength: 32}, 10, true); len(hits) != 10 {
		t.Fatalf("%d documents found, want 10", len(hits))
	}
	return searchCost{usage.Bytes() - bytes, usage.Requests() - requests, share.Peak()}
}

// The memory of a cold search does not grow with the number of documents. It reads about a byte for each at most, and
// the rows of those that may be among the best.
func TestSearchesOfManyDocumentsReadFew(t *testing.T) {
	const count = 8_000_000
	few, many := costOf(t, count/2), costOf(t, count)
	if many.held > few.held+few.held/4 {
		t.Errorf("a search of %d documents holds %d bytes, one of half as many %d", count, many.held, few.held)
	}
	if many.bytes > count+count/2 {
		t.Errorf("a search of %d documents reads %d bytes", count, many.bytes)
	}
}

func BenchmarkSearchOfManyDocuments(b *testing.B) {
	for _, count := range []int{1_000_000, 10_000_000, 100_000_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			var c searchCost
			for range b.N {
				c = costOf(b, count)
			}
			b.ReportMetric(float64(c.bytes), "read-bytes")
			b.ReportMetric(float64(c.requests), "requests")
			b.ReportMetric(float64(c.held), "held-bytes")
		})
	}
}

// Without the promise that documents are distinct, the rows of paged documents are checked.
func TestPagedDocumentsAreDistinct(t *testing.T) {
	out := withoutPromise(t, many(t, 128, 70_000, 3))
	if _, err := open(t.Context(), out, Expected{}, wholeUpTo{}); err != nil {
		t.Error(err)
	}
	rows, lengths := make([]uint64, 70_000), make([]uint32, 70_000)
	for i := range rows {
		rows[i], lengths[i] = uint64(i/69_999*30+i%69_999), 1 // the last is of row 30
	}
	docs := array.NewRecordBatch(documentSchema(70_000, false), []arrow.Array{uint64s(rows), uint32s(lengths)}, 70_000)
	if err := writeFile(t.Context(), out, "part_0_docs.lance", docs); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), out, Expected{}, wholeUpTo{}); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("several documents of a row: %v", err)
	}
	if _, err := open(t.Context(), out, Expected{Distinct: true}, wholeUpTo{}); err != nil {
		t.Errorf("a promise of the caller: %v", err)
	}
}
