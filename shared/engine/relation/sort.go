package relation

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/arrow/take"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// A sorting puts rows in order. Rows with equal keys keep the order in which they came. It holds all rows, or with a limit
// about as many as the limit. Rows that do not fit into memory are written to a scratch file, in runs that are in order.
type sorting struct {
	from step
	keys []sortKey
	most int64 // rows of the answer; -1: all
	out  *arrow.Schema
}

// A sortKey is a column to sort by.
type sortKey struct {
	column                 string
	descending, nullsFirst bool
}

// sort adds the order and the limit of a query to a relation.
func (p *planner) sort(r *relation, keys []sortKey, q *syntax.Query) error {
	l := &limit{from: r.step, most: -1}
	if q.Offset != nil {
		l.offset = *q.Offset
	}
	if q.Limit != nil {
		l.most = *q.Limit
	}
	if len(keys) > 0 {
		s := &sorting{from: r.step, keys: keys, most: -1, out: r.step.schema()}
		for i, key := range keys {
			if typ := s.out.Field(s.out.FieldIndices(key.column)[0]).Type; sortkey.Of(typ, false) == nil {
				return sql.Errorf(sql.ErrUnsupported, q.Order[i].Expr.Pos(), "ORDER BY a value of type %s", typ)
			}
		}
		if l.most >= 0 && l.most+l.offset >= 0 {
			s.most = l.most + l.offset
		}
		l.from = s
	}
	r.step = l.from
	if l.offset > 0 || l.most >= 0 {
		r.step = l
	}
	return nil
}

func (s *sorting) schema() *arrow.Schema { return s.out }
func (s *sorting) size() int64           { return s.from.size() }

func (s *sorting) push(condition syntax.Expr) (bool, error) {
	if s.most >= 0 {
		return false, nil
	}
	return s.from.push(condition)
}

func (s *sorting) prune(needed names) {
	s.out = needed.of(s.out)
	for _, key := range s.keys {
		needed = needed.with(key.column)
	}
	s.from.prune(needed)
}

// slack is how many times the rows of a limit are held before those that are not among the first are dropped.
const slack = 4

// fewest is the smallest number of rows that are dropped at once.
const fewest = 16 << 10

func (s *sorting) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		held := &sorted{sorting: s, ctx: ctx, most: memoryOf(ctx)}
		if first := s.keys[0]; s.most > 0 {
			held.leading = sortkey.NewLeading(s.from.schema().Field(s.from.schema().FieldIndices(first.column)[0]).Type, s.most, first.descending, first.nullsFirst)
		}
		defer held.runs.close()
		for batch, err := range batchesOf(ctx, s.from) {
			if err == nil {
				err = held.add(batch)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if err := held.first(); err != nil {
			yield(nil, err)
			return
		}
		if held.runs.len() > 0 {
			held.merge(yield)
			return
		}
		if len(held.batches) == 0 {
			return
		}
		all := pick(s.out, held.batches[0])
		for from := int64(0); from < all.NumRows(); from += mostPairs {
			if !yield(all.NewSlice(from, min(from+mostPairs, all.NumRows())), nil) {
				return
			}
		}
	}
}

// sorted is the rows of a run of a sorting. Their memory is charged to the context until its share is closed, except for
// rows that were dropped.
type sorted struct {
	*sorting
	ctx     context.Context //nolint:containedctx // lives as long as one run
	batches []arrow.RecordBatch
	keys    [][]byte // each ends with the number of its row in batches
	count   int64
	last    []byte           // with as many rows as the limit, the key of the last of them; nil before
	leading *sortkey.Leading // of a limit, unless it is large or its first column has no words
	most    int64            // bytes of rows in memory
	runs    spool            // the rows before them
	held    memory.Hold
}

// add adds a batch. Rows behind the last one that a limit admits are dropped at once.
func (s *sorted) add(batch arrow.RecordBatch) error {
	before, err := s.makeRoom(batch)
	if err != nil {
		return err
	}
	keys, rows, size := s.keysOf(batch)
	if len(rows) == 0 {
		return s.held.Resize(s.ctx, before)
	}
	if len(rows) < int(batch.NumRows()) {
		if batch, err = take.Batch(batch, rows); err != nil {
			return err
		}
	} else {
		batch.Retain()
	}
	// Twice, for the rows in order.
	if err := s.held.Resize(s.ctx, before+2*take.BatchBytes(batch)+size); err != nil {
		return err
	}
	s.batches, s.keys = append(s.batches, batch), append(s.keys, keys...)
	s.count += int64(len(keys))
	if s.sorting.most >= 0 && s.count > max(slack*s.sorting.most, fewest) {
		return s.first()
	}
	return nil
}

// keysOf returns the keys of rows of a batch that may be among the first, and their memory.
func (s *sorted) keysOf(batch arrow.RecordBatch) (keys [][]byte, rows []int32, size int64) {
	key := s.writer(batch)
	var next []byte
	add := func(i int32) {
		next = key(next[:0], int(i))
		if s.last != nil && bytes.Compare(next, s.last) >= 0 {
			return
		}
		next = binary.BigEndian.AppendUint64(next, uint64(s.count)+uint64(len(rows)))
		rows, keys = append(rows, i), append(keys, slices.Clone(next))
		size += int64(len(next)) + sortkey.Overhead + 8
	}
	if s.leading == nil {
		for i := range int32(batch.NumRows()) {
			add(i)
		}
		return keys, rows, size
	}
	for _, i := range s.leading.Rows(nil, batch.Column(batch.Schema().FieldIndices(s.sorting.keys[0].column)[0])) {
		add(i)
	}
	return keys, rows, size
}

// writer returns the function that appends the key of a row of a batch.
func (s *sorting) writer(batch arrow.RecordBatch) func(key []byte, row int) []byte {
	columns, write := make([]arrow.Array, len(s.keys)), make([]sortkey.Append, len(s.keys))
	for i, key := range s.keys {
		columns[i] = batch.Column(batch.Schema().FieldIndices(key.column)[0])
		write[i] = sortkey.Of(columns[i].DataType(), key.nullsFirst != key.descending)
	}
	return func(key []byte, row int) []byte {
		for k, c := range columns {
			from := len(key)
			if key = write[k](key, c, row); s.keys[k].descending {
				for b := from; b < len(key); b++ {
					key[b] = ^key[b]
				}
			}
		}
		return key
	}
}

// first puts the rows in order and drops those behind the limit.
func (s *sorted) first() error {
	if len(s.batches) == 0 {
		return nil
	}
	most := s.sorting.most
	if most < 0 {
		most = s.count
	}
	s.keys, _ = sortkey.First(s.keys, most)
	rows := make([]int32, len(s.keys))
	for i, key := range s.keys {
		rows[i] = int32(binary.BigEndian.Uint64(key[len(key)-8:]))
	}
	all, err := take.Concat(s.batches[0].Schema(), s.batches)
	if err != nil {
		return err
	}
	made, err := take.Batch(all, rows)
	if err != nil {
		return err
	}
	size := 2 * take.BatchBytes(made)
	for i, key := range s.keys {
		size += int64(len(key)) + sortkey.Overhead
		binary.BigEndian.PutUint64(key[len(key)-8:], uint64(i))
	}
	s.batches, s.count = []arrow.RecordBatch{made}, made.NumRows()
	if n := len(s.keys); n > 0 && int64(n) == s.sorting.most {
		s.last = slices.Clone(s.keys[n-1][:len(s.keys[n-1])-8])
	}
	if size > s.held.Bytes() {
		return nil
	}
	return s.held.Resize(s.ctx, size)
}

func (s *sorting) explain(ctx context.Context, w *writer) error {
	texts := make([]string, len(s.keys))
	for i, key := range s.keys {
		texts[i] = key.column
		if key.descending {
			texts[i] += " desc"
		}
		if key.nullsFirst {
			texts[i] += " nulls first"
		}
	}
	text := "Sort: by=[" + strings.Join(texts, ", ") + "]"
	if s.most >= 0 {
		return w.step(text+" first=%d", s.most)(ctx, s.from)
	}
	return w.step("%s", text)(ctx, s.from)
}
