// Package arrowipc reads Arrow IPC streams from untrusted clients, and writes the Arrow responses that
// clients read.
//
// A stream is a sequence of messages. Each message has a prefix with its length, a flatbuffer that
// describes it, and a body with the buffers of its arrays:
//
//	FF FF FF FF   continuation marker; streams older than Arrow 0.15 lack it
//	i32           length of the metadata with its padding; 0 ends the stream
//	metadata      a flatbuffer Message: Schema, DictionaryBatch or RecordBatch
//	body          the buffers, at the offsets that the metadata names
//
// The first message is the schema. Dictionary batches come before the record batches that use them; one may
// replace an earlier one or, as a delta, extend it.
//
// A [Reader] treats all bytes as untrusted. It parses the frames and flatbuffers itself (frame.go,
// flat.go), checks each schema against the known types and the limits (schema.go, types.go), decompresses
// within a budget (compress.go, lz4.go), and checks every offset, index and string (check.go). Then it
// builds arrays over the received bytes (batch.go, view.go), without copying them. No use of the arrays can
// panic. A faulty stream is refused with an [Error] that names the place and the reason. The work and the
// memory that a stream can cause are linear in the bytes received and in the sizes that [Limits] allows.
//
// Sources: format/Message.fbs, Schema.fbs and docs/source/format/Columnar.rst of apache/arrow;
// lz4_Frame_format.md of lz4/lz4.
package arrowipc
