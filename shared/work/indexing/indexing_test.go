package indexing_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/indexing"
)

var table = []string{"t"}

// house is a server and a worker over one storage.
type house struct {
	tables.Tables
	objects objectstore.Store
	worker  *jobs.Worker
	names   int
	seen    []string // the stages and parts that were run

	warnings []string // of indices that could not be used
}

// Write notes a warning of a reader.
func (h *house) Write(line []byte) (int, error) {
	h.warnings = append(h.warnings, string(line))
	return len(line), nil
}

func open(t testing.TB, objects objectstore.Store, sizes indexing.Sizes) *house {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{objects: objects}
	h.Tables = tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue),
		Logger: slog.New(slog.NewTextHandler(h, nil)),
	})
	h.worker = &jobs.Worker{
		Starter: *h.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Memory: memory.NewBudget(1<<30, 1<<30),
		Name:  func() string { h.names++; return fmt.Sprint(h.names) },
		Kinds: map[string]jobs.Kind{indexing.Kind: indexing.Create(h.Tables, sizes), indexing.FoldKind: indexing.Fold(h.Tables, sizes)},
	}
	return h
}

// schema has a column for each kind of index.
var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "v", Type: arrow.FixedSizeListOf(8, arrow.PrimitiveTypes.Float32), Nullable: true},
	{Name: "bytes", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Uint8), Nullable: true},
}, nil)

// rows returns n rows with ids from a number on.
func rows(from, n int) dataset.Rows {
	random := rand.New(rand.NewPCG(uint64(from), 1))
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	words := []string{"amber", "birch", "cedar", "dune", "ember", "fjord"}
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(from + i))
		list, vector := b.Field(3).(*array.ListBuilder), b.Field(4).(*array.FixedSizeListBuilder)
		bytes := b.Field(5).(*array.FixedSizeListBuilder)
		if random.IntN(10) == 0 {
			for _, f := range b.Fields()[1:] {
				f.AppendNull()
			}
			continue
		}
		b.Field(1).(*array.Int32Builder).Append(int32(random.IntN(50)))
		b.Field(2).(*array.StringBuilder).Append(words[random.IntN(6)] + " " + words[random.IntN(6)])
		list.Append(true)
		for range random.IntN(3) {
			list.ValueBuilder().(*array.StringBuilder).Append(words[random.IntN(6)])
		}
		vector.Append(true)
		for range 8 {
			vector.ValueBuilder().(*array.Float32Builder).Append(random.Float32())
		}
		bytes.Append(true)
		for range 2 {
			bytes.ValueBuilder().(*array.Uint8Builder).Append(uint8(random.Uint32()))
		}
	}
	batch := b.NewRecordBatch()
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// create makes a table of some fragments, in which rows are deleted.
func (h *house) create(t *testing.T, fragments ...int) {
	t.Helper()
	at, id := h.Names.Places.New(table), 0
	for i, n := range fragments {
		if i == 0 {
			if _, err := h.Rows.Table(table, at).Create(t.Context(), rows(id, n)); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Names.CreateTable(t.Context(), table, at, 1, nil); err != nil {
				t.Fatal(err)
			}
		} else {
			h.insert(t, id, n)
		}
		id += n
	}
	h.remove(t, "id % 7 = 3")
}

func (h *house) change(t *testing.T, work func(t *engine.Table) (engine.Written, error)) {
	t.Helper()
	if _, err := h.Open(table, "").Commit(t.Context(), func(t tables.Table) (engine.Written, error) { return work(t.Table) }); err != nil {
		t.Fatal(err)
	}
}

func (h *house) insert(t *testing.T, from, n int) {
	t.Helper()
	h.change(t, func(at *engine.Table) (engine.Written, error) { return at.Insert(t.Context(), rows(from, n)) })
}

func (h *house) remove(t *testing.T, predicate string) {
	t.Helper()
	h.change(t, func(at *engine.Table) (engine.Written, error) { return at.Delete(t.Context(), predicate) })
}

// at returns the table.
func (h *house) at(t *testing.T) *engine.Table {
	t.Helper()
	found, err := h.Names.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return h.At(found)
}

// begin begins a job.
func (h *house) begin(t *testing.T, n indexbuild.Index) string {
	t.Helper()
	begun, err := h.Jobs.Begin(t.Context(), indexing.Kind, table, indexing.NewOrder(n, ""))
	if err != nil {
		t.Fatal(err)
	}
	return begun.ID
}

// work does what all messages ask for, until there are no more. before is called before each.
func (h *house) work(t testing.TB, before func(m jobs.Message)) {
	t.Helper()
	for {
		ctx, done := context.WithTimeout(t.Context(), 200*time.Millisecond)
		d, err := h.Jobs.Queue.Receive(ctx, time.Hour)
		done()
		if err != nil {
			return
		}
		if before != nil {
			before(d.Message)
		}
		h.seen = append(h.seen, fmt.Sprintf("%s %d", d.Stage, d.Part))
		if err := h.worker.Do(t.Context(), d.Message); err != nil {
			t.Fatal(err)
		}
		if err := h.Jobs.Queue.Done(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// build builds an index, and returns what became of the job.
func (h *house) build(t *testing.T, n indexbuild.Index, before func(m jobs.Message)) *transaction.Transaction {
	t.Helper()
	id := h.begin(t, n)
	h.work(t, before)
	done, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil {
		t.Fatal(err)
	}
	if done.Status != transactionapi.Succeeded {
		t.Fatalf("%s: job %s in stage %s: %s", n.Name, done.Status, done.Work.Stage, done.Failure)
	}
	return done
}

// segments returns the files of the segments of an index.
func (h *house) segments(t *testing.T, name string) []map[string][]byte {
	t.Helper()
	return engineRead(t, h.at(t), func(ctx context.Context, d *dataset.Dataset) []map[string][]byte {
		found, err := d.Segments(name)
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string][]byte
		for _, s := range found {
			files := map[string][]byte{}
			for info, err := range objectstore.Objects(ctx, h.objects, objectstore.ListOptions{Prefix: h.folder(t) + "/_indices/" + s.UUID + "/"}) {
				if err != nil {
					t.Fatal(err)
				}
				if files[path.Base(info.Key)], _, err = h.objects.Get(ctx, info.Key); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, files)
		}
		return all
	})
}

func (h *house) folder(t *testing.T) string {
	t.Helper()
	found, err := h.Names.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return found.Location.Prefix
}

func engineRead[T any](t *testing.T, at *engine.Table, f func(ctx context.Context, d *dataset.Dataset) T) T {
	t.Helper()
	result, err := engine.Read(t.Context(), at, nil, func(ctx context.Context, d *dataset.Dataset) (T, error) { return f(ctx, d), nil })
	if err != nil {
		t.Fatal(err)
	}
	return result
}

var (
	large = indexing.Sizes{Time: time.Hour, Memory: 1 << 30}
	tiny  = indexing.Sizes{Time: time.Hour, Memory: 2000} // many shards, and one segment
	split = indexing.Sizes{Time: 10 * time.Microsecond, Memory: 500}
)

// orders is an index of each kind that sorts.
var orders = []indexbuild.Index{
	{Name: "btree", Column: "n", Kind: indexmeta.BTree},
	{Name: "btree of texts", Column: "s", Kind: indexmeta.BTree},
	{Name: "bitmap", Column: "n", Kind: indexmeta.Bitmap},
	{Name: "labels", Column: "tags", Kind: indexmeta.LabelList},
	{Name: "ngram", Column: "s", Kind: indexmeta.Ngram},
	vectors("IVF_FLAT"), vectors("IVF_SQ"), vectors("IVF_PQ"), vectors("IVF_RQ"), vectors("IVF_HNSW_SQ"),
	{Name: "bytes", Column: "bytes", Kind: indexmeta.Vector, Params: ivf.Recipe{Kind: "IVF_FLAT", Metric: "hamming", Partitions: 5}},
}

func vectors(kind string) indexbuild.Index {
	r := ivf.Recipe{Kind: kind, Metric: "l2", Partitions: 5}
	if kind == "IVF_PQ" {
		r.SubVectors, r.Bits = 2, 4
	}
	return indexbuild.Index{Name: kind, Column: "v", Kind: indexmeta.Vector, Params: r}
}

// An index that many workers build is the same to the byte as one that one worker builds.
func TestPartsMakeWhatOneWorkerMakes(t *testing.T) {
	objects := memstore.New()
	whole := open(t, objects, large)
	whole.create(t, 100, 37, 400, 1, 62)
	parts := open(t, objects, tiny)
	for _, n := range orders {
		t.Run(n.Name, func(t *testing.T) {
			done := whole.build(t, n, nil)
			if w := done.Work; w.Stage != "build" || n.Kind != indexmeta.Vector && done.Rows != 514 || len(whole.seen) != 1 {
				t.Errorf("one worker: stage %s, %d rows, parts %v", w.Stage, done.Rows, whole.seen)
			}
			want := whole.segments(t, n.Name)
			whole.seen = nil
			n.Replace, parts.seen = true, nil
			done = parts.build(t, n, nil)
			shards := slices.DeleteFunc(slices.Clone(parts.seen), func(s string) bool { return !strings.HasPrefix(s, "shards") })
			if w := done.Work; w.Stage != "commit" || len(shards) < 5 {
				t.Errorf("many workers: stage %s, parts %v", w.Stage, parts.seen)
			}
			got := parts.segments(t, n.Name)
			if len(got) != 1 || len(want) != 1 {
				t.Fatalf("%d segments, want 1", len(got))
			}
			for name, file := range want[0] {
				// The sum of all distances in this file depends on their order.
				if name != "index.idx" && !bytes.Equal(got[0][name], file) {
					t.Errorf("%s: %d bytes differ from %d", name, len(got[0][name]), len(file))
				}
			}
			if len(got[0]) != len(want[0]) {
				t.Errorf("%d files, want %d", len(got[0]), len(want[0]))
			}
		})
	}
}

// scores returns the rows with a word, and their scores.
func (h *house) scores(t *testing.T, word string) map[int64]float32 {
	t.Helper()
	rows, err := h.at(t).Query(t.Context(), engine.AsOf{}, &query.Query{
		Text: &queryapi.FullTextQuery{Columns: []string{"s"}, Text: word}, Columns: []query.Column{{Name: "id"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	scores := map[int64]float32{}
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		ids := batch.Column(0).(*array.Int64)
		for i := range int(batch.NumRows()) {
			scores[ids.Value(i)] = batch.Column(1).(*array.Float32).Value(i)
		}
	}
	return scores
}

// nearest returns the rows nearest to a vector, with an index or without.
func (h *house) nearest(t *testing.T, without bool) []int64 {
	t.Helper()
	rows, err := h.at(t).Query(t.Context(), engine.AsOf{}, &query.Query{
		Nearest: &query.Nearest{
			Vectors: [][]float64{{0.3, 0.5, 0.2, 0.7, 0.1, 0.6, 0.9, 0.4}}, Column: "v", MinProbes: 5, MaxProbes: 5, BypassIndex: without,
		},
		Limit: new(int64(40)), Columns: []query.Column{{Name: "id"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, batch.Column(0).(*array.Int64).Int64Values()...)
	}
	return ids
}

// covered checks that an index has so many segments, and leaves out no row.
func (h *house) covered(t *testing.T, name string, least, most int) {
	t.Helper()
	x, err := enginetest.Index(t.Context(), h.at(t), name)
	if err != nil || x.Unindexed != 0 || x.Segments < least || x.Segments > most {
		t.Errorf("%s: %d segments of %d rows, %d rows in none, error %v; want %d to %d segments of all rows", name, x.Segments, x.Indexed, x.Unindexed, err, least, most)
	}
}

// others is an index of each kind that does not sort.
var others = []indexbuild.Index{
	{Name: "zones", Column: "n", Kind: indexmeta.ZoneMap},
	{Name: "filters", Column: "n", Kind: indexmeta.BloomFilter},
	{Name: "words", Column: "s", Kind: indexmeta.Text, Params: fulltext.DefaultParams()},
	{Name: "pieces", Column: "s", Kind: indexmeta.FM},
}

// An index that many workers build has a measured recall, as one that one worker builds.
func TestPartsMeasureTheRecall(t *testing.T) {
	for name, sizes := range map[string]indexing.Sizes{"one worker": large, "many workers": {Time: time.Hour, Memory: 50_000}} {
		h := open(t, memstore.New(), sizes)
		h.create(t, 3000, 3000)
		h.build(t, vectors("IVF_PQ"), nil)
		if parts := len(h.seen); parts > 1 != (name == "many workers") {
			t.Errorf("%s: %d parts", name, parts)
		}
		x, err := enginetest.Index(t.Context(), h.at(t), "IVF_PQ")
		if err != nil {
			t.Fatal(err)
		}
		// All 5 partitions are probed, so that refining 500 of 5,400 rows finds nearly all.
		if r := x.Kind.Recall; r == nil || r.Searches[0].Recall >= 0.95 || r.Of(20, 50, 0).Recall < 0.95 {
			t.Errorf("%s: the recall is %+v", name, r)
		}
	}
}

func TestSegmentsOfPartsAnswerAsTheTableDoes(t *testing.T) {
	for _, n := range slices.Concat(orders, others) {
		if n.Column != "n" && n.Kind != indexmeta.Text && n.Kind != indexmeta.FM && n.Name != "IVF_FLAT" {
			continue
		}
		t.Run(n.Name, func(t *testing.T) {
			for name, sizes := range map[string]indexing.Sizes{"one segment": tiny, "many segments": split} {
				h := open(t, memstore.New(), sized(sizes, n))
				h.create(t, 100, 37, 400, 1, 62)
				h.build(t, n, nil)
				if wrong := h.check(t, n); wrong != "" {
					t.Errorf("%s: %s", name, wrong)
				}
				least, most := 1, 1
				if sizes == split && n.Kind != indexmeta.Text {
					least, most = 2, 5
				}
				h.covered(t, n.Name, least, most)
			}
		})
	}
}

// Joins merge the partitions of several shards.
func TestPartitionsOfTextsScoreAlike(t *testing.T) {
	whole, parts := open(t, memstore.New(), large), open(t, memstore.New(), tiny)
	for _, h := range []*house{whole, parts} {
		h.create(t, 100, 37, 400, 1, 62)
		h.build(t, others[2], nil)
	}
	stage := func(name string) (n int) {
		for _, s := range parts.seen {
			if strings.HasPrefix(s, name) {
				n++
			}
		}
		return n
	}
	shards, joins := stage("shards"), stage("join")
	if files := parts.segments(t, "words"); joins < 2 || shards <= joins || len(files) != 1 || len(files[0]) != 1+3*joins {
		t.Errorf("%d shards and %d joins made %d segments; want one of 3 files for each join and 1 for all", shards, joins, len(files))
	}
	want := whole.scores(t, "ember")
	if got := parts.scores(t, "ember"); !maps.Equal(got, want) || len(want) < 50 {
		t.Errorf("got %d rows, want %d with the same scores", len(got), len(want))
	}
}
