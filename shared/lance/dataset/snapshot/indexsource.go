package snapshot

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// IndexSource returns the input rows of an index on a column. stores names the row column (address
// or id) that this kind of index stores.
func (s *Snapshot) IndexSource(column, stores string) IndexSource {
	return IndexSource{s, []string{column, stores}}
}

// An IndexSource reads a version as batches of two columns: the value and the row.
type IndexSource struct {
	snapshot *Snapshot
	columns  []string
}

// Rows returns the number of live rows.
func (s IndexSource) Rows() int64 { return s.snapshot.CountRows() }

// RowBytes estimates the bytes of a value.
func (s IndexSource) RowBytes() float64 {
	all, err := s.snapshot.ScanBytes(s.columns[:1])
	if err != nil {
		return 0
	}
	return float64(all) / float64(max(s.Rows(), 1))
}

// StableRowIDs reports whether row ids stay the same when rows move.
func (s IndexSource) StableRowIDs() bool { return s.snapshot.manifest.StableRowIDs() }

// Scan yields rows in table order. span selects a row range of each fragment; nil means all rows.
func (s IndexSource) Scan(ctx context.Context, span func(fragment uint64) (from, to int64)) iter.Seq2[arrow.RecordBatch, error] {
	return s.scan(ctx, ScanOptions{Columns: s.columns, Span: span})
}

func (s IndexSource) scan(ctx context.Context, opts ScanOptions) iter.Seq2[arrow.RecordBatch, error] {
	_, rows, err := s.snapshot.Scan(ctx, opts)
	if err != nil {
		return failed[arrow.RecordBatch](err)
	}
	return rows
}

// failed returns a sequence with only an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// Map calls f with batches of rows on all cores and yields its results in row order. span is as for
// Scan.
func (s IndexSource) Map(ctx context.Context, span func(fragment uint64) (from, to int64), f func(context.Context, arrow.RecordBatch) (any, error)) iter.Seq2[any, error] {
	rows, err := Map(ctx, s.snapshot, ScanOptions{Columns: s.columns, Span: span}, f)
	if err != nil {
		return failed[any](err)
	}
	return rows
}

// runRows is the number of adjacent rows that a sample takes together.
const runRows = 16

// Sample yields about n random rows in table order. It takes them in runs of 16 adjacent rows.
func (s IndexSource) Sample(ctx context.Context, n int64, random *rand.Rand) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		chosen, held := rowset.At(), memory.Hold{}
		defer held.Release()
		if err := s.choose(ctx, chosen, n, random, &held); err != nil {
			yield(nil, err)
			return
		}
		s.scan(ctx, ScanOptions{Columns: s.columns, Rows: chosen})(yield)
	}
}

// choose adds about n rows to a set, in proportion to the rows of each fragment.
func (s IndexSource) choose(ctx context.Context, chosen *rowset.Set, n int64, random *rand.Rand, held *memory.Hold) error {
	if err := s.snapshot.loadDeletions(ctx); err != nil {
		return err
	}
	share := float64(n) / float64(max(s.snapshot.CountRows(), 1))
	for _, f := range s.snapshot.fragments() {
		deleted, err := f.Deletions(ctx)
		if err != nil {
			return err
		}
		var rows []uint64
		runs := (f.Rows + runRows - 1) / runRows
		wanted := int64(math.Ceil(share * float64(runs)))
		// Selection sampling: each run is chosen with the probability that yields wanted runs in
		// total.
		for run := range runs {
			if random.Int64N(runs-run) >= wanted {
				continue
			}
			wanted--
			for start, end := range deleted.Live(run*runRows, min((run+1)*runRows, f.Rows)) {
				for at := start; at < end; at++ {
					rows = append(rows, f.Meta.ID<<32|uint64(at))
				}
			}
		}
		chosen.Add(rows)
		if err := held.Resize(ctx, chosen.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
