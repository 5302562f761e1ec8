package query

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// A tableSort answers a query that has an order but no search. Ties are broken by the order of the
// table.
//
// For a small table, or a small filtered part of one, it reads all columns and sorts them.
// Otherwise it reads only the sort columns, and fetches the other columns for the rows of the
// answer. This reads little if the answer is short, and bounds the memory if it is long.
type tableSort struct {
	dataset       *dataset.Dataset
	keys          []Order
	out           *output
	by            *ordering // also lists the columns to read: the answer's, or the row addresses
	among         condition.Rows
	offset, limit int64
	whole         bool  // all columns are read at once
	size          int64 // bytes of the rows, estimated from the manifest
	together      int   // number of rows per fetch

	read, order, take, project *explain.Step

	planner  *Planner // divides a large sort of a few rows; nil: it is not divided
	relation condition.Relation
	query    *Query
}

// wholeBytes is the maximum size of rows that are read whole for sorting. farBytes is the same for storage behind a
// network, where fetching the rows costs more than holding them, because each batch of the answer has rows from all parts
// of the table. littleBytes is the limit if the answer contains only a few of the rows.
const (
	wholeBytes  = 32 << 20
	farBytes    = 512 << 20
	littleBytes = 1 << 20
)

// wholeFactor is roughly the ratio of the memory for reading, joining and sorting rows to their
// size.
const wholeFactor = 3

// fetchBytes is the number of bytes of rows per fetch from storage behind a network. It is large,
// because each fetch reads most parts of the columns again.
const fetchBytes = 32 << 20

// newSort plans a sort. A nil limit means all rows.
func (p *Planner) newSort(r condition.Relation, q *Query, out *output, rows condition.Rows, limit *int64) (Answer, error) {
	d := r.Dataset
	s := &tableSort{dataset: d, keys: q.Order, out: out, among: rows, offset: q.Offset, limit: noLimit, planner: p, relation: r, query: q}
	if limit != nil {
		s.limit = *limit
	}
	by, err := newOrdering(d, q.Order, slices.Clone(out.sources)...)
	if err != nil {
		return nil, err
	}
	size, err := d.ScanBytes(by.columns)
	if err != nil {
		return nil, err
	}
	most := int64(wholeBytes)
	s.size, s.together = size, fetchRows
	if !d.IsNear() {
		most = farBytes
		s.together = int(max(fetchRows, fetchBytes/max(1, size/max(1, d.CountRows()))))
	}
	// A dictionary may differ between batches, so the batches cannot be joined as they are.
	whole := !hasDictionary(d, by.columns) && (size <= littleBytes || size <= most && saturating(s.limit, s.offset) > d.CountRows()/16)
	return s, s.resolve(whole)
}

// resolve chooses between the two ways to sort, and sets the steps of the plan.
func (s *tableSort) resolve(whole bool) (err error) {
	columns := []string{snapshot.RowOffset, snapshot.RowAddr}
	if whole {
		columns = slices.Clone(s.out.sources)
	}
	if s.by, err = newOrdering(s.dataset, s.keys, columns...); err != nil {
		return err
	}
	s.whole, s.take = whole, nil
	s.read = s.among.Step(s.dataset, s.by.columns)
	s.order = explain.New(s.dataset.Now, explain.Sort, s.read).With("by=%s", explain.List(orderNames(s.keys)))
	if s.offset > 0 {
		s.order.With("offset=%d", s.offset).Like("GlobalLimitExec")
	}
	if s.limit != noLimit {
		s.order.With("limit=%d", s.limit).Like("TopK")
	}
	from := s.order
	if !whole {
		s.take = explain.New(s.dataset.Now, explain.Take, s.order).With("columns=%s", explain.List(s.out.sources))
		from = s.take
	}
	s.project = projectStep(s.dataset, s.out, from)
	if !whole && s.divides() {
		s.planner.Spread.describe(s.read, s.dataset, func() snapshot.ScanOptions { return s.among.Options(s.by.columns) })
	}
	return nil
}

// partedRows bounds the rows of a sort that is divided: each part answers with as many keys.
const partedRows = 10_000

// divides reports whether a sort of a large table is divided.
func (s *tableSort) divides() bool {
	return s.planner != nil && saturating(s.limit, s.offset) <= partedRows && !hasDictionary(s.dataset, s.by.columns)
}

// keysElsewhere sorts the keys of a large scan in parts. It returns nil if they are to be sorted here.
func (s *tableSort) keysElsewhere(ctx context.Context, opts *snapshot.ScanOptions) (*sortkey.Sorter, error) {
	limit := saturating(s.limit, s.offset)
	q := &Query{Filter: s.query.Filter, FastSearch: s.query.FastSearch, Order: s.query.Order, Limit: &limit}
	divided, err := s.planner.divide(ctx, s.relation, opts, Part{Kind: first, Query: q})
	if err != nil || divided == nil {
		return nil, err
	}
	keys := sortkey.NewSorter(ctx, limit, sortBytes)
	here, err := divided.each(s.read.Reading(ctx), toStep(s.read), func(batch arrow.RecordBatch) error {
		part, err := keysOf(batch)
		if err == nil {
			err = keys.Add(part)
		}
		return err
	})
	switch {
	case here:
		keys.Close()
		return nil, nil //nolint:nilnil // nothing runs elsewhere
	case err != nil:
		keys.Close()
		return nil, err
	}
	return keys, nil
}

// hasDictionary reports whether one of the columns has a dictionary, which may differ between
// batches.
func hasDictionary(d *dataset.Dataset, columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool {
		field, err := d.Column(name)
		return err == nil && take.HasDictionary(field.Type)
	})
}

// orderNames returns the sort columns and their directions, for the plan.
func orderNames(by []Order) []string {
	names := make([]string, len(by))
	for i, b := range by {
		names[i] = b.Column
		if b.Descending {
			names[i] += " desc"
		}
		if b.NullsFirst {
			names[i] += " nulls first"
		}
	}
	return names
}

func (s *tableSort) Plan() *explain.Step { return s.project }

func (s *tableSort) Rows(ctx context.Context) (*protocol.Rows, error) {
	batches, err := s.sorted(ctx)
	if err != nil {
		return nil, err
	}
	return &protocol.Rows{Schema: s.out.schema, Batches: s.project.Counted(s.out.batches(ctx, batches))}, nil
}

// sorted reads the rows whole if they are few. The size in the files is only an estimate: if the
// rows do not fit into memory, it starts again and sorts addresses.
func (s *tableSort) sorted(ctx context.Context) (iter.Seq2[arrow.RecordBatch, error], error) {
	if s.whole && s.size > wholeBytes {
		// A large sort does not wait for memory that other requests use. It sorts addresses at once.
		room, ok := memory.Try(ctx, wholeFactor*s.size)
		room.Release()
		if !ok {
			if err := s.resolve(false); err != nil {
				return nil, err
			}
		}
	}
	if s.whole {
		inPart, part, err := memory.Within(ctx)
		if err != nil {
			return nil, err
		}
		batches, err := s.sortWhole(inPart)
		if !memory.TooMuch(err) {
			return batches, err
		}
		part.Close()
		if err := s.resolve(false); err != nil {
			return nil, err
		}
	}
	return s.sortTaken(ctx)
}

// sortWhole reads and sorts all columns of the answer.
func (s *tableSort) sortWhole(ctx context.Context) (iter.Seq2[arrow.RecordBatch, error], error) {
	began := s.dataset.Now()
	schema, batches, err := s.dataset.Scan(s.read.Reading(ctx), s.among.Options(s.by.columns))
	if err != nil {
		return nil, err
	}
	var all []arrow.RecordBatch
	limit := saturating(s.limit, s.offset)
	keys := sortkey.NewSorter(ctx, limit, noLimit)
	at := uint64(0)
	for batch, err := range s.read.Counted(batches) {
		if err != nil {
			return nil, err
		}
		all = append(all, batch)
		if _, err := memory.Take(ctx, 2*take.BatchBytes(batch)); err != nil { // twice, for the joined batch
			return nil, err
		}
		part, err := s.by.keys(ctx, batch, limit, func(i int) (order, place uint64) { return at + uint64(i), at + uint64(i) })
		if err == nil {
			err = keys.Add(part)
		}
		if err != nil {
			return nil, err
		}
		at += uint64(batch.NumRows())
	}
	joined, err := take.Concat(schema, all)
	if err != nil {
		return nil, err
	}
	s.order.Took(began)
	return s.inOrder(keys, func(places []uint64) iter.Seq2[arrow.RecordBatch, error] {
		rows := make([]int32, len(places))
		for i, p := range places {
			rows[i] = int32(p)
		}
		return func(yield func(arrow.RecordBatch, error) bool) {
			batch, err := take.Batch(joined, rows)
			if err == nil {
				s.order.Made(batch)
			}
			yield(batch, err)
		}
	}), nil
}

// sortTaken sorts the addresses of rows and then fetches the rows. If dictionaries turn out to have
// long values, it ranks the values and starts again.
func (s *tableSort) sortTaken(ctx context.Context) (iter.Seq2[arrow.RecordBatch, error], error) {
	keys, err := s.takenKeys(ctx)
	if errors.Is(err, errLongValues) {
		if err = s.rankValues(ctx); err == nil {
			keys, err = s.takenKeys(ctx)
		}
		s.by.close()
	}
	if err != nil {
		return nil, err
	}
	return s.take.Counted(s.inOrder(keys, func(addresses []uint64) iter.Seq2[arrow.RecordBatch, error] {
		s.order.Found(len(addresses))
		return inPieces(s.dataset.TakeEach(s.take.Reading(ctx), s.out.sources, addresses, s.together))
	})), nil
}

// rankValues ranks the values of the sort columns' dictionaries.
func (s *tableSort) rankValues(ctx context.Context) error {
	defer s.read.Took(s.dataset.Now())
	return s.by.rank(func(add func(context.Context, arrow.RecordBatch) error) error {
		added, err := snapshot.Map(s.read.Reading(ctx), s.dataset.Snapshot, s.among.Options(s.by.columns), func(batchCtx context.Context, batch arrow.RecordBatch) (struct{}, error) {
			return struct{}{}, add(memory.WithShare(batchCtx, memory.FromContext(ctx)), batch)
		})
		if err != nil {
			return err
		}
		for _, err := range added {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// takenKeys sorts the keys of rows. Each key ends with the address of its row.
func (s *tableSort) takenKeys(ctx context.Context) (*sortkey.Sorter, error) {
	began := s.dataset.Now()
	limit := saturating(s.limit, s.offset)
	opts := s.among.Options(s.by.columns)
	if s.divides() {
		keys, err := s.keysElsewhere(ctx, &opts)
		if keys != nil || err != nil {
			s.read.Took(began)
			s.order.Took(began)
			return keys, err
		}
	}
	keys := sortkey.NewSorter(ctx, limit, sortBytes)
	parts, err := snapshot.Map(s.read.Reading(ctx), s.dataset.Snapshot, opts, func(ctx context.Context, batch arrow.RecordBatch) ([][]byte, error) {
		s.read.Made(batch)
		offsets, addresses := batch.Column(0).(*array.Uint64), batch.Column(1).(*array.Uint64)
		// The context holds the memory of the keys until they have been added.
		part, err := s.by.keys(ctx, batch, limit, func(i int) (order, place uint64) { return offsets.Value(i), addresses.Value(i) })
		if err == nil && limit < int64(len(part)) {
			part, err = firstKeys(ctx, part, limit)
		}
		return part, err
	})
	if err != nil {
		return nil, err
	}
	for part, err := range parts {
		if err == nil {
			err = keys.Add(part)
		}
		if err != nil {
			keys.Close()
			return nil, err
		}
	}
	s.read.Took(began)
	if spilled := keys.Spilled(); spilled > 0 {
		s.order.With("spilled_bytes=%d", spilled)
	}
	s.order.Took(began)
	return keys, nil
}

// firstKeys copies the smallest keys, up to the limit, and takes memory for the copy.
func firstKeys(ctx context.Context, keys [][]byte, limit int64) ([][]byte, error) {
	first, size := sortkey.First(keys, limit)
	_, err := memory.Take(ctx, size)
	return first, err
}

// inPieces cuts batches into batches of fetchRows rows.
func inPieces(batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if err != nil || batch.NumRows() <= fetchRows {
				if !yield(batch, err) {
					return
				}
				continue
			}
			for from := int64(0); from < batch.NumRows(); from += fetchRows {
				if !yield(batch.NewSlice(from, min(from+fetchRows, batch.NumRows())), nil) {
					return
				}
			}
		}
	}
}

// inOrder yields the rows of the answer in the order of sorted keys. It calls fetch with the
// positions of several rows; fetch may return them in any number of batches.
func (s *tableSort) inOrder(keys *sortkey.Sorter, fetch func(places []uint64) iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		skip := s.offset
		var places []uint64
		flush := func() bool {
			for batch, err := range fetch(places) {
				if !yield(batch, err) || err != nil {
					return false
				}
			}
			places = places[:0]
			return true
		}
		for key, err := range keys.Sorted() {
			if err != nil {
				yield(nil, err)
				return
			}
			if skip > 0 {
				skip--
				continue
			}
			if places = append(places, keyAt(key)); len(places) == s.together && !flush() {
				return
			}
		}
		if len(places) > 0 {
			flush()
		}
	}
}
