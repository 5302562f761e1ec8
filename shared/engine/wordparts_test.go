package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
)

var wordSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "title", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

// wordsOf returns rows as JSON, with words of different frequencies, and many texts of equal scores. Each has words that
// only it has.
func wordsOf(from, to int, random *rand.Rand) string {
	rows := make([]string, 0, to-from)
	for id := from; id < to; id++ {
		words := []string{fmt.Sprintf("only%d", id), fmt.Sprintf("hash%x", random.Uint64())}
		for range random.IntN(12) {
			words = append(words, fmt.Sprintf("word%d", int(random.ExpFloat64()*6)))
		}
		text := fmt.Sprintf("%q", strings.Join(words, " "))
		if id%29 == 0 {
			text = "null"
		}
		rows = append(rows, fmt.Sprintf(`{"id":%d,"text":%s,"title":"word%d","v":[%v,%v]}`, id, text, id%5, random.Float32(), random.Float32()))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// A partitioned index of texts has a segment with several partitions of the same number of rows.
type partitioned struct {
	indexbuild.Index
	partitions int64
}

func (p partitioned) Resolve(d *dataset.Dataset) (segments.NewIndex, error) {
	wanted, err := p.Index.Resolve(d)
	if err != nil {
		return wanted, err
	}
	parts, err := p.Divide(d)
	wanted.Build = func(ctx context.Context, out *segments.Files) error {
		var joined []index.Joined
		for n := range p.partitions {
			rows := func(fragment uint64) (from, to int64) {
				all := d.Fragments()[fragment].Rows
				return all * n / p.partitions, all * (n + 1) / p.partitions
			}
			shard, err := parts.Shard(ctx, rows, "", index.Staged{}, segmentFiles{out})
			if err != nil {
				return err
			}
			joined = append(joined, index.Joined{Partitions: shard.Partitions})
		}
		return parts.(index.Whole).Complete(ctx, joined, segmentFiles{out})
	}
	return wanted, err
}

// segmentFiles are the files of a segment that is built.
type segmentFiles struct{ *segments.Files }

func (f segmentFiles) Create(ctx context.Context, name string, columns *arrow.Schema) (index.FileWriter, error) {
	return f.Files.Create(ctx, name, columns)
}

// createWorded creates a table whose texts have an index of two segments, the first with five partitions. It lacks the last
// rows, and has some that are deleted.
func createWorded(t *testing.T) *engine.Table { return createWordedOf(t, dataset.CreateOptions{}) }

func createWordedOf(t *testing.T, opts dataset.CreateOptions) *engine.Table {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	table := enginetest.CreateOf(t, enginetest.Rows(t, wordSchema, wordsOf(0, 2000, random)), opts)
	insert := func(from, to int) {
		if _, err := table.Insert(t.Context(), enginetest.Rows(t, wordSchema, wordsOf(from, to, random))); err != nil {
			t.Fatal(err)
		}
	}
	insert(2000, 3000)
	if _, err := table.Delete(t.Context(), "id % 11 = 3"); err != nil {
		t.Fatal(err)
	}
	params := fulltext.DefaultParams()
	params.WithPosition = true
	built := partitioned{indexbuild.Index{Name: "words", Column: "text", Kind: indexmeta.Text, Params: params}, 5}
	if _, err := indices.Create(t.Context(), table, built); err != nil {
		t.Fatal(err)
	}
	insert(3000, 3500)
	if !opts.StableRowIDs { // with them, the index would be built again
		all := func(context.Context, *dataset.Dataset, segments.Fold) (bool, error) { return true, nil }
		if _, err := maintenance.FoldIndex(t.Context(), table, "", all, indexbuild.Extender{}); err != nil {
			t.Fatal(err)
		}
	}
	insert(3500, 3700)
	if _, err := table.Delete(t.Context(), "id % 17 = 4"); err != nil {
		t.Fatal(err)
	}
	return table
}

// wordQueries are searches of the index that are divided.
func wordQueries() map[string]*query.Query {
	words := func(text string, q query.Query) *query.Query {
		q.Text, q.Columns = wordQuery(text).Text, []query.Column{{Name: "id"}}
		q.WithRowID = true
		if q.Limit == nil {
			q.Limit = new(int64(10))
		}
		return &q
	}
	const two = `{"query":"word3 word12","columns":["text"]}`
	return map[string]*query.Query{
		"any":                  words(two, query.Query{}),
		"without a column":     words(`{"query":"word3 word12"}`, query.Query{}),
		"all":                  words(`{"query":{"match":{"terms":"word1 word4 word9","column":"text","operator":"And"}}}`, query.Query{}),
		"more than there are":  words(`{"query":"word25 word30","columns":["text"]}`, query.Query{Limit: new(int64(2000))}),
		"one of each":          words(`{"query":"only77 only2077 only3077 only3577 nowhere","columns":["text"]}`, query.Query{}),
		"skipped":              words(two, query.Query{Offset: 7}),
		"only what is indexed": words(two, query.Query{FastSearch: true}),
		"filtered":             words(two, query.Query{Filter: "id % 3 = 1", Prefilter: true}),
		"filtered to none":     words(two, query.Query{Filter: "id < 0", Prefilter: true}),
		"filtered late":        words(two, query.Query{Filter: "id % 3 = 1 AND _score > 1", Limit: new(int64(40))}),
		"sorted":               words(two, query.Query{Order: []query.Order{{Column: "id", Descending: true}}}),
		"boosted":              words(`{"query":{"match":{"terms":"word2 word3","column":"text","boost":2.5}}}`, query.Query{}),
		"demoted":              words(`{"query":{"boost":{"positive":{"match":{"terms":"word2","column":"text"}},"negative":{"match":{"terms":"word1","column":"text"}},"negative_boost":0.3}}}`, query.Query{}),
		"boolean": words(`{"query":{"boolean":{"must":[{"match":{"terms":"word1","column":"text"}}],
			"should":[{"match":{"terms":"word7 word8","column":"text"}}],"must_not":[{"match":{"terms":"word2","column":"text"}}]}}}`, query.Query{}),
		"several of a column": words(`{"query":{"multi_match":{"match_queries":[{"terms":"word3","column":"text"},{"terms":"word5 word6","column":"text","boost":0.5}]}}}`, query.Query{}),
		"phrase":              words(`{"query":{"phrase":{"terms":"word1 word2","column":"text"}}}`, query.Query{}),
		"loose phrase":        words(`{"query":{"phrase":{"terms":"word1 word3","column":"text","slop":3}}}`, query.Query{}),
		"fuzzy":               words(`{"query":{"match":{"terms":"wird12 word3","column":"text","fuzziness":1}}}`, query.Query{}),
		"fuzzy all":           words(`{"query":{"match":{"terms":"wird1 wurd3","column":"text","fuzziness":1,"operator":"And"}}}`, query.Query{}),
		"fuzzy with a prefix": words(`{"query":{"match":{"terms":"only2400 word2","column":"text","fuzziness":2,"prefix_length":5}}}`, query.Query{}),
		"few expansions":      words(`{"query":{"match":{"terms":"only2400","column":"text","fuzziness":2,"max_expansions":7}}}`, query.Query{}),
		"one expansion":       words(`{"query":{"match":{"terms":"wird12","column":"text","fuzziness":1,"max_expansions":1}}}`, query.Query{}),
		"expansions of two": words(`{"query":{"boolean":{"should":[{"match":{"terms":"only40 wird2","column":"text","fuzziness":2,"max_expansions":3}},
			{"match":{"terms":"only400","column":"text","fuzziness":1,"max_expansions":20}},{"match":{"terms":"word20 nowhere","column":"text"}}]}}}`, query.Query{}),
		"fuzzy, not there": words(`{"query":{"boolean":{"must":[{"match":{"terms":"zzzzzzzzz","column":"text","fuzziness":1,"operator":"And"}}],
			"should":[{"match":{"terms":"word2","column":"text"}}]}}}`, query.Query{}),
	}
}

func TestADividedSearchForWordsHasTheSameAnswer(t *testing.T) {
	queries := wordQueries()
	hybrid := *queries["filtered"]
	hybrid.Nearest, hybrid.Fusion = &query.Nearest{Vectors: [][]float64{{.5, .5}}}, query.Fusion{K: 60, Vector: 1, Text: 1}
	queries["hybrid"] = &hybrid
	for _, table := range []*engine.Table{createWorded(t), createWordedOf(t, dataset.CreateOptions{StableRowIDs: true})} {
		for name, q := range queries {
			want := enginetest.Show(t, table, q)
			for _, most := range []int{1, 2, 3, 100} {
				var e elsewhere
				got := enginetest.Show(t, e.spread(table, most), q)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, in %d parts (-whole +divided):\n%s", name, most, diff)
				}
				if n := len(wordParts(&e)); n < 2 && name != "fuzzy, not there" && name != "one of each" {
					t.Errorf("%s, in %d parts: %d parts searched the index", name, most, n)
				}
			}
		}
	}
}

// The parts of both halves of a hybrid search are as many at the same time as those of another query.
func TestHalvesOfAHybridSearchShareTheirParts(t *testing.T) {
	table := createWorded(t)
	q := *wordQueries()["any"]
	q.Nearest, q.Fusion = &query.Nearest{Vectors: [][]float64{{.5, .5}}}, query.Fusion{K: 60, Vector: 1, Text: 1}
	var e elsewhere
	divided := e.spread(table, 100)
	var running, most atomic.Int64
	e.before = func(int) error {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
		return nil
	}
	enginetest.Show(t, divided, &q)
	if n := len(wordParts(&e)); n < 2 || len(e.parts)-n < 2 || most.Load() > 3 {
		t.Errorf("%d parts for words of %d, %d at the same time, want at most 3", n, len(e.parts), most.Load())
	}
}

// wordParts are the parts that searched for words.
func wordParts(e *elsewhere) (parts []query.Part) {
	for _, p := range e.parts {
		if p.Kind == "words" {
			parts = append(parts, p)
		}
	}
	return parts
}

func TestPartitionsOfWordsAreInOnePartEach(t *testing.T) {
	table := createWorded(t)
	var e elsewhere
	enginetest.Show(t, e.spread(table, 100), wordQueries()["any"])
	seen, bySegment := map[string]bool{}, map[string]int{}
	for _, p := range e.parts {
		for _, s := range p.Words.Segments {
			for _, place := range s.Places {
				name := fmt.Sprint(s.Segment, place)
				if seen[name] {
					t.Errorf("partition %d of %s is in two parts", place, s.Segment)
				}
				seen[name] = true
				bySegment[s.Segment]++
			}
		}
	}
	if len(bySegment) != 2 || len(seen) != 6 || len(e.parts) != len(seen) {
		t.Errorf("%d partitions of %v in %d parts, want five and one, each in a part", len(seen), bySegment, len(e.parts))
	}
}

// Some searches are not divided, because a part could not score its documents, or because all documents are asked for.
func TestSearchesForWordsThatAreNotDivided(t *testing.T) {
	table := createWorded(t)
	if _, err := indices.Create(t.Context(), table, indexbuild.Index{Name: "titles", Column: "title", Kind: indexmeta.Text, Params: fulltext.DefaultParams()}); err != nil {
		t.Fatal(err)
	}
	unlimited := *wordQueries()["any"]
	unlimited.Limit = nil
	queries := map[string]*query.Query{"no limit": &unlimited}
	for name, text := range map[string]string{
		"two columns":             `{"query":{"multi_match":{"match_queries":[{"terms":"word3","column":"text"},{"terms":"word3","column":"title"}]}}}`,
		"columns as one":          `{"query":{"combined_fields":{"terms":"word3","columns":["text","title"]}}}`,
		"a column as one":         `{"query":{"combined_fields":{"terms":"word3","columns":["text"]}}}`,
		"a column without a term": `{"query":"zzzz","columns":["text"]}`,
	} {
		queries[name] = wordQuery(text)
		queries[name].Limit, queries[name].Columns = new(int64(10)), []query.Column{{Name: "id"}}
	}
	for name, q := range queries {
		var e elsewhere
		if diff := cmp.Diff(enginetest.Show(t, table, q), enginetest.Show(t, e.spread(table, 5), q)); diff != "" || len(wordParts(&e)) > 0 {
			t.Errorf("%s, %d parts (-whole +divided):\n%s", name, len(wordParts(&e)), diff)
		}
	}
	// Little is read for rare words.
	var e elsewhere
	e.on = table
	few := table.SpreadWith(&query.Spread{Call: e.call, Bytes: 17_000, PartBytes: 100, Most: 9})
	for _, text := range []string{"word30", "word30 only7", "word1"} {
		q := wordQuery(fmt.Sprintf(`{"query":%q,"columns":["text"]}`, text))
		q.Limit, q.Columns, e.parts = new(int64(10)), []query.Column{{Name: "id"}}, nil
		if diff := cmp.Diff(enginetest.Show(t, table, q), enginetest.Show(t, few, q)); diff != "" || (len(wordParts(&e)) > 0) != (text == "word1") {
			t.Errorf("%q in %d parts (-whole +divided):\n%s", text, len(wordParts(&e)), diff)
		}
	}
}

func TestSearchesForWordsThatRunNowhere(t *testing.T) {
	table := createWorded(t)
	for name, q := range wordQueries() {
		want := enginetest.Show(t, table, q)
		for _, refused := range []error{errNowhere, errCrowded, errBusy} {
			for _, first := range []int{0, 1} {
				var e elsewhere
				divided := e.spread(table, 5)
				e.before = func(n int) error {
					if n >= first && n < first+2 {
						return refused
					}
					return nil
				}
				if diff := cmp.Diff(want, enginetest.Show(t, divided, q)); diff != "" {
					t.Errorf("%s, some parts are refused: %v (-want +got):\n%s", name, refused, diff)
				}
			}
		}
	}
	refused := protocol.Errorf(protocol.PermissionDenied, "no longer permitted")
	var e elsewhere
	divided := e.spread(table, 5)
	e.before = func(n int) error {
		if n == 1 {
			return refused
		}
		return nil
	}
	if _, err := divided.Query(t.Context(), engine.AsOf{}, wordQueries()["any"]); !errors.Is(err, refused) {
		t.Errorf("a right was revoked in between: got %v", err)
	}
}

func TestThePlanShowsThePartsOfASearchForWords(t *testing.T) {
	table := createWorded(t)
	var e elsewhere
	plan, err := e.spread(table, 3).Analyze(t.Context(), engine.AsOf{}, wordQueries()["any"])
	for _, want := range []string{"parts=3", "partitions=", "slowest_part=", "parts_bytes_read="} {
		if err != nil || !strings.Contains(plan, want) {
			t.Errorf("got %v, without %s:\n%s", err, want, plan)
		}
	}
	if strings.Contains(plan, "index_partitions=") {
		t.Errorf("what was read here is in the plan:\n%s", plan)
	}
}

// firstWordPart returns a part of a search for words that has rows of a filter.
func firstWordPart(t *testing.T, table *engine.Table) []byte {
	t.Helper()
	var e elsewhere
	enginetest.Show(t, e.spread(table, 2), wordQueries()["filtered"])
	text, err := json.Marshal(e.parts[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBadPartsOfWordsAreRefused(t *testing.T) {
	table := createWorded(t)
	good := firstWordPart(t, table)
	for name, c := range map[string]struct {
		change func(*query.Part)
		code   protocol.Code
	}{
		"no words":                {func(p *query.Part) { p.Words = nil }, protocol.InvalidInput},
		"rows, too":               {func(p *query.Part) { p.Stretches = []query.Stretch{{To: 5}} }, protocol.InvalidInput},
		"another kind":            {func(p *query.Part) { p.Kind = "rows" }, protocol.InvalidInput},
		"probes, too":             {func(p *query.Part) { p.Probes = &query.Probes{Index: "words"} }, protocol.InvalidInput},
		"no text":                 {func(p *query.Part) { p.Query.Text = nil }, protocol.InvalidInput},
		"a vector":                {func(p *query.Part) { p.Query.Nearest = &query.Nearest{} }, protocol.InvalidInput},
		"a filter":                {func(p *query.Part) { p.Query.Filter = "id > 3" }, protocol.InvalidInput},
		"no limit":                {func(p *query.Part) { p.Query.Limit = nil }, protocol.InvalidInput},
		"a limit of 0":            {func(p *query.Part) { p.Query.Limit = new(int64(0)) }, protocol.InvalidInput},
		"a limit too far":         {func(p *query.Part) { p.Query.Limit = new(int64(1 << 40)) }, protocol.InvalidInput},
		"no segments":             {func(p *query.Part) { p.Words.Segments = nil }, protocol.InvalidInput},
		"no partitions":           {func(p *query.Part) { p.Words.Segments[0].Places = nil }, protocol.InvalidInput},
		"a partition below 0":     {func(p *query.Part) { p.Words.Segments[0].Places = []int{-1} }, protocol.InvalidInput},
		"a partition twice":       {func(p *query.Part) { p.Words.Segments[0].Places = []int{0, 0} }, protocol.InvalidInput},
		"no documents":            {func(p *query.Part) { p.Words.Counts.Documents = 0 }, protocol.InvalidInput},
		"no length":               {func(p *query.Part) { p.Words.Counts.Length = 0 }, protocol.InvalidInput},
		"no terms":                {func(p *query.Part) { p.Words.Counts.Terms, p.Words.Counts.Holding = nil, nil }, protocol.InvalidInput},
		"a count too few":         {func(p *query.Part) { p.Words.Counts.Holding = p.Words.Counts.Holding[1:] }, protocol.InvalidInput},
		"a count below 0":         {func(p *query.Part) { p.Words.Counts.Holding[0] = -1 }, protocol.InvalidInput},
		"more than all documents": {func(p *query.Part) { p.Words.Counts.Holding[0] = p.Words.Counts.Documents + 1 }, protocol.InvalidInput},
		"another index":           {func(p *query.Part) { p.Words.Index = "titles" }, protocol.Unsupported},
		"another segment":         {func(p *query.Part) { p.Words.Segments[0].Segment = "x" }, protocol.Unsupported},
		"a segment twice":         {func(p *query.Part) { p.Words.Segments = append(p.Words.Segments, p.Words.Segments[0]) }, protocol.Unsupported},
		"an unknown partition":    {func(p *query.Part) { p.Words.Segments[0].Places = []int{99} }, protocol.Unsupported},
		"other terms":             {func(p *query.Part) { p.Words.Counts.Terms[0] = "word8" }, protocol.Unsupported},
		"another column":          {func(p *query.Part) { p.Query.Text = wordQuery(`{"query":"word3 word12","columns":["title"]}`).Text }, protocol.Unsupported},
		"an unknown column":       {func(p *query.Part) { p.Query.Text = wordQuery(`{"query":"word3 word12","columns":["x"]}`).Text }, protocol.TableColumnNotFound},
	} {
		var p query.Part
		if err := json.Unmarshal(good, &p); err != nil {
			t.Fatal(err)
		}
		c.change(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := query.ParsePart(text)
		if err == nil {
			_, err = table.Part(t.Context(), sent)
		}
		if protocol.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want the code %v", name, err, c.code)
		}
	}
}

// Counts and rows that a caller makes up give him scores of his own, but no other rows.
func TestMadeUpPartsOfWordsFindRowsOfTheTable(t *testing.T) {
	table := createWorded(t)
	good := firstWordPart(t, table)
	rows := map[string]bool{} // row ids, which are addresses here
	for _, line := range enginetest.Show(t, table, &query.Query{Columns: []query.Column{{Name: "id"}}, WithRowID: true}) {
		_, address, _ := strings.Cut(line, "_rowid=")
		rows[address] = true
	}
	for name, change := range map[string]func(*query.Words){
		"as it is": func(*query.Words) {},
		"all rows": func(w *query.Words) { w.Among = nil },
		"rare words": func(w *query.Words) {
			w.Counts.Documents, w.Counts.Length, w.Counts.Holding = 1<<62, 1<<62, []int64{0, 0}
		},
		"words of all":    func(w *query.Words) { w.Counts.Documents, w.Counts.Length, w.Counts.Holding = 1, 1, []int64{1, 1} },
		"very long texts": func(w *query.Words) { w.Counts.Length = 1<<63 - 1 },
		"all rows of all fragments": func(w *query.Words) {
			for fragment := range uint64(100) {
				w.Among.AddRange(fragment, 0, 1<<20)
			}
		},
	} {
		var p query.Part
		if err := json.Unmarshal(good, &p); err != nil {
			t.Fatal(err)
		}
		change(p.Words)
		answer, err := table.Part(t.Context(), &p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := 0
		for batch, err := range answer.Batches {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(batch.NumRows()) {
				if found++; !rows[batch.Column(1).ValueStr(i)] {
					t.Errorf("%s: row %s is not one of the table", name, batch.Column(1).ValueStr(i))
				}
			}
		}
		if found != 10 {
			t.Errorf("%s: %d rows were found, want 10", name, found)
		}
	}
}

// A view cannot be searched for words, nor can a part that somebody sends.
func TestPartsOfWordsAreNotSeenThroughViews(t *testing.T) {
	table := createWorded(t)
	seen, err := selection.Parse("SELECT id FROM words WHERE id % 2 = 0")
	if err != nil {
		t.Fatal(err)
	}
	viewed := table.WithView(seen)
	var counting elsewhere
	if _, err := counting.spread(viewed, 3).Count(t.Context(), engine.AsOf{}, "id >= 0"); err != nil {
		t.Fatal(err)
	}
	var p query.Part
	if err := json.Unmarshal(firstWordPart(t, table), &p); err != nil {
		t.Fatal(err)
	}
	p.View = counting.parts[0].View
	if _, err := viewed.Part(t.Context(), &p); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("got %v, want InvalidInput", err)
	}
}

// All parts score by the same counts, which are those of the whole index.
func TestPartsOfWordsHaveTheCountsOfTheIndex(t *testing.T) {
	table := createWorded(t)
	var e elsewhere
	enginetest.Show(t, e.spread(table, 100), wordQueries()["any"])
	for _, p := range e.parts {
		if diff := cmp.Diff(e.parts[0].Words.Counts, p.Words.Counts); diff != "" {
			t.Errorf("counts differ:\n%s", diff)
		}
	}
	counts := e.parts[0].Words.Counts
	if counts.Documents < 3000 || counts.Documents > 3500 || !slices.Equal(counts.Terms, []string{"word3", "word12"}) || slices.Min(counts.Holding) < 100 {
		t.Errorf("got %+v", counts)
	}
}
