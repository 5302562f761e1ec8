package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/gather"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

// A tableSort answers a query without a search in the order that it asks for; rows that are
// equal in it are as they lie in the table.
//
// Of a small table, or part of one, all columns are read and put in order. Of others only
// those of the order are; the rest is fetched for the rows that are answered, which is
// little if few are and keeps memory bounded if many are.
type tableSort struct {
	dataset       *dataset.Dataset
	out           *output
	by            *ordering // reads the columns of the answer too, or where the rows are
	among         asked
	offset, limit int64
	whole         bool // all columns are read at once

	read, order, take, project *step
}

// wholeBytes is up to how much is read whole to be put in order, and littleBytes that when
// only few of the rows are answered.
const (
	wholeBytes  = 32 << 20
	littleBytes = 1 << 20
)

func newSort(d *dataset.Dataset, req *protocol.QueryTableRequest, out *output, rows asked, limit int64) (answer, error) {
	s := &tableSort{dataset: d, out: out, among: rows, offset: req.Offset, limit: noLimit}
	if limit > 0 {
		s.limit = limit
	}
	var err error
	if s.by, err = newOrdering(d, req.OrderBy, slices.Clone(out.sources)...); err != nil {
		return nil, err
	}
	size, err := d.ScanBytes(s.by.columns)
	if err != nil {
		return nil, err
	}
	s.whole = !hasDictionary(d, s.by.columns) && (size <= littleBytes || size <= wholeBytes && saturating(s.limit, s.offset) > d.CountRows()/16)
	if !s.whole {
		if s.by, err = newOrdering(d, req.OrderBy, dataset.RowOffset, dataset.RowAddr); err != nil {
			return nil, err
		}
	}
	s.read = rows.step(d, req, s.by.columns)
	s.order = newStep(d, "Sort", s.read).says("by=%s", list(orderNames(req.OrderBy)))
	if s.offset > 0 {
		s.order.says("offset=%d", s.offset)
	}
	if limit > 0 {
		s.order.says("limit=%d", limit)
	}
	from := s.order
	if !s.whole {
		s.take = newStep(d, stepTake, s.order).says("columns=%s", list(out.sources))
		from = s.take
	}
	s.project = projectStep(d, out, from)
	return s, nil
}

// hasDictionary says whether a column has one, of which batches may not agree.
func hasDictionary(d *dataset.Dataset, columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool {
		field, err := d.Column(name)
		return err == nil && gather.HasDictionary(field.Type)
	})
}

func orderNames(by []protocol.OrderBy) []string {
	names := make([]string, len(by))
	for i, b := range by {
		names[i] = b.ColumnName
		if b.Ascending != nil && !*b.Ascending {
			names[i] += " desc"
		}
		if b.NullsFirst {
			names[i] += " nulls first"
		}
	}
	return names
}

func (s *tableSort) plan() *step { return s.project }

func (s *tableSort) rows(ctx context.Context) (*protocol.Rows, error) {
	order := s.sortTaken
	if s.whole {
		order = s.sortWhole
	}
	batches, err := order(ctx)
	if err != nil {
		return nil, err
	}
	return &protocol.Rows{Schema: s.out.schema, Batches: s.project.counted(s.out.batches(ctx, batches))}, nil
}

// sortWhole reads all that is answered and puts it in order.
func (s *tableSort) sortWhole(ctx context.Context) (iter.Seq2[arrow.RecordBatch, error], error) {
	began := s.dataset.Now()
	schema, batches, err := s.dataset.Scan(s.read.reading(ctx), s.among.options(s.by.columns))
	if err != nil {
		return nil, err
	}
	var all []arrow.RecordBatch
	keys := newSorter(ctx, saturating(s.limit, s.offset), noLimit)
	at := uint64(0)
	for batch, err := range s.read.counted(batches) {
		if err != nil {
			return nil, err
		}
		all = append(all, batch)
		if _, err := memory.Take(ctx, 2*batchBytes(batch)); err != nil { // and joined
			return nil, err
		}
		if err := keys.add(s.keysOf(batch, noLimit, func(i int) (order, place uint64) { return at + uint64(i), at + uint64(i) })); err != nil {
			return nil, err
		}
		at += uint64(batch.NumRows())
	}
	joined, err := gather.Concat(schema, all)
	if err != nil {
		return nil, err
	}
	s.order.took(began)
	return s.inOrder(keys, func(places []uint64) (arrow.RecordBatch, error) {
		rows := make([]int32, len(places))
		for i, p := range places {
			rows[i] = int32(p)
		}
		batch, err := gather.Batch(joined, rows)
		if err != nil {
			return nil, err
		}
		s.order.made(batch)
		return batch, nil
	}), nil
}

// sortTaken puts the places of rows in order and fetches the rows afterwards.
func (s *tableSort) sortTaken(ctx context.Context) (iter.Seq2[arrow.RecordBatch, error], error) {
	began := s.dataset.Now()
	keys := newSorter(ctx, saturating(s.limit, s.offset), sortBytes)
	parts, err := dataset.Map(s.read.reading(ctx), s.dataset, s.among.options(s.by.columns), func(ctx context.Context, batch arrow.RecordBatch) ([][]byte, error) {
		s.read.made(batch)
		offsets, addresses := batch.Column(0).(*array.Uint64), batch.Column(1).(*array.Uint64)
		part := s.keysOf(batch, keys.limit, func(i int) (order, place uint64) { return offsets.Value(i), addresses.Value(i) })
		size := int64(0)
		for _, k := range part {
			size += int64(len(k)) + keyOverhead
		}
		_, err := memory.Take(ctx, size) // until they have been added
		return part, err
	})
	if err != nil {
		return nil, err
	}
	for part, err := range parts {
		if err == nil {
			err = keys.add(part)
		}
		if err != nil {
			keys.close()
			return nil, err
		}
	}
	s.read.took(began)
	if spilled := keys.spilled(); spilled > 0 {
		s.order.says("spilled_bytes=%d", spilled)
	}
	s.order.took(began)
	return s.take.counted(s.inOrder(keys, func(addresses []uint64) (arrow.RecordBatch, error) {
		s.order.rows.Add(int64(len(addresses)))
		return s.dataset.Take(s.take.reading(ctx), s.out.sources, addresses)
	})), nil
}

// keysOf returns the keys of the rows of a batch, only the first ones if there is a limit.
// tail tells of a row what orders it among equal ones, and where it is.
func (s *tableSort) keysOf(batch arrow.RecordBatch, limit int64, tail func(i int) (order, place uint64)) [][]byte {
	n := int(batch.NumRows())
	ends := make([]int, n)
	var block []byte
	for i := range n {
		order, place := tail(i)
		block = appendTail(s.by.appendTo(block, batch, i), order, place)
		ends[i] = len(block)
	}
	keys, start := make([][]byte, n), 0
	for i, end := range ends {
		keys[i], start = block[start:end:end], end
	}
	if limit < int64(n) {
		keys, _ = firstKeys(keys, limit)
	}
	return keys
}

// inOrder yields the rows of sorted keys that are to be answered, a batch at a time, which
// fetch gets by their places.
func (s *tableSort) inOrder(keys *sorter, fetch func(places []uint64) (arrow.RecordBatch, error)) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		skip := s.offset
		var places []uint64
		flush := func() bool {
			if len(places) == 0 {
				return true
			}
			batch, err := fetch(places)
			places = places[:0]
			return yield(batch, err) && err == nil
		}
		for key, err := range keys.sorted() {
			if err != nil {
				yield(nil, err)
				return
			}
			if skip > 0 {
				skip--
				continue
			}
			if places = append(places, keyAt(key)); len(places) == fetchRows && !flush() {
				return
			}
		}
		flush()
	}
}
