package alter

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// ColumnValues computes new values of columns.
type ColumnValues struct {
	Columns []string
	// Read names the input columns of Values, as in ScanOptions.
	Read []string
	// Values computes the columns for the rows of a batch and counts the rows with possibly changed
	// values. Batches come in fragment order, each row once; rows are repeated in smaller batches
	// after Values fails for lack of memory. Values charges the new values to its context's memory
	// budget.
	Values func(context.Context, arrow.RecordBatch) (values []arrow.Array, changed int64, err error)
	// AtOnce bounds the rows per call of Values; 0 means no bound. After each call, Enough decides
	// whether the file ends there; nil means never.
	AtOnce int64
	Enough func() bool
	// Once prevents repeated calls of Values for a row, even if its result exceeds the memory.
	Once bool
}

// A ColumnPiece holds new column values of consecutive physical rows of a fragment.
type ColumnPiece struct {
	From, To int64
	// File holds the values. Nil means that no value changes.
	File    *pb.DataFile
	Changed int64 // rows whose values may have changed
}

// StageColumns writes a file with new column values for rows [from, to) of a fragment, or for fewer
// rows if v.Enough ends it. It writes no file if no value changes.
//
// A file with all rows of a fragment can be committed by a [pb.DataReplacement], together with
// files of other fragments. [JoinColumns] joins several pieces to one file.
func StageColumns(ctx context.Context, d *dataset.Dataset, f *fragment.Fragment, v ColumnValues, from, to int64) (ColumnPiece, error) {
	piece := ColumnPiece{From: from, To: to}
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return piece, err
	}
	columns, err := d.Schema().Project(v.Columns)
	if err != nil {
		return piece, err
	}
	p, err := d.Project(v.Read)
	if err != nil {
		return piece, err
	}
	file, err := newColumnFile(ctx, d, f, columns)
	if err != nil {
		return piece, err
	}
	rows := d.StretchesOf(ctx, f, p, from, to)
	if v.AtOnce > 0 {
		rows = cut(rows, v.AtOnce)
	}
	w := columnWriter{file: file, schema: columns, once: v.Once, enough: v.Enough}
	w.values = func(ctx context.Context, batch arrow.RecordBatch) ([]arrow.Array, error) {
		values, n, err := v.Values(ctx, batch)
		piece.Changed += n
		return values, err
	}
	n, err := w.write(ctx, rows)
	// Without a changed value the written bytes are worthless: abandon the file.
	if piece.To = from + n; err != nil || piece.Changed == 0 {
		file.Abort()
		return piece, err
	}
	piece.File, err = closeColumns(ctx, file)
	return piece, err
}

// cut yields stretches of at most most rows.
func cut(stretches iter.Seq2[snapshot.Stretch, error], most int64) iter.Seq2[snapshot.Stretch, error] {
	return func(yield func(snapshot.Stretch, error) bool) {
		for stretch, err := range stretches {
			if err != nil {
				yield(stretch, err)
				return
			}
			for _, piece := range stretch.Cut(most) {
				if !yield(piece, nil) {
					return
				}
			}
		}
	}
}

// closeColumns completes a file and waits until it is durable.
func closeColumns(ctx context.Context, file *stage.File) (*pb.DataFile, error) {
	puts := new(errgroup.Group)
	made, err := file.Close(ctx, puts)
	if err != nil {
		return nil, stage.CauseOf(puts, err)
	}
	return &made, puts.Wait()
}

// JoinColumns writes the values of adjacent pieces of a fragment to one file. At least one piece
// must have a file. The pieces were made from d or from a version with the same values of the
// columns.
func JoinColumns(ctx context.Context, d *dataset.Dataset, f *fragment.Fragment, columns []string, pieces []ColumnPiece) (ColumnPiece, error) {
	joined := ColumnPiece{From: pieces[0].From, To: pieces[0].From}
	for _, p := range pieces {
		if p.From != joined.To || p.To < p.From || p.To > f.Rows {
			return joined, fmt.Errorf("%w: rows %d to %d of fragment %d follow row %d of %d", operation.ErrInvalid, p.From, p.To, f.Meta.ID, joined.To, f.Rows)
		}
		joined.To = p.To
		joined.Changed += p.Changed
	}
	s, err := d.Schema().Project(columns)
	if err != nil {
		return joined, err
	}
	file, err := newColumnFile(ctx, d, f, s)
	if err != nil {
		return joined, err
	}
	for _, p := range pieces {
		if err := copyPiece(ctx, d, file, f, s, columns, p); err != nil {
			file.Abort()
			return joined, err
		}
	}
	joined.File, err = closeColumns(ctx, file)
	return joined, err
}

// copyPiece writes the values of a piece to a file.
func copyPiece(ctx context.Context, d *dataset.Dataset, file *stage.File, f *fragment.Fragment, s *schema.Schema, columns []string, piece ColumnPiece) error {
	from, first, end := d.Snapshot, piece.From, piece.To
	if piece.File != nil {
		var err error
		part := &pb.Fragment{ID: f.Meta.ID, PhysicalRows: uint64(piece.To - piece.From), Files: []pb.DataFile{*piece.File}}
		if d.Manifest().StableRowIDs() { // every fragment of such a table must have ids; these are never used
			part.RowIDs = rowid.Range(0, part.PhysicalRows).Encode()
		}
		if from, err = d.Part([]*pb.Fragment{part}); err != nil {
			return err
		}
		f, first, end = from.Fragments()[0], 0, piece.To-piece.From
	}
	p, err := from.Project(columns)
	if err != nil {
		return err
	}
	w := columnWriter{file: file, schema: s}
	w.values = func(ctx context.Context, batch arrow.RecordBatch) ([]arrow.Array, error) {
		return batch.Columns(), ctx.Err()
	}
	_, err = w.write(ctx, from.StretchesOf(ctx, f, p, first, end))
	return err
}
