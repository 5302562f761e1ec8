package relation

import (
	"bytes"
	"container/heap"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/arrow/take"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
)

// mostRuns bounds the runs of an order. A batch of each is in memory while they are merged.
const mostRuns = 256

// makeRoom takes memory for a batch, and returns what was held before. If there is not enough, it writes the rows in memory
// to the spool.
func (s *sorted) makeRoom(batch arrow.RecordBatch) (before int64, err error) {
	need := 2*take.BatchBytes(batch) + batch.NumRows()*(sortkey.Overhead+16)
	for _, key := range s.sorting.keys {
		need += sortkey.Bytes(batch.Column(batch.Schema().FieldIndices(key.column)[0]))
	}
	if before = s.held.Bytes(); len(s.batches) > 0 && before+need > s.most {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	before = s.held.Bytes()
	if err = s.held.Resize(s.ctx, before+need); !memory.TooMuch(err) || len(s.batches) == 0 {
		return before, err
	}
	if err = s.spill(); err != nil {
		return 0, err
	}
	before = s.held.Bytes()
	return before, s.held.Resize(s.ctx, before+need)
}

// spill writes the rows in memory to the spool, in order.
func (s *sorted) spill() error {
	if err := s.first(); err != nil || len(s.batches) == 0 {
		return err
	}
	if s.runs.len() == mostRuns {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "ORDER BY of more rows than %d times the memory of a step holds: add conditions or a limit", mostRuns)
	}
	if err := s.runs.begin(s.batches[0].Schema()); err != nil {
		return err
	}
	if err := s.runs.add(s.batches[0]); err != nil {
		return err
	}
	if err := s.runs.end(); err != nil {
		return err
	}
	s.batches, s.keys, s.count = nil, nil, 0
	s.held.Release()
	return nil
}

// A cursor is a place in a run that is merged with others.
type cursor struct {
	number int // of the run
	next   func() (arrow.RecordBatch, error, bool)
	batch  arrow.RecordBatch
	write  func(key []byte, row int) []byte
	row    int
	key    []byte
	picked []int32 // rows of the batch that are to be yielded
}

// cursors is a heap of cursors by their keys. Of equal ones, that in the earlier run is the first.
type cursors []*cursor

func (c cursors) Len() int { return len(c) }

func (c cursors) Less(i, j int) bool {
	if order := bytes.Compare(c[i].key, c[j].key); order != 0 {
		return order < 0
	}
	return c[i].number < c[j].number
}

func (c cursors) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push is never called: the number of cursors only shrinks.
func (c *cursors) Push(x any) { *c = append(*c, x.(*cursor)) }

// Pop removes the last cursor.
func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// merge yields the rows of all runs and of the memory in order.
func (s *sorted) merge(yield func(arrow.RecordBatch, error) bool) {
	if err := s.spill(); err != nil {
		yield(nil, err)
		return
	}
	var open cursors
	for i, r := range s.runs.runs {
		next, stop := iter.Pull2(r.rows(s.ctx))
		defer stop()
		c := &cursor{number: i, next: next}
		more, err := c.load(s)
		if err != nil {
			yield(nil, err)
			return
		}
		if more {
			open = append(open, c)
		}
	}
	heap.Init(&open)
	var picked []*cursor // a row of each, in order
	for len(open) > 0 {
		c := open[0]
		c.picked, picked = append(c.picked, int32(c.row)), append(picked, c)
		c.row++
		ended := c.row == int(c.batch.NumRows())
		if ended || len(picked) == mostPairs {
			if !s.yield(picked, yield) {
				return
			}
			picked = picked[:0]
		}
		if ended {
			more, err := c.load(s)
			if err != nil {
				yield(nil, err)
				return
			}
			if !more {
				heap.Pop(&open)
				continue
			}
		} else {
			c.key = c.write(c.key[:0], c.row)
		}
		heap.Fix(&open, 0)
	}
}

// load reads the next batch of a run, and reports whether there is one.
func (c *cursor) load(s *sorted) (bool, error) {
	batch, err, more := c.next()
	if err != nil || !more {
		return false, err
	}
	c.batch, c.write, c.row = batch, s.writer(batch), 0
	c.key = c.write(c.key[:0], 0)
	return true, s.ctx.Err()
}

// yield yields a row of each cursor, in this order.
func (s *sorted) yield(picked []*cursor, yield func(arrow.RecordBatch, error) bool) bool {
	made, release, err := s.interleaved(picked)
	if err != nil {
		yield(nil, err)
		return false
	}
	defer release()
	return yield(made, nil)
}

func (s *sorted) interleaved(picked []*cursor) (made arrow.RecordBatch, release func(), err error) {
	var of []*cursor
	first := map[*cursor]int32{} // of its rows, among the rows of all
	rows := make([]int32, len(picked))
	for _, c := range picked {
		if _, ok := first[c]; !ok {
			of, first[c] = append(of, c), 0
		}
	}
	parts := make([]arrow.RecordBatch, len(of))
	var held memory.Hold
	defer func() {
		if err != nil {
			held.Release()
		}
	}()
	at := int32(0)
	for i, c := range of {
		batch := pick(s.out, c.batch)
		bytes := int64(0)
		for _, column := range batch.Columns() {
			bytes += take.Bytes(column, c.picked)
		}
		// The rows of one run are also in order. Those of several are copied twice more.
		if len(of) > 1 {
			bytes *= 3
		}
		if err = held.Resize(s.ctx, held.Bytes()+bytes); err != nil {
			return nil, nil, err
		}
		if parts[i], err = take.Batch(batch, c.picked); err != nil {
			return nil, nil, err
		}
		first[c] = at
		at += int32(len(c.picked))
		c.picked = c.picked[:0]
	}
	if len(of) == 1 {
		return parts[0], held.Release, nil
	}
	for i, c := range picked {
		rows[i] = first[c]
		first[c]++
	}
	if made, err = take.Concat(s.out, parts); err == nil {
		made, err = take.Batch(made, rows)
	}
	return made, held.Release, err
}
