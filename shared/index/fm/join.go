package fm

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/process/memory"
)

// FileName returns the file name of a partition, counted from 0.
func FileName(partition int) string { return fileStart + strconv.Itoa(partition) + fileEnd }

// Join writes a segment from the partitions of several builds with disjoint rows. It renumbers the
// partitions, and skips the empty partition of a build without rows.
func Join(ctx context.Context, partitions iter.Seq2[*datafile.File, error], out index.Output) error {
	joined := 0
	for file, err := range partitions {
		if err != nil {
			return err
		}
		s, err := file.Schema(ctx)
		if err != nil {
			return err
		}
		if s.Metadata[rowsKey] == "" {
			continue
		}
		if joined == maxPartitions {
			return errPartitions
		}
		if err := copyPartition(ctx, file, FileName(joined), out); err != nil {
			return err
		}
		joined++
	}
	if joined > 0 {
		return nil
	}
	return (&builder{out: out}).index(ctx, &texts{}, FileName(0))
}

// errPartitions reports that a segment would have more partitions than a Reader accepts.
var errPartitions = fmt.Errorf("%w: an FM index of more than %d partitions in a segment", lance.ErrUnsupported, maxPartitions)

// copyPartition copies the file of a partition.
func copyPartition(ctx context.Context, from *datafile.File, name string, out index.Output) error {
	var names []string
	for _, f := range fileSchema.Fields() {
		names = append(names, f.Name)
	}
	columns, err := index.ColumnsOf(ctx, from, names...)
	if err != nil {
		return err
	}
	for i, f := range columns.Fields {
		if !arrow.TypeEqual(f.Type, fileSchema.Field(i).Type) {
			return fmt.Errorf("%w: column %s of type %s", lance.ErrCorrupt, f.Name, f.Type)
		}
	}
	file, err := out.Create(ctx, name, fileSchema)
	if err != nil {
		return err
	}
	for key, value := range columns.Schema.Metadata {
		file.SetMetadata(key, value)
	}
	for at := int64(0); at < from.NumRows(); at += rowsAtOnce {
		if err := copyRows(ctx, columns, at, min(at+rowsAtOnce, from.NumRows()), file); err != nil {
			return err
		}
	}
	return file.Close(ctx)
}

// copyRows copies rows [from, to) of a partition file. Their memory is reserved only for the copy.
func copyRows(ctx context.Context, columns *index.Columns, from, to int64, file index.FileWriter) error {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	read, err := columns.Read(reading, from, to)
	if err != nil {
		return err
	}
	return file.Write(ctx, array.NewRecordBatch(fileSchema, read, to-from))
}
