package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	account "tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// blobBatchBytes is how many bytes of blobs are in a batch, unless one blob has more.
const blobBatchBytes = 16 << 20

// FetchBlobs answers with the values that a blob column has in some rows, in their order.
func (t *Table) FetchBlobs(ctx context.Context, req *protocol.FetchTableBlobsRequest) (*protocol.Rows, error) {
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		blobs, err := blobsOf(ctx, d, req.Column, req.RowIDs)
		if err != nil {
			return nil, err
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: req.Column, Type: arrow.BinaryTypes.LargeBinary, Nullable: true}}, nil)
		rows := &protocol.Rows{Schema: schema, Version: int64(d.Version())}
		rows.Batches = t.translated(ctx, d, func(yield func(arrow.RecordBatch, error) bool) {
			for len(blobs) > 0 {
				n, size, err := fittingBlobs(ctx, blobs)
				var hold account.Hold
				if err == nil { // as they are read, and in the batch
					hold, err = account.Take(ctx, 2*size)
				}
				var batch arrow.RecordBatch
				if err == nil {
					batch, err = blobBatch(ctx, d, schema, blobs[:n])
				}
				more := yield(batch, outOfReach(err))
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

// ReadBlob answers with one value of a blob column, to be read in parts.
func (t *Table) ReadBlob(ctx context.Context, req *protocol.ReadTableBlobRequest) (*protocol.Bytes, error) {
	row, err := req.Row()
	if err != nil {
		return nil, err
	}
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Bytes, error) {
		blobs, err := blobsOf(ctx, d, req.Column, []uint64{row})
		if err != nil {
			return nil, err
		}
		blob := blobs[0]
		size, err := blob.Length(ctx)
		if err != nil {
			return nil, outOfReach(err)
		}
		return &protocol.Bytes{
			Version: int64(d.Version()), Null: blob.Null, Size: size,
			Read: func(ctx context.Context, from, size int64) ([]byte, error) {
				part, err := blob.Read(ctx, from, size)
				return part, t.translate(t.cleanedUp(ctx, d, outOfReach(err)))
			},
		}, nil
	})
}

// blobsOf finds the values of a column in rows of the given ids.
func blobsOf(ctx context.Context, d *dataset.Dataset, column string, ids []uint64) ([]dataset.Blob, error) {
	chain, err := d.Schema().Resolve(column)
	if err != nil {
		return nil, noColumn(d.NoColumn(column))
	}
	if f := chain[len(chain)-1]; !f.IsBlob() {
		return nil, protocol.Errorf(protocol.InvalidInput, "column %s of type %s holds no blobs", column, f.Type)
	}
	addresses, err := d.Addresses(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, address := range addresses {
		if address == dataset.NoAddress {
			return nil, protocol.Errorf(protocol.InvalidInput, "there is no row of id %d in version %d", ids[i], d.Version())
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return d.Blobs(ctx, column, addresses)
}

// fittingBlobs returns how many of the first blobs make a batch, and how many bytes they
// have.
func fittingBlobs(ctx context.Context, blobs []dataset.Blob) (n int, total int64, err error) {
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

func blobBatch(ctx context.Context, d *dataset.Dataset, schema *arrow.Schema, blobs []dataset.Blob) (arrow.RecordBatch, error) {
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

// outOfReach words the error of a blob that is where this server does not read.
func outOfReach(err error) error {
	if errors.Is(err, objectstore.ErrLocation) {
		return &protocol.Error{
			Code: protocol.Unsupported, Message: "a blob is outside of the places that this server reads", Err: fmt.Errorf("read blob: %w", err),
		}
	}
	return err
}
