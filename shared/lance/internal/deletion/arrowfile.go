package deletion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/lance"
)

// An Arrow deletion file is an Arrow IPC file of one shape: one batch with one column of
// offsets, "row_id", of type uint32 and without nulls, the body plain or compressed with
// zstd.
//
//	"ARROW1", padded to 64 bytes by native Lance, to 8 by others
//	Schema message
//	RecordBatch message, then the body: validity (empty), values
//	end of the stream
//	Footer, i32 length of the Footer, "ARROW1"
//
// What lies between the padding and the Footer is an Arrow IPC stream, which begins with
// the bytes ff ff ff ff. The Footer is not needed to read it.
//
// Source: format/File.fbs and format/Message.fbs of Apache Arrow.
const (
	columnName = "row_id"
	arrowMagic = "ARROW1"

	// maxArrowRows bounds the decompressed size. Writers use bitmaps for far fewer rows.
	maxArrowRows = 1 << 22
)

// parseArrow parses an Arrow deletion file of a fragment with physicalRows rows. The caller
// reserves the memory.
func parseArrow(data []byte, physicalRows uint64) (*Vector, error) {
	if !bytes.HasPrefix(data, []byte(arrowMagic)) || !bytes.HasSuffix(data, []byte(arrowMagic)) {
		return nil, corrupt("arrow: no arrow file of %d bytes", len(data))
	}
	content := bytes.TrimLeft(data[len(arrowMagic):], "\x00")
	limits := arrowipc.Limits{MaxDecodedBytes: 8 * maxArrowRows, MaxColumns: 1, MaxDepth: 1}
	stream, err := arrowipc.NewReader(context.Background(), bytes.NewReader(content), limits)
	if err != nil {
		return nil, arrowError(err)
	}
	if s := stream.Schema(); s.NumFields() != 1 || s.Field(0).Name != columnName || s.Field(0).Type.ID() != arrow.UINT32 {
		return nil, corrupt("arrow: the schema is not one column %s of uint32", columnName)
	}
	batch, err := stream.Next()
	if err != nil {
		return nil, arrowError(err)
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		return nil, corrupt("arrow: more than one batch: %v", err)
	}
	offsets := batch.Column(0).(*array.Uint32)
	if n := uint64(offsets.Len()); n > min(physicalRows, maxArrowRows) || offsets.NullN() > 0 {
		return nil, corrupt("arrow: %d of %d rows deleted, %d nulls", n, physicalRows, offsets.NullN())
	}
	bits := roaring.New()
	bits.AddMany(offsets.Uint32Values())
	return &Vector{bits: bits}, nil
}

// arrowError converts an error of package arrowipc: unsupported features stay such, and anything
// else is lance.ErrCorrupt.
func arrowError(err error) error {
	if errors.Is(err, arrowipc.ErrUnsupported) {
		return fmt.Errorf("%w: arrow deletion file: %w", lance.ErrUnsupported, err)
	}
	return corrupt("arrow: %v", err)
}
