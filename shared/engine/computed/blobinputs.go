package computed

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// callBlobBytes bounds the bytes of blobs per call of a function. A row with more fails.
const callBlobBytes = 16 << 20

// blobsOf finds the blobs of rows by parameter, nil for parameters without blobs. It reads their
// positions, but not their bytes.
func (a *application) blobsOf(ctx context.Context, rows arrow.RecordBatch) ([][]snapshot.Blob, error) {
	found := make([][]snapshot.Blob, len(a.params))
	var addresses []uint64
	for i, p := range a.params {
		if p.blob == "" {
			continue
		}
		if addresses == nil {
			at := rows.Schema().FieldIndices(snapshot.RowAddr)
			if len(at) == 0 {
				return nil, fmt.Errorf("function %s gets blobs of rows without addresses", nameOf(a.binding))
			}
			addresses = rows.Column(at[0]).(*array.Uint64).Uint64Values() //nolint:forcetypeassert // the type of addresses
		}
		var err error
		if found[i], err = a.dataset.Blobs(ctx, p.blob, addresses); err != nil {
			return nil, OutOfReach(err)
		}
	}
	return found, nil
}

// fitting returns the number of rows from position from that fit into one call, and the bytes of their blobs. The first
// row is always included, even if it is too large.
func fitting(ctx context.Context, blobs [][]snapshot.Blob, from, to int) (n int, total int64, err error) {
	for at := from; at < to; at++ {
		size := int64(0)
		for _, of := range blobs {
			if of == nil || of[at].Null {
				continue
			}
			length, err := of[at].Length(ctx)
			if err != nil {
				return 0, 0, OutOfReach(err)
			}
			size += length
		}
		if total+size > callBlobBytes && at > from {
			return at - from, total, nil
		}
		total += size
	}
	return to - from, total, nil
}

// blobValues reads blobs into a column.
func blobValues(ctx context.Context, d *dataset.Dataset, blobs []snapshot.Blob) (arrow.Array, error) {
	contents, err := d.Contents(ctx, blobs)
	if err != nil {
		return nil, OutOfReach(err)
	}
	b := array.NewBinaryBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	for i, content := range contents {
		if blobs[i].Null {
			b.AppendNull()
		} else {
			b.Append(content)
		}
	}
	return b.NewArray(), nil
}

// callInParts calls the function with as many rows at a time as the memory and callBlobBytes allow. A row whose blobs are
// too large fails, and its blobs are not read.
func (a *application) callInParts(ctx context.Context, rows arrow.RecordBatch, types []arrow.DataType, done func([]arrow.Array, []udf.Failure) error) error {
	blobs, err := a.blobsOf(ctx, rows)
	if err != nil {
		return err
	}
	for from, all := 0, int(rows.NumRows()); from < all; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, size, err := fitting(ctx, blobs, from, all)
		if err != nil {
			return err
		}
		if size > callBlobBytes {
			failed := udf.Failure{Type: "InputLimit", Message: fmt.Sprintf("the blobs of the row have %d bytes; a function gets %d at most", size, callBlobBytes)}
			columns := make([]arrow.Array, len(types))
			for i, typ := range types {
				columns[i] = take.Nulls(typ, 1)
			}
			if err := done(columns, []udf.Failure{failed}); err != nil {
				return err
			}
			from++
			continue
		}
		held, err := memory.Take(ctx, 2*size) // twice: as read, and in the column
		if err != nil {
			return err
		}
		some := make([][]snapshot.Blob, len(blobs))
		for i, of := range blobs {
			if of != nil {
				some[i] = of[from : from+n]
			}
		}
		part := rows.NewSlice(int64(from), int64(from+n))
		columns, failed, err := a.call(ctx, part, some, types)
		part.Release()
		held.Release()
		if err == nil {
			err = done(columns, failed)
		}
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

// OutOfReach turns the error for a file that this server may not read into Unsupported.
func OutOfReach(err error) error {
	if errors.Is(err, objectstore.ErrLocation) {
		return &protocol.Error{
			Code: protocol.Unsupported, Message: "a blob is stored at a location that this server may not read", Err: fmt.Errorf("read blob: %w", err),
		}
	}
	return err
}
