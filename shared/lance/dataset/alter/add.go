package alter

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// NewColumns describes columns to be added to a table.
type NewColumns struct {
	Schema *arrow.Schema // the new columns; without Values, an existing column lists new members of its struct
	// Read names the input columns of Values, as in ScanOptions.
	Read []string
	// Values computes the new columns, with schema Schema, for the rows of a batch. Batches come in
	// table order, each row once; rows are repeated in smaller batches after Values fails for lack
	// of memory. Values charges the new columns to its context's memory budget. Nil makes the
	// columns null, without writing files.
	Values func(context.Context, arrow.RecordBatch) (arrow.RecordBatch, error)
	// Metadata returns the new schema metadata of the table; nil keeps the old. added has the new
	// columns with their field ids.
	Metadata func(added *schema.Schema) (map[string]string, error)
}

// AddColumns writes the values of new columns to additional files of each fragment and commits
// them. Nearly every concurrent commit makes it fail with an error for which dataset.IsRowsChanged
// holds. A taken name, and a non-nullable column without values, are operation.ErrInvalid.
func AddColumns(ctx context.Context, d *dataset.Dataset, c NewColumns) (*dataset.Dataset, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	format, err := d.Format(false)
	if err != nil {
		return nil, err
	}
	fields, highest := d.Schema().PB(), d.Manifest().MaxFieldID()
	if c.Values == nil && format.Version != lance.Legacy { // legacy fragments store all columns
		if fields, c.Schema, err = Adding(d.Snapshot, c.Schema, highest); err != nil {
			return nil, err
		}
		for _, f := range fields {
			highest = max(highest, f.ID)
		}
	}
	added, err := stage.NewSchema(c.Schema, format.Version, highest)
	if err != nil {
		return nil, err
	}
	nullable := true
	for _, f := range added.Fields {
		if d.Schema().Field(f.Name) != nil {
			return nil, fmt.Errorf("%w: there is a column %s already", operation.ErrInvalid, f.Name)
		}
		if !f.Nullable && c.Values == nil {
			return nil, fmt.Errorf("%w: column %s without values must be nullable", operation.ErrInvalid, f.Name)
		}
		nullable = nullable && f.Nullable
	}
	if err := schema.CheckBounds(append(d.Schema().Arrow().Fields(), added.Arrow().Fields()...)); err != nil {
		return nil, err
	}
	if format.Version == lance.Legacy && c.Values == nil {
		// Legacy fragments store all columns, so nulls are written too.
		c.Values = func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
			return nulls(c.Schema, batch.NumRows()), nil
		}
	}
	op := &pb.Merge{
		Fragments:            slices.Clone(d.Manifest().Fragments),
		Schema:               append(fields, added.PB()...),
		SchemaMetadata:       d.Schema().Metadata,
		PreservesNullability: nullable,
	}
	if c.Metadata != nil {
		if op.SchemaMetadata, err = c.Metadata(added); err != nil {
			return nil, err
		}
	}
	merge := &dataset.Change{Read: d, Operation: op}
	if c.Values != nil {
		files, err := addFiles(ctx, d, added, c)
		if err != nil {
			return nil, err
		}
		merge.Wait = files.puts.Wait
		for i, f := range op.Fragments {
			again := *f
			again.Files = append(slices.Clip(f.Files), files.files[i])
			op.Fragments[i] = &again
		}
	}
	return d.Table().Commit(ctx, merge)
}

// addFiles writes the values of new columns.
func addFiles(ctx context.Context, d *dataset.Dataset, added *schema.Schema, c NewColumns) (*columnFiles, error) {
	match, err := added.Match(c.Schema)
	if err != nil {
		return nil, err
	}
	reads := c.Read
	if len(reads) == 0 {
		reads = []string{snapshot.RowAddr} // any column, so that batches have a row count
	}
	p, err := d.Project(reads)
	if err != nil {
		return nil, err
	}
	return writeColumns(ctx, d, added, p, func(ctx context.Context, batch arrow.RecordBatch) ([]arrow.Array, error) {
		values, err := c.Values(ctx, batch)
		if err != nil {
			return nil, err
		}
		if values.NumRows() != batch.NumRows() {
			return nil, fmt.Errorf("%w: %d values for %d rows", operation.ErrInvalid, values.NumRows(), batch.NumRows())
		}
		return match.Columns(values)
	})
}

// nulls returns columns of n nulls.
func nulls(s *arrow.Schema, n int64) arrow.RecordBatch {
	columns := make([]arrow.Array, s.NumFields())
	for i, f := range s.Fields() {
		columns[i] = take.Nulls(f.Type, int(n))
	}
	return array.NewRecordBatch(s, columns, n)
}

// columnFiles holds new files of some columns, one per fragment of a version.
type columnFiles struct {
	files []pb.DataFile
	puts  *errgroup.Group // uploads of small files in flight
}

// writeColumns writes a file for each fragment with the columns that values returns for its live rows.
func writeColumns(ctx context.Context, d *dataset.Dataset, s *schema.Schema, p *snapshot.Projection, values valuesOf) (*columnFiles, error) {
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(snapshot.MaxConcurrentReads)
	out := &columnFiles{puts: puts}
	for _, f := range d.Fragments() {
		file, err := writeColumnsOf(ctx, d, f, s, p, values, puts)
		if err != nil {
			return nil, stage.CauseOf(puts, err)
		}
		out.files = append(out.files, file)
	}
	return out, nil
}

func writeColumnsOf(ctx context.Context, d *dataset.Dataset, f *fragment.Fragment, s *schema.Schema, p *snapshot.Projection, values valuesOf, puts *errgroup.Group) (pb.DataFile, error) {
	file, err := openColumns(ctx, d, f, s, p, values)
	if err != nil {
		return pb.DataFile{}, err
	}
	return file.Close(ctx, puts)
}

// openColumns returns a new file filled with the columns that values computes for a fragment. The
// caller closes or aborts it.
func openColumns(ctx context.Context, d *dataset.Dataset, f *fragment.Fragment, s *schema.Schema, p *snapshot.Projection, values valuesOf) (*stage.File, error) {
	file, err := newColumnFile(ctx, d, f, s)
	if err != nil {
		return nil, err
	}
	w := columnWriter{file: file, schema: s, values: values}
	if _, err := w.write(ctx, d.Stretches(ctx, f, p)); err != nil {
		file.Abort()
		return nil, err
	}
	return file, nil
}

// newColumnFile starts an additional file for a fragment.
func newColumnFile(ctx context.Context, d *dataset.Dataset, f *fragment.Fragment, s *schema.Schema) (*stage.File, error) {
	format, err := d.Format(false)
	if err == nil {
		format, err = format.Beside(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	return d.Table().Stage().NewFile(ctx, s, format)
}

// A valuesOf computes columns for the rows of a batch. Memory that it takes is held until they are
// written.
type valuesOf func(context.Context, arrow.RecordBatch) ([]arrow.Array, error)

// A columnWriter writes computed columns to a file.
type columnWriter struct {
	file   *stage.File
	schema *schema.Schema
	values valuesOf
	once   bool        // do not repeat values with fewer rows for lack of memory
	enough func() bool // reports, between stretches, whether to end the file; nil: never
}

// write writes columns for stretches of rows and returns the number of physical rows.
func (w *columnWriter) write(ctx context.Context, rows iter.Seq2[snapshot.Stretch, error]) (n int64, err error) {
	for stretch, err := range rows {
		if err != nil {
			return n, err
		}
		all := rowchunks.Cut(ctx, stretch.Rows, func(ctx context.Context, from, n int64) (piece, error) {
			return w.columns(ctx, stretch.Slice(from, n))
		})
		if w.once {
			all = rowchunks.Whole(ctx, func(ctx context.Context) (piece, error) { return w.columns(ctx, stretch) })
		}
		for made, err := range all {
			if err == nil {
				err = made.write(ctx, w.file)
			}
			if err != nil {
				return n, err
			}
			n += made.rows
		}
		if w.enough != nil && w.enough() {
			break
		}
	}
	return n, nil
}

// A piece holds the columns of some rows.
type piece struct {
	columns []arrow.Array
	rows    int64
}

// write adds the piece to a file and charges its memory until the file has copied it.
func (p piece) write(ctx context.Context, file *stage.File) error {
	held, err := memory.Take(ctx, sizeOfColumns(p.columns))
	if err != nil {
		return err
	}
	defer held.Release()
	return file.Write(ctx, p.columns, 0, p.rows)
}

func sizeOfColumns(columns []arrow.Array) int64 {
	total := int64(0)
	for _, c := range columns {
		total += datafile.SizeOf(c).Bytes
	}
	return total
}

// columns returns the new columns for all physical rows of a stretch. Deleted rows get arbitrary
// values.
func (w *columnWriter) columns(ctx context.Context, stretch snapshot.Stretch) (made piece, err error) {
	made.rows = stretch.Rows
	if stretch.Batch == nil {
		made.columns = blanks(w.schema, int(stretch.Rows))
		return made, nil
	}
	if made.columns, err = w.values(ctx, stretch.Batch); err != nil || stretch.Live == nil {
		return made, err
	}
	spread := make([]int32, stretch.Rows)
	for i, row := range stretch.Live {
		spread[row] = int32(i)
	}
	for i := range made.columns {
		if made.columns[i], err = take.Array(made.columns[i], spread); err != nil {
			return made, fmt.Errorf("column %s: %w", w.schema.Fields[i].Name, err)
		}
	}
	return made, nil
}

// blanks returns columns of n rows with null or empty values.
func blanks(s *schema.Schema, n int) []arrow.Array {
	columns := make([]arrow.Array, len(s.Fields))
	for i, f := range s.Fields {
		t := f.Type
		if f.IsBlobV2() {
			t = arrow.BinaryTypes.Binary // blob columns also accept plain binary values
		}
		if f.Nullable && take.HasDictionary(t) {
			columns[i] = take.Nulls(t, n) // the dictionary of a legacy file may have no empty value
			continue
		}
		b := array.NewBuilder(arrowmemory.DefaultAllocator, t)
		b.AppendEmptyValues(n)
		columns[i] = b.NewArray()
	}
	return columns
}
