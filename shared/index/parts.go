package index

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
)

// Parts builds an index in parts on several workers in parallel. All parts read the same version of the
// table.
//
//   - Train learns the model that all shards use.
//   - Each Shard reads some rows and writes intermediate files to the folder of a staged segment, the
//     stage.
//   - Each Join combines the shards of some fragments into a segment. For a [Whole] it combines some
//     shards into a part of the only segment.
//
// Several attempts at a shard may run at the same time, so each has a unique name, with which its file
// names begin.
type Parts interface {
	// Write writes the files of a segment of all rows, without any parts.
	Write(ctx context.Context, out Output) error
	// Train writes the model. It returns false if there are too few rows to train with.
	Train(ctx context.Context, out Output) (enough bool, err error)
	// Shard reads rows and writes files whose names begin with name, which becomes the name of the Shard.
	Shard(ctx context.Context, rows Span, name string, staged Staged, out Output) (Shard, error)
	// Join writes the files of a segment, or of a part of a [Whole].
	Join(ctx context.Context, shards []Shard, staged Staged, out Output) (Joined, error)
	// Effort estimates the work.
	Effort() Effort
}

// A Whole is an index whose joins make parts of one segment. So the shards of a join need not cover whole
// fragments. Several attempts at a join may run at the same time, so their files have unique names.
type Whole interface {
	Parts
	// Complete writes the remaining files of the segment, beside the files of its parts.
	Complete(ctx context.Context, parts []Joined, out Output) error
}

// Staged opens the files of a build that other parts have written, by name.
type Staged struct {
	Trained func(ctx context.Context, name string) (*datafile.File, error) // of [Parts.Train]
	Shards  func(ctx context.Context, name string) (*datafile.File, error)
}

// A Shard describes the files of a shard. It is stored in the state of jobs.
type Shard struct {
	Name       string   `json:"name"`
	Rows       int64    `json:"rows"`           // of the table
	Keys       int64    `json:"keys"`           // that a join passes on
	Bytes      int64    `json:"bytes"`          // of these
	Held       int64    `json:"held,omitempty"` // bytes that a join has in memory as long as it works
	Loss       float64  `json:"loss,omitempty"`
	Partitions []uint64 `json:"partitions,omitempty"` // of an index of texts
}

// Joined describes a part of a [Whole] that a join has made. It is stored in the state of jobs.
type Joined struct {
	Partitions []uint64 `json:"partitions,omitempty"` // of an index of texts
}

// An Effort estimates the cost of parts on one core.
type Effort struct {
	RowNanos float64 // nanoseconds per row in a shard, without reading it
	RowBytes float64 // bytes of a row that are read
	Held     float64 // bytes of memory per row of a shard until it is written
	KeyNanos float64 // nanoseconds for a key in a join
}

// Counted passes batches on, and adds their rows to rows.
func Counted(batches iter.Seq2[arrow.RecordBatch, error], rows *int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if err == nil {
				*rows += batch.NumRows()
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

// watchEvery is the number of keys per progress report.
const watchEvery = 1 << 14

// Watched passes keys on, and reports their number to Watch.
func (b Build) Watched(keys iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	if b.Watch == nil {
		return keys
	}
	return func(yield func([]byte, error) bool) {
		n := int64(0)
		for key, err := range keys {
			if n++; n%watchEvery == 0 {
				b.Watch(watchEvery)
			}
			if !yield(key, err) {
				return
			}
		}
	}
}

// OpenShards opens the only file of each shard, which has the name of the shard.
func OpenShards(ctx context.Context, shards []Shard, staged Staged) ([]*datafile.File, error) {
	var files []*datafile.File
	for _, s := range shards {
		file, err := staged.Shards(ctx, s.Name)
		if err != nil {
			return nil, fmt.Errorf("a shard of the index: %w", err)
		}
		if file.NumRows() != s.Keys {
			return nil, fmt.Errorf("%w: %d keys of a shard of the index, want %d", lance.ErrCorrupt, file.NumRows(), s.Keys)
		}
		files = append(files, file)
	}
	return files, nil
}

// A RenamedOutput renames files, and counts files and rows. It is not safe for concurrent use.
type RenamedOutput struct {
	Output
	Name  func(file string) string
	Files int64
	Rows  int64
	Bytes int64
}

// Create implements Output.
func (r *RenamedOutput) Create(ctx context.Context, name string, schema *arrow.Schema) (FileWriter, error) {
	file, err := r.Output.Create(ctx, r.Name(name), schema)
	r.Files++
	return counting{file, r}, err
}

// counting counts the rows of a file.
type counting struct {
	FileWriter
	of *RenamedOutput
}

// Write implements FileWriter.
func (c counting) Write(ctx context.Context, rows arrow.RecordBatch) error {
	c.of.Rows += rows.NumRows()
	for _, column := range rows.Columns() {
		c.of.Bytes += int64(column.Data().SizeInBytes())
	}
	return c.FileWriter.Write(ctx, rows)
}
