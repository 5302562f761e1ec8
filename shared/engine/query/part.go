package query

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
)

// partFormat is the version of Part and of its answers. Programs of different releases run the parts of one query while
// a new release is deployed, so a change of either has another number.
const partFormat = 3

// A Kind is what a part does with its rows.
type Kind string

// The kinds of parts, with the columns of their answers.
const (
	// counting: count, an int64 in one row.
	counting Kind = "count"
	// nearest: query, the number of the query vector; row, the address; distance. The nearest rows of each query, best first.
	nearest Kind = "nearest"
	// probing: as nearest. The nearest rows of each query in partitions of an index.
	probing Kind = "probes"
	// worded: as nearest, with scores as distances. The best rows of a search for words in partitions of an index.
	worded Kind = "words"
	// first: key. The sort keys of the first rows, in their order; each ends with the address of its row.
	first Kind = "first"
	// matching: the columns of the query. The rows that match the filter, in the order of the table.
	matching Kind = "rows"
	// grouped: the keys and the results of the calls of [Groups], a row for each group of the rows that match.
	grouped Kind = "groups"
)

// A Part is a query of a part of the rows, or of the index, of one version.
type Part struct {
	Format  int    `json:"format"`
	Version uint64 `json:"version"`
	// Origin identifies the version among those of the same number that other tables have, or that were made anew. A part
	// names its table by its name, which another table may have since the query began.
	Origin string `json:"origin"`
	// Time is what now() stands for.
	Time time.Time `json:"time"`
	// View identifies the query of the view that the rows are seen through; "" is the table itself.
	View      string    `json:"view,omitempty"`
	Kind      Kind      `json:"kind"`
	Query     *Query    `json:"query"`               // in the names of the table, not of the view
	Groups    *Groups   `json:"groups,omitempty"`    // of the rows; nil for other kinds
	Unindexed bool      `json:"unindexed,omitempty"` // no index helps with the filter
	Stretches []Stretch `json:"stretches,omitempty"`
	Probes    *Probes   `json:"probes,omitempty"` // nil for other kinds
	Words     *Words    `json:"words,omitempty"`  // nil for other kinds
}

// ParsePart reads a part, and checks that this release understands it. The error is InvalidInput or Unsupported.
func ParsePart(text []byte) (*Part, error) {
	p := new(Part)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: %w", err)
	}
	if p.Format != partFormat {
		return nil, protocol.Errorf(protocol.Unsupported, "part: format %d; this release runs parts of format %d", p.Format, partFormat)
	}
	if p.Version == 0 || p.Origin == "" || p.Query == nil || (len(p.Stretches) > 0) != (p.Probes == nil && p.Words == nil) {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: it needs a version with its origin, a query, and either stretches of rows or partitions")
	}
	if n := p.Query.Nearest; (n == nil || len(n.Vectors) == 0) == (p.Kind == nearest || p.Kind == probing) {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: kind %q with another query", p.Kind)
	}
	if (p.Probes == nil) == (p.Kind == probing) {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: kind %q with other partitions", p.Kind)
	}
	if (p.Words == nil) == (p.Kind == worded) {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: kind %q with another search for words", p.Kind)
	}
	if g := p.Groups; (g == nil || len(g.Keys)+len(g.Calls) == 0) == (p.Kind == grouped) {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: kind %q with other groups", p.Kind)
	}
	if err := p.Query.check(); err != nil {
		return nil, err
	}
	if p.Words != nil {
		if err := p.Words.check(p.Query); err != nil {
			return nil, err
		}
	}
	for _, s := range p.Stretches {
		if s.From < 0 || s.From >= s.To {
			return nil, protocol.Errorf(protocol.InvalidInput, "part: rows %d to %d of fragment %d", s.From, s.To, s.Fragment)
		}
	}
	return p, nil
}

// check refuses what no division sends: whoever may query can send a part.
func (q *Query) check() error {
	if q.Limit != nil && *q.Limit < 0 || q.Offset != 0 {
		return protocol.Errorf(protocol.InvalidInput, "part: a limit below 0, or an offset")
	}
	n := q.Nearest
	if n == nil {
		return nil
	}
	if n.Metric != nil && !slices.Contains([]vector.Metric{vector.L2, vector.Cosine, vector.Dot, vector.Hamming}, *n.Metric) {
		return protocol.Errorf(protocol.InvalidInput, "part: metric %d", *n.Metric)
	}
	if n.MaxProbes < 0 || n.EF < 0 || n.Refine != nil && *n.Refine < 1 || n.Effort != nil && !(*n.Effort >= 0 && *n.Effort <= 1) {
		return protocol.Errorf(protocol.InvalidInput, "part: nprobes, ef or a refine factor below 0, or an effort beyond 1")
	}
	for _, v := range n.Vectors {
		if len(v) == 0 || len(v) != len(n.Vectors[0]) {
			return protocol.Errorf(protocol.InvalidInput, "part: vectors of %d and %d dimensions", len(n.Vectors[0]), len(v))
		}
	}
	return nil
}

// originOf identifies a version: its transaction, if it names one, and its time.
func originOf(d *dataset.Dataset) string {
	return d.TransactionUUID() + "@" + strconv.FormatInt(d.Manifest().Time().UnixNano(), 10)
}

// viewOf identifies the view of a relation.
func viewOf(r condition.Relation) (string, error) {
	if r.View == nil {
		return "", nil
	}
	text, err := json.Marshal(r.View.Query)
	if err != nil {
		return "", fmt.Errorf("encode the query of a view: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// The names of the columns of answers, and of the measurements in the metadata of their schema.
const (
	countColumn, queryColumn, rowColumn, keyColumn = "count", "query", "row", "key"

	requestsKey, bytesKey, tookKey = "requests", "bytes", "microseconds"
)

var (
	countSchema = arrow.NewSchema([]arrow.Field{{Name: countColumn, Type: arrow.PrimitiveTypes.Int64}}, nil)
	hitsSchema  = arrow.NewSchema([]arrow.Field{
		{Name: queryColumn, Type: arrow.PrimitiveTypes.Int32}, {Name: rowColumn, Type: arrow.PrimitiveTypes.Uint64},
		{Name: distanceColumn, Type: arrow.PrimitiveTypes.Float32},
	}, nil)
	keysSchema = arrow.NewSchema([]arrow.Field{{Name: keyColumn, Type: arrow.BinaryTypes.Binary}}, nil)
)

// errOtherView is the error of a part whose view has changed since the query began.
var errOtherView = &protocol.Error{
	Code: protocol.ServiceUnavailable, Message: "the view was changed while a query of it ran", Detail: "send the query again",
}

// errOtherTable is the error of a part whose table has another version of that number.
var errOtherTable = &protocol.Error{
	Code: protocol.ServiceUnavailable, Message: "the table was replaced while a query of it ran", Detail: "send the query again",
}

// Part runs a part. The relation is the part's version, seen through the view of the caller.
func (p *Planner) Part(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	here := *p
	here.Spread = nil
	if originOf(r.Dataset) != part.Origin {
		return nil, errOtherTable
	}
	view, err := viewOf(r)
	if err != nil {
		return nil, err
	}
	if view != part.View {
		return nil, errOtherView
	}
	r.Time = part.Time
	switch part.Kind {
	case counting:
		return here.countPart(ctx, r, part)
	case nearest:
		return here.nearestPart(ctx, r, part)
	case probing:
		return here.probingPart(ctx, r, part)
	case worded:
		return here.wordsPart(ctx, r, part)
	case first:
		return here.firstPart(ctx, r, part)
	case matching:
		return here.matchingPart(ctx, r, part)
	case grouped:
		return here.groupedPart(ctx, r, part)
	}
	return nil, protocol.Errorf(protocol.Unsupported, "part: kind %.40q", part.Kind)
}

// narrow restricts the rows of a query to those of the part.
func (p *Part) narrow(rows *condition.Rows) {
	spans := spansOf(p.Stretches)
	rows.Only, rows.Span = condition.InBoth(rows.Only, spans.has), spans.of
	if p.Unindexed {
		rows.Filter.Narrowing = nil
	}
}

// countPart counts the rows of a part.
func (p *Planner) countPart(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	rows, err := condition.NewRows(ctx, r, part.Query.Filter, false, p.Policy)
	if err != nil {
		return nil, err
	}
	part.narrow(&rows)
	n, err := countRows(ctx, r, rows.Options([]string{}))
	if err != nil {
		return nil, err
	}
	return oneBatch(countSchema, 1, plain(arrow.PrimitiveTypes.Int64, arrow.Int64Traits.CastToBytes([]int64{n}), 1)), nil
}

// nearestPart finds the nearest rows of a part.
func (p *Planner) nearestPart(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	s, err := p.newVectorSearch(ctx, r, part.Query)
	if err != nil {
		return nil, err
	}
	part.narrow(&s.among)
	hits, err := s.measureAll(ctx, s.among)
	if err != nil {
		return nil, err
	}
	return answerOf(hits)
}

// answerOf returns found rows as the answer of a part.
func answerOf(hits []found) (*protocol.Rows, error) {
	queries, rows, distances := make([]int32, len(hits)), make([]uint64, len(hits)), make([]float32, len(hits))
	for i, h := range hits {
		queries[i], rows[i], distances[i] = h.query, h.RowID, h.Distance
	}
	return oneBatch(hitsSchema, len(hits),
		plain(arrow.PrimitiveTypes.Int32, arrow.Int32Traits.CastToBytes(queries), len(hits)),
		plain(arrow.PrimitiveTypes.Uint64, arrow.Uint64Traits.CastToBytes(rows), len(hits)),
		plain(arrow.PrimitiveTypes.Float32, arrow.Float32Traits.CastToBytes(distances), len(hits))), nil
}

// hitsOf calls add with the hits of a batch of an answer. An answer of another form is an error.
func hitsOf(batch arrow.RecordBatch, queries int, add func(found)) error {
	if !batch.Schema().Equal(hitsSchema) {
		return fmt.Errorf("the answer of a part has the columns %v", batch.Schema())
	}
	numbers, rows, distances := batch.Column(0).(*array.Int32), batch.Column(1).(*array.Uint64), batch.Column(2).(*array.Float32)
	for i := range int(batch.NumRows()) {
		query := numbers.Value(i)
		if query < 0 || int(query) >= queries {
			return fmt.Errorf("the answer of a part has a row of query %d", query)
		}
		add(found{Hit: vector.Hit{RowID: rows.Value(i), Distance: distances.Value(i)}, query: query})
	}
	return nil
}

// firstPart returns the sort keys of the first rows of a part.
func (p *Planner) firstPart(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	if part.Query.Limit == nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: a sort needs a limit")
	}
	rows, err := condition.NewRows(ctx, r, part.Query.Filter, part.Query.FastSearch, p.Policy)
	if err != nil {
		return nil, err
	}
	part.narrow(&rows)
	s := &tableSort{dataset: r.Dataset, keys: part.Query.Order, out: new(output), among: rows, limit: *part.Query.Limit}
	if err := s.resolve(false); err != nil {
		return nil, err
	}
	keys, err := s.takenKeys(ctx)
	if err != nil {
		return nil, err
	}
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	for key, err := range keys.Sorted() {
		if err != nil {
			return nil, err
		}
		b.Append(key)
	}
	column := b.NewArray()
	return oneBatch(keysSchema, column.Len(), column), nil
}

// keysOf returns the keys of a batch of an answer.
func keysOf(batch arrow.RecordBatch) ([][]byte, error) {
	if !batch.Schema().Equal(keysSchema) {
		return nil, fmt.Errorf("the answer of a part has the columns %v", batch.Schema())
	}
	column := batch.Column(0).(*array.Binary)
	keys := make([][]byte, column.Len())
	for i := range keys {
		if keys[i] = column.Value(i); len(keys[i]) < tailBytes {
			return nil, fmt.Errorf("the answer of a part has a key of %d bytes", len(keys[i]))
		}
	}
	return keys, nil
}

// Count counts the rows of a relation that match a predicate. An empty predicate matches all.
func (p *Planner) Count(ctx context.Context, r condition.Relation, predicate string) (int64, error) {
	filter, err := condition.New(ctx, "predicate", predicate, r, p.Policy)
	if err != nil {
		return 0, err
	}
	if filter.Where == nil {
		return r.CountRows(), nil
	}
	opts := filter.Options([]string{})
	divided, err := p.divide(ctx, r, &opts, Part{Kind: counting, Query: &Query{Filter: predicate}})
	if err != nil {
		return 0, err
	}
	if divided != nil {
		rows := int64(0)
		here, err := divided.each(ctx, func(string, any) {}, func(batch arrow.RecordBatch) error {
			if !batch.Schema().Equal(countSchema) {
				return fmt.Errorf("the answer of a part has the columns %v", batch.Schema())
			}
			for _, n := range batch.Column(0).(*array.Int64).Int64Values() {
				rows += n
			}
			return nil
		})
		if !here {
			return rows, err
		}
	}
	return countRows(ctx, r, opts)
}

// oneBatch is an answer of one batch.
func oneBatch(schema *arrow.Schema, rows int, columns ...arrow.Array) *protocol.Rows {
	batch := array.NewRecordBatch(schema, columns, int64(rows))
	return &protocol.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// WithUsage returns the answer of a part together with what it took so far, for [UsageOf].
func WithUsage(rows *protocol.Rows, u Usage) *protocol.Rows {
	metadata := rows.Schema.Metadata()
	keys := append(metadata.Keys(), requestsKey, bytesKey, tookKey)
	values := append(metadata.Values(), strconv.FormatInt(u.Requests, 10), strconv.FormatInt(u.Bytes, 10), strconv.FormatInt(u.Took.Microseconds(), 10))
	told := *rows
	all := arrow.NewMetadata(keys, values)
	told.Schema = arrow.NewSchema(rows.Schema.Fields(), &all)
	return &told
}

// UsageOf returns what an answer of a part took, and the answer without it. known is false if the answer does not tell,
// and thus is not that of a part.
func UsageOf(rows *protocol.Rows) (answer *protocol.Rows, u Usage, known bool) {
	metadata := rows.Schema.Metadata()
	_, known = metadata.GetValue(tookKey)
	number := func(key string) int64 {
		text, _ := metadata.GetValue(key)
		n, _ := strconv.ParseInt(text, 10, 64) // 0 if the answer is not that of a part
		return n
	}
	u = Usage{Requests: number(requestsKey), Bytes: number(bytesKey), Took: time.Duration(number(tookKey)) * time.Microsecond}
	var keys, values []string
	for i, key := range metadata.Keys() {
		if key != requestsKey && key != bytesKey && key != tookKey {
			keys, values = append(keys, key), append(values, metadata.Values()[i])
		}
	}
	told := *rows
	rest := arrow.NewMetadata(keys, values)
	told.Schema = arrow.NewSchema(rows.Schema.Fields(), &rest)
	return &told, u, known
}

// countRows counts the rows of a scan.
func countRows(ctx context.Context, r condition.Relation, opts snapshot.ScanOptions) (rows int64, err error) {
	_, batches, err := r.Scan(ctx, opts)
	if err != nil {
		return 0, err
	}
	for batch, err := range batches {
		if err != nil {
			return 0, err
		}
		rows += batch.NumRows()
	}
	return rows, nil
}
