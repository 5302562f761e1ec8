// Package blobs reads values of blob columns, whole or in parts.
package blobs

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// blobBatchBytes bounds the bytes of blobs in one batch. A larger blob gets a batch of its own.
const blobBatchBytes = 16 << 20

// Fetch returns the values of a blob column in the rows with the given ids, in the order of ids. A
// nil version means the newest.
func Fetch(ctx context.Context, t *engine.Table, version *int64, column string, ids []uint64) (*protocol.Rows, error) {
	return engine.Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		blobs, err := blobsOf(ctx, d, column, ids)
		if err != nil {
			return nil, err
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: column, Type: arrow.BinaryTypes.LargeBinary, Nullable: true}}, nil)
		rows := &protocol.Rows{Schema: schema, Version: int64(d.Version())}
		rows.Batches = t.Reading(ctx, d, func(yield func(arrow.RecordBatch, error) bool) {
			for len(blobs) > 0 {
				n, size, err := fittingBlobs(ctx, blobs)
				var hold account.Hold
				if err == nil { // the bytes exist twice: as read, and in the batch
					hold, err = account.Take(ctx, 2*size)
				}
				var batch arrow.RecordBatch
				if err == nil {
					batch, err = blobBatch(ctx, d, schema, blobs[:n])
				}
				more := yield(batch, computed.OutOfReach(err))
				hold.Release()
				if !more || err != nil {
					return
				}
				blobs = blobs[n:]
			}
		})
		return rows, nil
	})
}

// Open opens one value of a blob column for reading in parts. It is the value in the row with the
// given id. A nil version means the newest.
func Open(ctx context.Context, t *engine.Table, version *int64, column string, id uint64) (*protocol.Bytes, error) {
	return engine.Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Bytes, error) {
		blobs, err := blobsOf(ctx, d, column, []uint64{id})
		if err != nil {
			return nil, err
		}
		blob := blobs[0]
		size, err := blob.Length(ctx)
		if err != nil {
			return nil, computed.OutOfReach(err)
		}
		return &protocol.Bytes{
			Version: int64(d.Version()), Null: blob.Null, Size: size,
			Read: func(ctx context.Context, from, size int64) ([]byte, error) {
				part, err := blob.Read(ctx, from, size)
				return part, t.Failure(ctx, d, computed.OutOfReach(err))
			},
		}, nil
	})
}

// blobsOf finds the values of a column in the rows with the given ids.
func blobsOf(ctx context.Context, d *dataset.Dataset, column string, ids []uint64) ([]snapshot.Blob, error) {
	chain, err := d.Schema().Resolve(column)
	if err != nil {
		return nil, apierror.NoColumn(d.NoColumn(column))
	}
	if f := chain[len(chain)-1]; !f.IsBlob() {
		return nil, protocol.Errorf(protocol.InvalidInput, "column %s of type %s holds no blobs", column, f.Type)
	}
	addresses, err := d.Addresses(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, address := range addresses {
		if address == snapshot.NoAddress {
			return nil, protocol.Errorf(protocol.InvalidInput, "version %[2]d has no row with the id %[1]d", ids[i], d.Version())
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return d.Blobs(ctx, column, addresses)
}

// fittingBlobs returns the number of leading blobs that fit into a batch, at least one, and their
// size in bytes.
func fittingBlobs(ctx context.Context, blobs []snapshot.Blob) (n int, total int64, err error) {
	for i, b := range blobs {
		size, err := b.Length(ctx)
		if err != nil {
			return 0, 0, err
		}
		if total+size > blobBatchBytes && i > 0 {
			return i, total, nil
		}
		total += size
	}
	return len(blobs), total, nil
}

// blobBatch reads blobs into a batch with one column.
func blobBatch(ctx context.Context, d *dataset.Dataset, schema *arrow.Schema, blobs []snapshot.Blob) (arrow.RecordBatch, error) {
	contents, err := d.Contents(ctx, blobs)
	if err != nil {
		return nil, err
	}
	values := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	for i, content := range contents {
		if blobs[i].Null {
			values.AppendNull()
		} else {
			values.Append(content)
		}
	}
	return array.NewRecordBatch(schema, []arrow.Array{values.NewArray()}, int64(len(blobs))), nil
}
