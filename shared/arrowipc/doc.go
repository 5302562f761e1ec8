// Package arrowipc reads Arrow IPC streams that strangers wrote and writes the Arrow
// answers that clients read.
//
// A stream is a row of messages. Each is framed by its lengths, described by a
// flatbuffer, and followed by a body that holds the buffers of its arrays:
//
//	FF FF FF FF   continuation marker; streams older than Arrow 0.15 lack it
//	i32           length of the metadata with its padding; 0 ends the stream
//	metadata      a flatbuffer Message: Schema, DictionaryBatch or RecordBatch
//	body          the buffers, at the offsets that the metadata names
//
// The first message is the schema. Dictionary batches come before the record batches
// that use them; one may replace an earlier one or, as a delta, extend it.
//
// Nothing of this is trusted. [Reader] parses the frames and flatbuffers itself
// (frame.go, flat.go), holds each schema to the types it knows and the limits it was
// given (schema.go, types.go), decompresses within a budget (compress.go, lz4.go), and
// checks every offset, index and string (check.go) before it builds arrays over the
// received bytes (batch.go, view.go), without copying them. What comes out can be walked
// without fear of a panic; what cannot is refused with an [Error] that says where and
// why. The work and the memory that a stream can cause are linear in the bytes received
// and in the sizes that [Limits] allows.
//
// Sources: format/Message.fbs, Schema.fbs and docs/source/format/Columnar.rst of
// apache/arrow; lz4_Frame_format.md of lz4/lz4.
package arrowipc
