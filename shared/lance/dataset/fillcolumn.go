package dataset

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// ColumnValues are new values of columns.
type ColumnValues struct {
	Columns []string
	// Read are the columns, as in ScanOptions, that Values looks at.
	Read []string
	// Values returns the columns for the rows of a batch, in their types, and in how many rows they
	// may differ from what they were. It is called with the rows of a fragment in their order, each
	// once, or again with fewer of them after it was refused memory. It takes the memory of new values from
	// the share of its context.
	Values func(context.Context, arrow.RecordBatch) (values []arrow.Array, changed int64, err error)
	// AtOnce is how many rows Values gets at once at most, and Enough is asked after each such call whether
	// the file ends there. 0 and nil are no bounds.
	AtOnce int64
	Enough func() bool
	// Once means that Values is called once for each row, whether there is memory for its result or not.
	Once bool
}

// A ColumnPiece is new values of columns for consecutive rows of a fragment, deleted ones too.
type ColumnPiece struct {
	From, To int64
	// File holds the values. Nil: the rows keep the values that they have.
	File    *pb.DataFile
	Changed int64 // rows whose values may be others than before
}

// StageColumns writes a file with new values of columns for some rows of a fragment, from one to before
// another or to where v ends it. If no value changes there is no file.
//
// A file of all rows of a fragment is committed as the new file of a [pb.DataReplacement], those of several
// fragments together. [Dataset.JoinColumns] makes one of several pieces.
func (d *Dataset) StageColumns(ctx context.Context, f *fragment.Fragment, v ColumnValues, from, to int64) (ColumnPiece, error) {
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
	file, err := d.newColumnFile(ctx, f, columns)
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

// closeColumns completes a file, which is then durable.
func closeColumns(ctx context.Context, file *stage.File) (*pb.DataFile, error) {
	puts := new(errgroup.Group)
	made, err := file.Close(ctx, puts)
	if err != nil {
		return nil, stage.CauseOf(puts, err)
	}
	return &made, puts.Wait()
}

// JoinColumns writes one file with the values of neighbouring pieces of a fragment, in their order, at least
// one of which has a file. The pieces are those of d or of a version that has the same values of the columns.
func (d *Dataset) JoinColumns(ctx context.Context, f *fragment.Fragment, columns []string, pieces []ColumnPiece) (ColumnPiece, error) {
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
	file, err := d.newColumnFile(ctx, f, s)
	if err != nil {
		return joined, err
	}
	for _, p := range pieces {
		if err := d.copyPiece(ctx, file, f, s, columns, p); err != nil {
			file.Abort()
			return joined, err
		}
	}
	joined.File, err = closeColumns(ctx, file)
	return joined, err
}

// copyPiece writes the values of a piece to a file.
func (d *Dataset) copyPiece(ctx context.Context, file *stage.File, f *fragment.Fragment, s *schema.Schema, columns []string, piece ColumnPiece) error {
	from, first, end := d.Snapshot, piece.From, piece.To
	if piece.File != nil {
		var err error
		part := &pb.Fragment{ID: f.Meta.ID, PhysicalRows: uint64(piece.To - piece.From), Files: []pb.DataFile{*piece.File}}
		if d.Manifest().StableRowIDs() { // each fragment of such a table has ids; nobody asks for these
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
