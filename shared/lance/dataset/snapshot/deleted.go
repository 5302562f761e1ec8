package snapshot

import (
	"context"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// MapDeleted maps over deleted rows that are still stored in the fragments selected by wanted. An
// index may still refer to them.
func MapDeleted[T any](ctx context.Context, s *Snapshot, columns []string, wanted func(fragment uint64) bool, f func(context.Context, arrow.RecordBatch) (T, error)) (iter.Seq2[T, error], error) {
	p, err := s.Project(columns)
	if err != nil {
		return nil, err
	}
	if err := s.loadDeletions(ctx); err != nil {
		return nil, err
	}
	pl := &plan{snapshot: s, fields: p.fields(), to: math.MaxInt64, transient: true}
	if err := pl.deleted(ctx, wanted); err != nil {
		return nil, err
	}
	return mapWindows(ctx, pl, func(ctx context.Context, w window) (arrow.RecordBatch, error) {
		deleted, err := w.fragment.Deletions(ctx)
		if err != nil {
			return nil, err
		}
		return s.assemble(ctx, w, p, deleted.Positions(w.from, w.to), nil)
	}, f), nil
}

// deleted plans windows of the selected fragments that contain deleted rows.
func (p *plan) deleted(ctx context.Context, wanted func(fragment uint64) bool) error {
	for _, f := range p.snapshot.fragments() {
		if f.DeletedRows() == 0 || !wanted(f.Meta.ID) {
			continue
		}
		gone, err := f.Deletions(ctx)
		if err != nil {
			return err
		}
		rowBytes, err := f.RowBytes(ctx, p.fields)
		if err != nil {
			return err
		}
		rows := windowRows(rowBytes)
		for from := int64(0); from < f.Rows; from += rows {
			w := window{fragment: f, from: from, to: min(from+rows, f.Rows), transient: p.transient}
			n := gone.Deleted(w.from, w.to)
			w.live, w.bytes = w.to-w.from-n, int64(float64(n)*rowBytes)
			if n > 0 {
				p.first = append(p.first, w)
			}
		}
	}
	return nil
}
