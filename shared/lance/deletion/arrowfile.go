package deletion

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/klauspost/compress/zstd"

	"tiltyard/shared/lance"
)

// An Arrow deletion file is an Arrow IPC file of one shape: one batch with one column of
// offsets, "row_id", of type uint32 and without nulls, the body plain or compressed with
// zstd. The code here reads only this shape, and does so itself, because general readers of
// Arrow files trust the lengths that they find.
//
//	"ARROW1", padded to 8 bytes
//	Schema message
//	RecordBatch message, then the body: validity (empty), values
//	Footer, i32 length of the Footer, "ARROW1"
//
// Source: format/File.fbs and format/Message.fbs of Apache Arrow.
const (
	columnName = "row_id"
	arrowMagic = "ARROW1"

	typeInt           = 2 // in the Type union of a Field
	headerRecordBatch = 3 // in the MessageHeader union
	codecZstd         = 1
	continuation      = 0xFFFFFFFF

	// maxArrowRows bounds the decompressed size. Writers use bitmaps for far fewer rows.
	maxArrowRows = 1 << 22
)

func parseArrow(data []byte, physicalRows uint64) (*Vector, error) {
	metadata, body, err := onlyBatch(data)
	if err != nil {
		return nil, err
	}
	batch, ok := metadata.table(2)
	if !ok || metadata.byte(1) != headerRecordBatch {
		return nil, corrupt("arrow: the block is no record batch")
	}
	rows := batch.int64(0)
	if rows < 0 || uint64(rows) > physicalRows || rows > maxArrowRows {
		return nil, corrupt("arrow: %d of %d rows deleted", rows, physicalRows)
	}
	raw, err := values(batch, body, int(rows))
	if err != nil {
		return nil, err
	}
	offsets := make([]uint32, rows)
	for i := range offsets {
		offsets[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	bits := roaring.New()
	bits.AddMany(offsets)
	return &Vector{bits: bits}, nil
}

// onlyBatch follows the footer to the one batch, and returns its message and its body.
func onlyBatch(data []byte) (table, []byte, error) {
	const head, tail = 8, 4 + len(arrowMagic)
	if len(data) < head+tail || !bytes.HasPrefix(data, []byte(arrowMagic)) || !bytes.HasSuffix(data, []byte(arrowMagic)) {
		return table{}, nil, corrupt("arrow: no arrow file of %d bytes", len(data))
	}
	end := int64(len(data) - tail)
	length := int64(int32(binary.LittleEndian.Uint32(data[end:])))
	if length < 4 || length > end-head {
		return table{}, nil, corrupt("arrow: footer of %d bytes", length)
	}
	footer, ok := rootTable(data[end-length : end])
	if !ok || !hasOurSchema(footer) {
		return table{}, nil, corrupt("arrow: the schema is not one column %s of uint32", columnName)
	}
	blocks, count := footer.vector(3, 24)
	if count != 1 {
		return table{}, nil, corrupt("arrow: %d batches, want 1", count)
	}
	// A Block is i64 position, i32 bytes of metadata (prefix and padding included),
	// padding, i64 bytes of body.
	at := int64(binary.LittleEndian.Uint64(blocks))
	metaLen := int64(int32(binary.LittleEndian.Uint32(blocks[8:])))
	bodyLen := int64(binary.LittleEndian.Uint64(blocks[16:]))
	limit := end - length
	if at < head || metaLen < 8 || bodyLen < 0 || at > limit || metaLen > limit-at || bodyLen > limit-at-metaLen {
		return table{}, nil, corrupt("arrow: batch of %d and %d bytes at %d", metaLen, bodyLen, at)
	}
	metadata, ok := message(data[at : at+metaLen])
	if !ok {
		return table{}, nil, corrupt("arrow: malformed batch")
	}
	return metadata, data[at+metaLen : at+metaLen+bodyLen], nil
}

// hasOurSchema reports whether the schema in the footer is one column row_id of uint32.
func hasOurSchema(footer table) bool {
	schema, ok := footer.table(1)
	if !ok {
		return false
	}
	field, ok := schema.onlyTable(1)
	if !ok || field.string(0) != columnName || field.byte(2) != typeInt {
		return false
	}
	kind, ok := field.table(3)
	return ok && kind.int32(0) == 32 && kind.byte(1) == 0
}

// message removes the prefix of an encapsulated message: its length, which follows a
// continuation marker in files of Arrow 0.15 or later.
func message(block []byte) (table, bool) {
	if binary.LittleEndian.Uint32(block) == continuation {
		block = block[4:]
	}
	length := int64(int32(binary.LittleEndian.Uint32(block)))
	if length < 0 || length > int64(len(block)-4) {
		return table{}, false
	}
	return rootTable(block[4 : 4+length])
}

// values returns the bytes of the column's values.
func values(batch table, body []byte, rows int) ([]byte, error) {
	nodes, columns := batch.vector(1, 16) // i64 length, i64 nulls
	buffers, count := batch.vector(2, 16) // i64 position, i64 bytes: validity, values
	if columns != 1 || count != 2 {
		return nil, corrupt("arrow: %d columns of %d buffers, want 1 of 2", columns, count)
	}
	if n, nulls := binary.LittleEndian.Uint64(nodes), binary.LittleEndian.Uint64(nodes[8:]); n != uint64(rows) || nulls != 0 {
		return nil, corrupt("arrow: column of %d rows and %d nulls, want %d and none", n, nulls, rows)
	}
	at, length := int64(binary.LittleEndian.Uint64(buffers[16:])), int64(binary.LittleEndian.Uint64(buffers[24:]))
	if at < 0 || length < 0 || at > int64(len(body)) || length > int64(len(body))-at {
		return nil, corrupt("arrow: values of %d bytes at %d of %d", length, at, len(body))
	}
	raw := body[at : at+length]
	if compression, ok := batch.table(3); ok && rows > 0 {
		var err error
		if raw, err = decompress(raw, compression.byte(0), 4*rows); err != nil {
			return nil, err
		}
	}
	if len(raw) < 4*rows {
		return nil, corrupt("arrow: %d bytes of values for %d rows", len(raw), rows)
	}
	return raw, nil
}

// decompress reads a compressed buffer: i64 length of the content, or -1 if the content is
// stored plain, then the content. The content has want bytes, and possibly padding.
func decompress(raw []byte, codec byte, want int) ([]byte, error) {
	if len(raw) < 8 {
		return nil, corrupt("arrow: compressed buffer of %d bytes", len(raw))
	}
	length, content := int64(binary.LittleEndian.Uint64(raw)), raw[8:]
	if length == -1 {
		return content, nil
	}
	if codec != codecZstd {
		return nil, fmt.Errorf("%w: arrow deletion file with compression %d", lance.ErrUnsupported, codec)
	}
	if length < int64(want) || length > int64(want)+64 {
		return nil, corrupt("arrow: %d bytes of values, want %d", length, want)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(4*maxArrowRows))
	if err != nil {
		return nil, fmt.Errorf("arrow deletion file: %w", err)
	}
	defer decoder.Close()
	out, err := decoder.DecodeAll(content, make([]byte, 0, length))
	if err != nil || int64(len(out)) != length {
		return nil, corrupt("arrow: %d bytes of values, want %d: %v", len(out), length, err)
	}
	return out, nil
}
