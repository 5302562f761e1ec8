package fm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/lance/datafile"
	ourmemory "tiltyard/shared/process/memory"
)

// asked returns the question for the rows that contain the patterns.
func asked(patterns ...string) (q index.Question) {
	for _, pattern := range patterns {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(pattern)
		bound := index.Bound{Value: b.NewArray()}
		q.All = append(q.All, index.Question{Ranges: []index.Range{{From: bound, To: bound}}})
	}
	return q
}

// rowsOf yields texts, nil for NULL, whose addresses count up by 3, in batches of some rows.
func rowsOf(texts []*string, atOnce int) iter.Seq2[arrow.RecordBatch, error] {
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "row", Type: arrow.PrimitiveTypes.Uint64}}, nil)
	return func(yield func(arrow.RecordBatch, error) bool) {
		row := uint64(0)
		for some := range slices.Chunk(texts, atOnce) {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			for _, text := range some {
				if text == nil {
					b.Field(0).AppendNull()
				} else {
					b.Field(0).(*array.StringBuilder).Append(*text)
				}
				b.Field(1).(*array.Uint64Builder).Append(row)
				row += 3
			}
			if !yield(b.NewRecordBatch(), nil) {
				return
			}
		}
	}
}

func randomTexts(random *rand.Rand, n int, letters string) []*string {
	texts := make([]*string, n)
	for i := range texts {
		if random.IntN(8) == 0 {
			continue
		}
		var b strings.Builder
		for range random.IntN(40) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		text := b.String()
		texts[i] = &text
	}
	return texts
}

func TestSearchesFindTheRowsOfPatterns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		rows    int
		letters string
	}{{0, "a"}, {1, "ab"}, {500, "a"}, {2000, "ab"}, {3000, "abc \x00"}, {2*partitionRows + 7, "abcdefghij 0123456789\xc3\xa9"}} {
		texts := randomTexts(random, c.rows, c.letters)
		out := indextest.NewOutput(t)
		if err := Build(t.Context(), arrow.BinaryTypes.String, rowsOf(texts, 300), out); err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), out.Folder, arrow.BinaryTypes.String)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			var patterns []string
			for range 1 + random.IntN(2) {
				pattern := make([]byte, 1+random.IntN(5))
				for i := range pattern {
					pattern[i] = c.letters[random.IntN(len(c.letters))]
				}
				patterns = append(patterns, string(pattern))
			}
			checkSearch(t, r, texts, patterns)
		}
	}
}

// Joined partitions give the same answers as a build of all rows. Empty partitions are dropped.
func TestJoinsPutPartitionsTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	texts := randomTexts(random, 3*partitionRows, "abc d")
	for i := range 2 * partitionRows {
		texts[partitionRows/2+i] = nil
	}
	for _, c := range []struct {
		name  string
		texts []*string
		want  int
	}{{"all", texts, 4}, {"none", texts[partitionRows/2 : 2*partitionRows], 1}} {
		all := slices.Collect(func(yield func(arrow.RecordBatch) bool) {
			for batch, err := range rowsOf(c.texts, partitionRows/4) {
				if err != nil {
					t.Fatal(err)
				}
				if !yield(batch) {
					return
				}
			}
		})
		join := func(yield func(*datafile.File, error) bool) {
			for some := range slices.Chunk(all, 1) {
				out := indextest.NewOutput(t)
				rows := func(yield func(arrow.RecordBatch, error) bool) { yield(some[0], nil) }
				if err := Build(t.Context(), arrow.BinaryTypes.String, rows, out); err != nil {
					t.Fatal(err)
				}
				if !yield(out.Open(t.Context(), FileName(0))) {
					return
				}
			}
		}
		out := indextest.NewOutput(t)
		if err := Join(t.Context(), join, out); err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), out.Folder, arrow.BinaryTypes.String)
		if err != nil || len(r.partitions) != c.want {
			t.Fatalf("%s: got %d partitions, %v; want %d", c.name, len(r.partitions), err, c.want)
		}
		for range 20 {
			pattern := make([]byte, 1+random.IntN(5))
			for i := range pattern {
				pattern[i] = "abc d"[random.IntN(5)]
			}
			checkSearch(t, r, c.texts, []string{string(pattern)})
		}
	}
	lost := errors.New("lost")
	if err := Join(t.Context(), func(yield func(*datafile.File, error) bool) { yield(nil, lost) }, indextest.NewOutput(t)); !errors.Is(err, lost) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// checkSearch compares a search with a look at all texts.
func checkSearch(t *testing.T, r *Reader, texts []*string, patterns []string) {
	t.Helper()
	got, err := r.Search(t.Context(), asked(patterns...))
	if err != nil {
		t.Fatal(err)
	}
	spaces := func(s string) string { return strings.ReplaceAll(s, "\x00", " ") }
	for i, text := range texts {
		want, may := text != nil, text != nil
		for _, pattern := range patterns {
			want = want && strings.Contains(*text, pattern)
			may = may && strings.Contains(spaces(*text), spaces(pattern))
		}
		has := got.Rows.Contains(3 * uint64(i))
		if want && !has || got.Exact && has && !want || has && !may && got.Exact {
			t.Fatalf("%q: row %d: found is %t, want %t; exact is %t", patterns, i, has, want, got.Exact)
		}
	}
	if cost, err := r.Cost(asked(patterns...)); err != nil || cost.Pages != got.Pages {
		t.Errorf("%q: cost %+v of %d pages; error %v", patterns, cost, got.Pages, err)
	}
}

// Finding the places of a pattern that is everywhere takes longer than to look at the texts.
func TestSearchesForWhatIsEverywhereEnd(t *testing.T) {
	text := strings.Repeat("ab", 1000)
	texts := slices.Repeat([]*string{&text}, 100)
	none := "c"
	texts[7] = &none
	out := indextest.NewOutput(t)
	if err := Build(t.Context(), arrow.BinaryTypes.String, rowsOf(texts, 10), out); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), out.Folder, arrow.BinaryTypes.String)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Search(t.Context(), asked("ab"))
	if err != nil || got.Exact || got.Rows.Len() != 100 {
		t.Errorf("got %d rows, exact %t, error %v; want all 100, not exact", got.Rows.Len(), got.Exact, err)
	}
	if got, err = r.Search(t.Context(), asked("c")); err != nil || !got.Exact || got.Rows.Len() != 1 {
		t.Errorf("got %d rows, exact %t, error %v; want one", got.Rows.Len(), got.Exact, err)
	}
}

// The same texts make the same tree and samples as in native Lance.
func TestPartitionsAreThoseOfNativeLance(t *testing.T) {
	all, _ := indextest.Segments(t, "part_0_fm.lance")
	for _, f := range all {
		r, err := Open(t.Context(), f, arrow.BinaryTypes.String)
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		for _, p := range r.partitions {
			b, err := p.read(t.Context())
			if err != nil {
				t.Fatalf("%s: %s: %v", f.Prefix, p.name, err)
			}
			made, samples, err := transform(t.Context(), textOf(p, b))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(made.shape(), p.head.shape) || !reflect.DeepEqual(made.codes, b.tree.codes) || made.before != b.tree.before {
				t.Errorf("%s: %s: another tree", f.Prefix, p.name)
			}
			for i := range made.nodes {
				if !slices.Equal(made.nodes[i].bits.words, b.tree.nodes[i].bits.words) {
					t.Errorf("%s: %s: other bits of node %d", f.Prefix, p.name, i)
				}
			}
			if !slices.EqualFunc(samples, b.samples, func(x uint64, y uint32) bool { return x == uint64(y) }) {
				t.Errorf("%s: %s: other samples", f.Prefix, p.name)
			}
			for value, n := range made.before {
				if int64(n) != p.head.before[value] {
					t.Errorf("%s: %s: %d bytes before %d, want %d", f.Prefix, p.name, n, value, p.head.before[value])
				}
			}
		}
	}
}

// textOf returns the text of a partition: each suffix but the one that is the whole text has a byte
// before it.
func textOf(p *partition, b *body) []byte {
	text := make([]byte, p.head.size)
	suffix := 0 // of the byte at the end
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = byte(slices.IndexFunc(b.tree.before[1:], func(n int) bool { return n > suffix }))
		suffix = b.tree.previous(suffix)
	}
	return text
}

func TestCodesOfRareBytesAreNotTooLong(t *testing.T) {
	var counts [256]int
	a, b := 1, 1
	for value := range 40 {
		counts[value], a, b = a, b, a+b
	}
	tree := newTree(counts)
	for value, n := range counts {
		if have := len(tree.codes[value]); (n > 0) != (have > 0) || have > maxDepth {
			t.Errorf("byte %d: a code of %d bits", value, have)
		}
	}
}

// A build in little memory makes smaller partitions.
func TestBuildsKeepToTheirMemory(t *testing.T) {
	texts := randomTexts(rand.New(rand.NewPCG(3, 4)), 9000, "abcdefgh")
	for i := range texts {
		text := strings.Repeat(fmt.Sprint(i, "x"), 60)
		texts[i] = &text
	}
	share := ourmemory.NewBudget(8<<20, 8<<20).Open()
	defer share.Close()
	out := indextest.NewOutput(t)
	if err := Build(ourmemory.WithShare(t.Context(), share), arrow.BinaryTypes.String, rowsOf(texts, 100), out); err != nil {
		t.Fatal(err)
	}
	if n := len(out.Names()); n < 3 {
		t.Errorf("%d partitions, want several", n)
	}
	if held := share.Held(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
	r, err := Open(t.Context(), out.Folder, arrow.BinaryTypes.String)
	if err != nil {
		t.Fatal(err)
	}
	checkSearch(t, r, texts, []string{"77x"})
}

func TestBuildEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	texts := randomTexts(rand.New(rand.NewPCG(5, 6)), 30_000, "abc")
	rows := func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rowsOf(texts, 12_000) {
			if !yield(batch, err) {
				return
			}
			cancel()
		}
	}
	if err := Build(ctx, arrow.BinaryTypes.String, rows, indextest.NewOutput(t)); err == nil {
		t.Error("a build that is cancelled succeeds")
	}
}

// Whatever the text, its suffixes are put in order.
func FuzzSortSuffixes(f *testing.F) {
	f.Add([]byte("mississippi"))
	f.Add([]byte("aaaaaaaaaaaaaa"))
	f.Add([]byte("abababab\xff\xffba"))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = append(bytes.ReplaceAll(text, []byte{0}, []byte{1}), 0)
		order := make([]int32, len(text))
		if err := sortSuffixes(t.Context(), text, 256, order); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(order); i++ {
			if bytes.Compare(text[order[i-1]:], text[order[i]:]) >= 0 {
				t.Fatalf("%q: suffix %d is not before %d", text, order[i-1], order[i])
			}
		}
	})
}

// Whatever is in the file of a partition, reading it ends, within a bound of memory.
func FuzzRead(f *testing.F) {
	const name = "part_0_fm.lance"
	all, files := indextest.Segments(f, name)
	for _, s := range all {
		f.Add(files[s.Prefix+"/"+name], "alpha")
	}
	f.Fuzz(func(t *testing.T, data []byte, pattern string) {
		ctx, s := indextest.Bounded(t), indextest.FolderOf(t, map[string][]byte{name: data})
		r, err := Open(ctx, s, arrow.BinaryTypes.String)
		if err != nil {
			return
		}
		_, _ = r.Search(ctx, asked(pattern, "a"))
	})
}

// For any metadata of a file, a search stays within its limits.
func FuzzPartition(f *testing.F) {
	text := "one\xfftwo two\xff\x00"
	made, samples, err := transform(f.Context(), []byte(text))
	if err != nil {
		f.Fatal(err)
	}
	var words []uint64
	for _, n := range made.nodes {
		words = append(words, n.bits.words...)
	}
	f.Add(made.shape(), encoded(words), encoded(samples), len(text), "two")
	f.Fuzz(func(t *testing.T, shape, words, samples []byte, size int, pattern string) {
		ctx := indextest.Bounded(t)
		tree, err := parseShape(shape)
		if err != nil || size < 0 || size > 1<<16 {
			return
		}
		h := &head{size: size, samples: (size + sampleRate - 1) / sampleRate, rows: []uint64{1, 2}, starts: []int64{0, int64(size / 2)}}
		p, b := &partition{head: h}, &body{tree: tree, samples: make([]uint32, 0, h.samples)}
		bits, sizes := numbers[uint64](words), map[child]int{0: size}
		for i := range tree.nodes { // each of the size that its parent needs
			v := &tree.nodes[i].bits
			v.size = sizes[child(i)]
			n := min((v.size+63)/64, len(bits))
			v.words, bits = bits[:n:n], bits[n:]
			if v.finish(ctx) != nil {
				return
			}
			for bit, c := range tree.nodes[i].children {
				sizes[c] = v.count(bit, v.size)
			}
		}
		if p.addSamples(b, samples[:len(samples)/wordBytes*wordBytes]) != nil || len(b.samples) != h.samples {
			return
		}
		if tree.finish(ctx, size) != nil || slices.ContainsFunc(b.samples, func(at uint32) bool { return int(at) >= size }) {
			return
		}
		steps := 1 << 12
		if _, _, err := p.textsWith(ctx, b, pattern, &steps); err != nil {
			t.Fatal(err)
		}
	})
}
