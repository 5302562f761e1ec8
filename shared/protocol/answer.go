package protocol

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// Bytes is an answer made of bytes, which are read as they are asked for.
type Bytes struct {
	Version int64 // of the table that they were read from
	Null    bool  // there is no value; the rest means nothing then
	Size    int64
	// Read returns size bytes from the offset from on, all of which there must be.
	Read func(ctx context.Context, from, size int64) ([]byte, error)
}

// AtVersion returns the version of the table that was read.
func (b *Bytes) AtVersion() int64 { return b.Version }

// Rows is an answer made of Arrow batches.
type Rows struct {
	Schema *arrow.Schema
	// Version is the version of the table that the rows were read from.
	Version int64
	// Batches yields the batches in order, each with Schema, and stops after the first
	// error. It is ranged over once, or never. A batch is only used until the next one.
	Batches iter.Seq2[arrow.RecordBatch, error]
}

// AtVersion returns the version of the table that was read.
func (r *Rows) AtVersion() int64 { return r.Version }
