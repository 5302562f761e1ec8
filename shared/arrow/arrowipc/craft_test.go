package arrowipc

import (
	"bytes"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"
)

// This file writes streams that no library would.

// A crafted is a record batch or dictionary batch as it shall appear in the stream,
// whether that makes sense or not.
type crafted struct {
	rows       int64
	nodes      [][2]int64 // length, null count
	buffers    [][2]int64 // offset, length
	variadic   []int64
	codec      int // 0 none, 1 LZ4, 2 ZSTD, above: unknown
	body       []byte
	bodyLength int64 // as claimed, when it is not that of body
	dictionary bool  // a dictionary batch
	id         int64 // of the dictionary
	delta      bool
}

// schemaBytes returns the schema message of a stream.
func schemaBytes(schema *arrow.Schema) []byte {
	var out bytes.Buffer
	if err := ipc.NewWriter(&out, ipc.WithSchema(schema)).Close(); err != nil {
		panic(err)
	}
	return out.Bytes()[:out.Len()-8] // without the end of the stream
}

// streamOf returns a stream of columns with the given batches.
func streamOf(fields []arrow.Field, batches ...crafted) []byte {
	stream := schemaBytes(arrow.NewSchema(fields, nil))
	for _, batch := range batches {
		stream = append(stream, batch.message()...)
	}
	return stream
}

// frame puts a marker and the length in front of metadata, and pads it.
func frame(metadata []byte) []byte {
	size := (len(metadata) + 7) &^ 7
	out := binary.LittleEndian.AppendUint32(nil, continuation)
	out = binary.LittleEndian.AppendUint32(out, uint32(size))
	return append(append(out, metadata...), make([]byte, size-len(metadata))...)
}

func (c crafted) message() []byte {
	b := flatbuffers.NewBuilder(256)
	header, kind := c.recordBatch(b), uint8(headerRecordBatch)
	if c.dictionary {
		kind = headerDictionaryBatch
		b.StartObject(3)
		b.PrependInt64Slot(0, c.id, 0)
		b.PrependUOffsetTSlot(1, header, 0)
		b.PrependBoolSlot(2, c.delta, false)
		header = b.EndObject()
	}
	length := c.bodyLength
	if length == 0 {
		length = int64(len(c.body))
	}
	b.StartObject(5)
	b.PrependInt16Slot(0, metadataV5, 0)
	b.PrependByteSlot(1, kind, 0)
	b.PrependUOffsetTSlot(2, header, 0)
	b.PrependInt64Slot(3, length, 0)
	b.Finish(b.EndObject())
	return append(frame(b.FinishedBytes()), c.body...)
}

func (c crafted) recordBatch(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	nodes, buffers := pairs(b, c.nodes), pairs(b, c.buffers)
	b.StartVector(8, len(c.variadic), 8)
	for i := len(c.variadic) - 1; i >= 0; i-- {
		b.PrependInt64(c.variadic[i])
	}
	variadic := b.EndVector(len(c.variadic))
	var compression flatbuffers.UOffsetT
	if c.codec > 0 {
		b.StartObject(2)
		b.PrependInt8Slot(0, int8(c.codec-1), 0)
		compression = b.EndObject()
	}
	b.StartObject(5)
	b.PrependInt64Slot(0, c.rows, 0)
	b.PrependUOffsetTSlot(1, nodes, 0)
	b.PrependUOffsetTSlot(2, buffers, 0)
	b.PrependUOffsetTSlot(3, compression, 0)
	b.PrependUOffsetTSlot(4, variadic, 0)
	return b.EndObject()
}

// pairs writes a vector of structs of two i64.
func pairs(b *flatbuffers.Builder, values [][2]int64) flatbuffers.UOffsetT {
	b.StartVector(16, len(values), 8)
	for i := len(values) - 1; i >= 0; i-- {
		b.Prep(8, 16)
		b.PrependInt64(values[i][1])
		b.PrependInt64(values[i][0])
	}
	return b.EndVector(len(values))
}

// le32 and le64 return values as they lie in buffers, padded to 8 bytes.
func le32(values ...int32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, uint32(v))
	}
	return append(out, make([]byte, -len(out)&7)...)
}

func le64(values ...int64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}
