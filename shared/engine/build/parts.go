package build

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/runs"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/sortkey"
)

// Parts build an index in parts, which several workers make side by side. All parts read the same
// version of the table.
//
//   - Train learns what all shards share.
//   - Each Shard reads some rows and writes what it makes of them, as files in the folder of a staged
//     segment, the stage.
//   - Each Join makes a segment of the shards of some fragments; or, of an index that is a [Whole], a part of
//     the only segment of some shards.
//
// Several tries at a shard may write at the same time, so each has a name of its own, which is that of
// its files.
type Parts interface {
	// Train writes what shards share. It is false if there are too few rows to train with.
	Train(ctx context.Context, out index.Output) (enough bool, err error)
	// Shard reads rows and writes files whose names begin with a name. The name of a Shard is that.
	Shard(ctx context.Context, rows Span, name string, staged Staged, out index.Output) (Shard, error)
	// Join writes the files of a segment, or of a part of a [Whole].
	Join(ctx context.Context, shards []Shard, staged Staged, out index.Output) (Joined, error)
	// Effort estimates the work.
	Effort() Effort
}

// A Whole is an index whose joins make parts of one segment. So the shards of one join need not be those of whole
// fragments. Several tries at a join may write at the same time, so their files have names of their own.
type Whole interface {
	Parts
	// Complete writes what the segment has beside the files of its parts.
	Complete(ctx context.Context, parts []Joined, out index.Output) error
}

// Span returns which rows of a fragment belong to a shard: from one number to before another.
type Span = func(fragment uint64) (from, to int64)

// Staged are the files of a build that other parts have written. Each function opens one by its name.
type Staged struct {
	Trained func(ctx context.Context, name string) (*datafile.File, error) // of [Parts.Train]
	Shards  func(ctx context.Context, name string) (*datafile.File, error)
}

// NewStaged returns the files in two folders, each named by the id of a segment that is not committed.
func NewStaged(d *dataset.Dataset, trained, shards string) Staged {
	in := func(folder string) func(ctx context.Context, name string) (*datafile.File, error) {
		return func(ctx context.Context, name string) (*datafile.File, error) { return d.OpenStaged(ctx, folder, name) }
	}
	return Staged{Trained: in(trained), Shards: in(shards)}
}

// A Shard describes the files of a shard. It is part of the state of jobs.
type Shard struct {
	Name       string   `json:"name"`
	Rows       int64    `json:"rows"`           // of the table
	Keys       int64    `json:"keys"`           // that a join passes on
	Bytes      int64    `json:"bytes"`          // of these
	Held       int64    `json:"held,omitempty"` // bytes that a join has in memory as long as it works
	Loss       float64  `json:"loss,omitempty"`
	Partitions []uint64 `json:"partitions,omitempty"` // of an index of texts
}

// Joined describes the part of a [Whole] that a join has made. It is part of the state of jobs.
type Joined struct {
	Partitions []uint64 `json:"partitions,omitempty"` // of an index of texts
}

// An Effort is about what parts take on one core.
type Effort struct {
	RowNanos float64 // nanoseconds for a row in a shard, without those to read it
	RowBytes float64 // bytes of a row that are read
	Held     float64 // bytes of memory for a row in a shard until it is written
	KeyNanos float64 // nanoseconds for a key in a join
}

// Divide returns how the index is built in parts on a version. Errors are those of Resolve.
func (n Index) Divide(d *dataset.Dataset) (Parts, error) {
	p, err := n.plan(d)
	return p.parts, err
}

// Stage writes files of a staged segment, and returns when they are durable.
func Stage(ctx context.Context, d *dataset.Dataset, id string, write func(ctx context.Context, out index.Output) error) ([]dataset.StagedFile, error) {
	return d.StageSegment(ctx, id, func(ctx context.Context, out *dataset.SegmentFiles) error { return write(ctx, segment{out}) })
}

// A source is the rows of a column that an index is built of.
type source struct {
	dataset *dataset.Dataset
	column  string
	stores  string // the row column whose values the index stores
	kind    arrow.DataType
	watch   func(rows int64) // is called with how many rows were read; may be nil
}

// scan returns rows; all if span is nil.
func (s source) scan(ctx context.Context, span Span) (iter.Seq2[arrow.RecordBatch, error], error) {
	_, rows, err := s.dataset.Scan(ctx, snapshot.ScanOptions{Columns: []string{s.column, s.stores}, Span: span})
	if err != nil || s.watch == nil {
		return rows, err
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows {
			if err == nil {
				s.watch(batch.NumRows())
			}
			if !yield(batch, err) {
				return
			}
		}
	}, nil
}

// rowBytes is about how many bytes a value has.
func (s source) rowBytes() float64 {
	all, err := s.dataset.ScanBytes([]string{s.column})
	if err != nil {
		return 0
	}
	return float64(all) / float64(max(s.dataset.CountRows(), 1))
}

// sorting builds an index whose kind writes its files of sorted keys.
type sorting struct {
	source
	keysOf  float64 // keys of a byte of a value; 0 is one of each value
	sort    func(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error]) (*sortkey.Sorter, error)
	combine func(ctx context.Context, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error
}

// write builds a segment of all rows.
func (s sorting) write(ctx context.Context, out index.Output) error {
	rows, err := s.scan(ctx, nil)
	if err != nil {
		return err
	}
	sorter, err := s.sort(ctx, s.kind, rows)
	if err != nil {
		return err
	}
	defer sorter.Close()
	return s.combine(ctx, s.kind, sorter.Sorted(), out)
}

// Train implements Parts.
func (s sorting) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements Parts.
func (s sorting) Effort() Effort {
	const keyNanos, numberBytes = 1000, 9 // to sort a key and to write it; what it has beside the value
	e := Effort{RowBytes: s.rowBytes(), KeyNanos: keyNanos}
	if s.keysOf == 0 {
		e.RowNanos, e.Held = keyNanos, e.RowBytes+numberBytes+sortkey.Overhead
	} else {
		keys := e.RowBytes * s.keysOf
		e.RowNanos, e.Held = keyNanos*keys, keys*(4+numberBytes+sortkey.Overhead)
	}
	return e
}

// Shard implements Parts.
func (s sorting) Shard(ctx context.Context, span Span, name string, _ Staged, out index.Output) (Shard, error) {
	rows, err := s.scan(ctx, span)
	if err != nil {
		return Shard{}, err
	}
	shard := Shard{Name: name}
	sorter, err := s.sort(ctx, s.kind, counted(rows, &shard.Rows))
	if err != nil {
		return Shard{}, err
	}
	defer sorter.Close()
	shard.Keys, shard.Bytes, err = runs.Write(ctx, sorter.Sorted(), out, name)
	return shard, err
}

// counted counts rows as they are read.
func counted(batches iter.Seq2[arrow.RecordBatch, error], rows *int64) iter.Seq2[arrow.RecordBatch, error] {
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

// Join implements Parts.
func (s sorting) Join(ctx context.Context, shards []Shard, staged Staged, out index.Output) (_ Joined, err error) {
	defer index.Contain(&err)
	files, err := open(ctx, shards, staged)
	if err != nil {
		return Joined{}, err
	}
	keys := runs.Merge(ctx, files)
	if s.watch != nil {
		keys = watched(keys, s.watch)
	}
	return Joined{}, s.combine(ctx, s.kind, keys, out)
}

// watchEvery is how many keys are reported together.
const watchEvery = 1 << 14

// watched reports keys as they are read.
func watched(keys iter.Seq2[[]byte, error], watch func(keys int64)) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		n := int64(0)
		for key, err := range keys {
			if n++; n%watchEvery == 0 {
				watch(watchEvery)
			}
			if !yield(key, err) {
				return
			}
		}
	}
}

// open opens the files of shards, each of which has one of its own name and all its keys.
func open(ctx context.Context, shards []Shard, staged Staged) ([]*datafile.File, error) {
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
