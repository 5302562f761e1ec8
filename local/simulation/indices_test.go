package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index"
	"tiltyard/shared/index/btree"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol/queryapi"
)

// indices are one of a table, which jobs build while rows come, change and go, others build an index
// of the same name, and jobs compact the table, extend its index and clean it up. The answers of
// operations tell little; the witness compares what the indices of each version find with its rows.
var indices = domain{
	name: "indices", setup: setupIndices, draw: drawIndices, finale: finishIndices, works: true, upkeep: cleanIndexed,
	look: func(o *witness) func(context.Context, *engine.Table, *dataset.Dataset) string { return o.lookAtIndices },
}

const indexedTable = "/v1/table/indexed/"

// wanted are indices, by their names. Each history is about one.
var wanted = map[string]map[string]any{
	"sorted": {"column": "n", "index_type": "BTREE"},
	"words":  {"column": "s", "index_type": "FTS"},
	"near":   {"column": "v", "index_type": "IVF_FLAT", "distance_type": "l2", "num_partitions": 3},
}

var indexNames = slices.Sorted(maps.Keys(wanted))

func (w *world) indexName() string { return indexNames[w.seed%uint64(len(indexNames))] }

func setupIndices(c *client) {
	c.do(anything("indices", "create a table", request{path: indexedTable + "create", body: indexedRows(0, 24)}))
	for i := range 2 {
		c.do(anything("indices", "insert rows", request{path: indexedTable + "insert", body: indexedRows(100*(i+1), 12)}))
	}
	c.do(c.buildIndex(false))
}

func drawIndices(c *client) *op {
	switch n := c.rng.IntN(24); n {
	case 0, 1:
		return c.buildIndex(c.rng.IntN(2) == 0)
	case 2, 3:
		return anything("indices", "insert rows", request{path: indexedTable + "insert", body: indexedRows(1000*c.value(), 1+c.rng.IntN(8))}, noColumn, invalid, badSchema)
	case 4:
		return deleteIndexed(fmt.Sprintf("id %% 7 = %d", c.rng.IntN(7)))
	case 5:
		return anything("indices", "update rows", post(indexedTable+"update", map[string]any{
			"predicate": fmt.Sprintf("id %% 5 = %d", c.rng.IntN(5)), "updates": [][2]string{{"n", fmt.Sprint(c.rng.IntN(9))}, {"s", "'ember'"}},
		}), noColumn, invalid)
	case 6:
		return c.maintain("indices", indexedTable, map[string]any{"compact": true, "indices": c.rng.IntN(2) == 0, "cleanup": c.rng.IntN(2) == 0})
	case 7:
		return anything("indices", "delete old versions", post(indexedTable+"version/delete", map[string]any{
			"ranges": []map[string]int{{"start_version": 1, "end_version": 2 + c.rng.IntN(12)}},
		}))
	case 8:
		if c.world.indexName() == "sorted" && c.rng.IntN(2) == 0 {
			c.do(anything("indices", "drop the column", post(indexedTable+"drop_columns", map[string]any{"columns": []string{"n"}}), invalid, noColumn))
			return remakeColumn()
		}
		name := c.world.indexName()
		return anything("indices", "drop index "+name, post(indexedTable+"index/"+name+"/drop", map[string]any{}), noIndex)
	}
	if o := c.drawWork("indices"); o != nil {
		return o
	}
	return c.buildIndex(c.rng.IntN(2) == 0)
}

// remakeColumn makes the column n anew, with values that no index knows.
func remakeColumn() *op {
	return anything("indices", "add the column", post(indexedTable+"add_columns", map[string]any{
		"new_columns": []map[string]string{{"name": "n", "expression": "cast((id + 4) % 9 as int)"}},
	}), badSchema)
}

const noIndex, indexExists, noColumn, badSchema = 6, 7, 12, 20

func deleteIndexed(predicate string) *op {
	return anything("indices", "delete rows with "+predicate, post(indexedTable+"delete", map[string]any{"predicate": predicate}))
}

func (c *client) buildIndex(replace bool) *op {
	name := c.world.indexName()
	body := maps.Clone(wanted[name])
	body["name"], body["replace"] = name, replace
	return c.beginning("indices", fmt.Sprintf("build index %s, replace %t", name, replace), post(indexedTable+"create_index", body), indexExists, noColumn, invalid)
}

func (c *client) maintain(domain, table string, order map[string]any) *op {
	return c.beginning(domain, fmt.Sprint("maintain ", order), post(table+"maintain", order))
}

// finishIndices lets all jobs end, and then builds the index anew, which covers all rows then.
func finishIndices(c *client) {
	fails := func(failure string) bool {
		return strings.Contains(failure, "there is such an index already") || strings.Contains(failure, "versions of the table were deleted") ||
			strings.Contains(failure, "column")
	}
	c.finishWork("indices", fails)
	c.do(remakeColumn())
	c.do(c.buildIndex(true))
	c.finishWork("indices", fails)
}

// cleanIndexed maintains the table. Then it has no file that it does not need.
func cleanIndexed(c *client) {
	c.do(c.maintain("indices", indexedTable, map[string]any{"compact": true, "indices": true, "cleanup": true, "older_than": "1h"}))
	c.workAll()
	c.world.witness.lookAtEnd(c.placeOf("indexed"))
}

// lookAtEnd looks at a table after its maintenance: its index covers all rows, and no file is left that
// no version needs.
func (o *witness) lookAtEnd(place string) {
	t := o.at(place)
	x, err := t.Index(background, nil, o.world.indexName())
	if err != nil || x.Unindexed != 0 {
		o.saw("in the end, the index covers all rows but %d, %v", x.Unindexed, err)
	}
	named := map[string]bool{}
	for _, key := range o.world.bucket.keys {
		if !strings.HasPrefix(key, place+"/_versions/") || !strings.HasSuffix(key, ".manifest") {
			continue
		}
		m, err := manifest.Parse(o.world.bucket.objects[key].data)
		if err != nil {
			o.saw("manifest %s: %v", key, err)
			return
		}
		entries, err := m.Indices()
		if err != nil {
			o.saw("manifest %s: %v", key, err)
		}
		for _, x := range entries {
			named[x.UUID.String()] = true
		}
		for _, f := range m.Fragments {
			for _, file := range f.Files {
				named[file.Path] = true
			}
		}
	}
	for _, key := range o.world.bucket.keys {
		switch rest, _ := strings.CutPrefix(key, place+"/"); {
		case strings.HasPrefix(rest, "_indices/") && !named[path.Base(path.Dir(key))], strings.HasPrefix(rest, "data/") && !named[path.Base(key)]:
			o.saw("%s is left behind", key)
		}
	}
}

var indexedSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "v", Type: arrow.FixedSizeListOf(4, arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

var someWords = []string{"amber", "birch", "ember", "fjord"}

// indexedRows encodes rows with ids from a number on, whose values follow from these.
func indexedRows(from, count int) []byte {
	b := array.NewRecordBuilder(memory.DefaultAllocator, indexedSchema)
	vectors := b.Field(3).(*array.FixedSizeListBuilder)
	for id := from; id < from+count; id++ {
		hash := id * 2654435761 >> 3
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		if hash%11 == 0 {
			for _, f := range b.Fields()[1:] {
				f.AppendNull()
			}
			continue
		}
		b.Field(1).(*array.Int32Builder).Append(int32(hash % 9))
		b.Field(2).(*array.StringBuilder).Append(someWords[hash%4] + " " + someWords[hash/4%4])
		vectors.Append(true)
		for i := range 4 {
			vectors.ValueBuilder().(*array.Float32Builder).Append(float32(hash >> i % 97))
		}
	}
	return encode(b.NewRecordBatch())
}

// An indexedRow is a row as a scan finds it.
type indexedRow struct {
	id, address int64
	n           int // -1 is NULL
	s           string
	v           []float32 // nil is NULL
}

// lookAtIndices compares what the indices of a version find with its rows.
func (o *witness) lookAtIndices(ctx context.Context, t *engine.Table, d *dataset.Dataset) string {
	entries, err := d.Manifest().Indices()
	if err != nil {
		return err.Error()
	}
	segments := map[string][]*pb.IndexMetadata{}
	for _, x := range entries {
		segments[x.Name] = append(segments[x.Name], x)
	}
	if len(segments) == 0 || d.Schema().Field("n") == nil {
		return ""
	}
	rows, err := scanIndexed(ctx, d)
	if err != nil {
		return err.Error()
	}
	for name, entries := range segments {
		covered := roaring.New()
		for _, x := range entries {
			bitmap := roaring.New()
			if len(x.FragmentBitmap) > 0 {
				if err := bitmap.UnmarshalBinary(x.FragmentBitmap); err != nil {
					return err.Error()
				}
			}
			if covered.Intersects(bitmap) || !slices.Equal(x.Fields, entries[0].Fields) {
				return fmt.Sprintf("there are two indices %s", name)
			}
			covered.Or(bitmap)
		}
		if !covered.IsEmpty() {
			o.counts[name]++
		}
		var wrong string
		switch name {
		case "sorted":
			wrong = lookAtSorted(ctx, d, rows)
		case "words":
			wrong = lookAtWords(ctx, t, d, rows)
		case "near":
			wrong = lookAtNear(ctx, t, d, rows)
		}
		if wrong != "" {
			return "index " + name + ": " + wrong
		}
	}
	return ""
}

func scanIndexed(ctx context.Context, d *dataset.Dataset) ([]indexedRow, error) {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id", "n", "s", "v", snapshot.RowAddr}})
	if err != nil {
		return nil, err
	}
	var rows []indexedRow
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		n, s, v := batch.Column(1).(*array.Int32), batch.Column(2).(*array.String), batch.Column(3).(*array.FixedSizeList)
		for i := range int(batch.NumRows()) {
			row := indexedRow{id: batch.Column(0).(*array.Int64).Value(i), address: int64(batch.Column(4).(*array.Uint64).Value(i)), n: -1}
			if n.IsValid(i) {
				row.n = int(n.Value(i))
			}
			if s.IsValid(i) {
				row.s = s.Value(i)
			}
			if v.IsValid(i) {
				from, to := v.ValueOffsets(i)
				row.v = v.ListValues().(*array.Float32).Float32Values()[from:to]
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// lookAtSorted asks the segments of the index of numbers.
func lookAtSorted(ctx context.Context, d *dataset.Dataset, rows []indexedRow) string {
	segments, err := d.Segments("sorted")
	if err != nil {
		return err.Error()
	}
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.AppendValues([]int32{4}, nil)
	four := index.Bound{Value: b.NewArray()}
	for _, c := range []struct {
		text    string
		ask     index.Question
		matches func(n int) bool
	}{
		{"n = 4", index.Question{Ranges: []index.Range{{From: four, To: four}}}, func(n int) bool { return n == 4 }},
		{"n <= 4", index.Question{Ranges: []index.Range{{To: four}}}, func(n int) bool { return n >= 0 && n <= 4 }},
		{"n IS NULL", index.Question{Null: true}, func(n int) bool { return n == -1 }},
	} {
		found := map[int64]int{}
		for _, s := range segments {
			r, err := btree.Open(ctx, s, arrow.PrimitiveTypes.Int32)
			if err != nil {
				return err.Error()
			}
			answer, err := r.Search(ctx, c.ask)
			if err != nil {
				return err.Error()
			}
			got, err := d.RowsOf(ctx, s, answer.Rows, true)
			if err != nil {
				return err.Error()
			}
			for row := range got.All() {
				found[int64(row)]++
			}
		}
		for _, row := range rows {
			want := 0
			for _, s := range segments {
				if s.Covers(uint64(row.address)>>32) && c.matches(row.n) {
					want = 1
				}
			}
			if found[row.address] != want {
				return fmt.Sprintf("%s finds row %d, whose n is %d, %d times, want %d", c.text, row.id, row.n, found[row.address], want)
			}
		}
	}
	return ""
}

// idsOf returns the ids of a query's answer, ascending.
func idsOf(ctx context.Context, t *engine.Table, d *dataset.Dataset, q query.Query) ([]int64, error) {
	version := int64(d.Version())
	q.Columns = []query.Column{{Name: "id"}}
	answer, err := t.Query(ctx, engine.AsOf{Version: &version}, &q)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for batch, err := range answer.Batches {
		if err != nil {
			return nil, err
		}
		ids = append(ids, batch.Column(0).(*array.Int64).Int64Values()...)
	}
	slices.Sort(ids)
	return ids, nil
}

func lookAtWords(ctx context.Context, t *engine.Table, d *dataset.Dataset, rows []indexedRow) string {
	for _, word := range []string{"ember", "fjord"} {
		got, err := idsOf(ctx, t, d, query.Query{Text: &queryapi.FullTextQuery{Columns: []string{"s"}, Text: word}})
		if err != nil {
			return err.Error()
		}
		var want []int64
		for _, row := range rows {
			if strings.Contains(row.s, word) {
				want = append(want, row.id)
			}
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			return fmt.Sprintf("%s is found in rows %v, and is in %v", word, got, want)
		}
	}
	return ""
}

// lookAtNear compares the distances of the nearest rows, some of which are as far as others.
func lookAtNear(ctx context.Context, t *engine.Table, d *dataset.Dataset, rows []indexedRow) string {
	const nearest = 5
	k := int64(nearest)
	distances := map[int64]float64{}
	var want []float64
	for _, row := range rows {
		if row.v != nil {
			sum := 0.0
			for i, x := range row.v {
				sum += math.Pow(float64(x)-float64(10*i), 2)
			}
			distances[row.id] = sum
			want = append(want, sum)
		}
	}
	slices.Sort(want)
	want = want[:min(nearest, len(want))]
	ids, err := idsOf(ctx, t, d, query.Query{
		Nearest: &query.Nearest{Vectors: [][]float64{{0, 10, 20, 30}}, Column: "v", MinProbes: 100, MaxProbes: 100}, Limit: &k,
	})
	if err != nil {
		return err.Error()
	}
	var got []float64
	for _, id := range ids {
		got = append(got, distances[id])
	}
	if slices.Sort(got); !slices.Equal(got, want) || len(slices.Compact(ids)) != len(got) {
		return fmt.Sprintf("the nearest rows %v are as far as %v, want %v", ids, got, want)
	}
	return ""
}
