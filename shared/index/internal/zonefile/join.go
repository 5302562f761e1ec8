package zonefile

import (
	"context"
	"fmt"
	"maps"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// joinedBytes is the approximate size of the zones that are copied together.
const joinedBytes = 4 << 20

// Join concatenates the zones of several files of one kind into the file of a segment. The files cover
// consecutive rows. Files that differ in columns or parameters are lance.ErrCorrupt.
func Join(ctx context.Context, files []*datafile.File, name string, out index.Output) error {
	j := joiner{nulls: rowset.At()}
	defer j.held.Release()
	for _, file := range files {
		if err := j.add(ctx, file, name, out); err != nil {
			return err
		}
	}
	var encoder index.RowEncoder
	for row := range j.nulls.All() {
		encoder.Add(row)
	}
	number, err := j.file.AddBuffer(encoder.Bytes())
	if err != nil {
		return err
	}
	j.file.SetMetadata(nullsKey, fmt.Sprint(number))
	return j.file.Close(ctx)
}

// A joiner copies the zones of several files to one.
type joiner struct {
	schema *arrow.Schema
	file   index.FileWriter
	nulls  *rowset.Set
	zones  int64
	held   memory.Hold
}

// add copies the zones of a file. The first file begins the segment.
func (j *joiner) add(ctx context.Context, file *datafile.File, name string, out index.Output) error {
	s, err := file.Schema(ctx)
	if err != nil {
		return err
	}
	columns := &index.Columns{File: file, Schema: s, Fields: s.Fields}
	if err := j.begin(ctx, columns, name, out); err != nil {
		return err
	}
	if j.zones += file.NumRows(); j.zones > MaxZones {
		return fmt.Errorf("%w: more than %d zones", lance.ErrUnsupported, MaxZones)
	}
	rows := max(int64(joinedBytes/max(file.BytesPerRow(s.Fields), 1)), 1)
	for from := int64(0); from < file.NumRows(); from += rows {
		if err := j.copy(ctx, columns, from, min(from+rows, file.NumRows())); err != nil {
			return err
		}
	}
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	known, err := Nulls(reading, index.Unkept{}, name, columns, j.nulls)
	if err == nil && !known {
		err = fmt.Errorf("%w: zones without the rows that are NULL", lance.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	return j.held.Resize(ctx, 3*j.nulls.Bytes())
}

// begin creates the file with the columns and parameters of the first input. The other inputs must have the
// same.
func (j *joiner) begin(ctx context.Context, columns *index.Columns, name string, out index.Output) error {
	parameters := maps.Clone(columns.Schema.Metadata)
	delete(parameters, nullsKey)
	fields := make([]arrow.Field, len(columns.Fields))
	for i, f := range columns.Fields {
		fields[i] = arrow.Field{Name: f.Name, Type: f.Type, Nullable: f.Nullable}
	}
	metadata := arrow.MetadataFrom(parameters)
	schema := arrow.NewSchema(fields, &metadata)
	if j.schema != nil {
		if had := j.schema.Metadata(); !j.schema.Equal(schema) || !maps.Equal(had.ToMap(), parameters) {
			return fmt.Errorf("%w: zones of another kind", lance.ErrCorrupt)
		}
		return nil
	}
	var err error
	j.schema = schema
	j.file, err = out.Create(ctx, name, schema)
	return err
}

// copy copies some zones.
func (j *joiner) copy(ctx context.Context, columns *index.Columns, from, to int64) error {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	read, err := columns.Read(reading, from, to)
	if err != nil {
		return err
	}
	return j.file.Write(ctx, array.NewRecordBatch(j.schema, read, to-from))
}
