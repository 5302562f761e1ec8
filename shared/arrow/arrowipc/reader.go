package arrowipc

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	account "tiltyard/shared/process/memory"
)

// Fields of the flatbuffer table DictionaryBatch.
const (
	dictionaryID    slot = 4
	dictionaryData  slot = 6
	dictionaryDelta slot = 8
)

// A Reader reads the record batches of one Arrow IPC stream, whose bytes are untrusted. It is used by one
// goroutine at a time.
type Reader struct {
	src     io.Reader
	limits  Limits
	message int // number of the message being read
	err     error

	schema  *arrow.Schema
	columns []*node
	dicts   map[int64]*dictionary
	zstd    zstdDecoder
	held    account.Hold            // for the dictionaries, and for the message being read or read last
	hold    func(bytes int64) error // reserves that many bytes in total in the share of the stream's context
	summing *summing                // nil unless SumBatches was called
	ended   bool                    // the end-of-stream marker has been read

	dictBytes  int64 // kept alive by the dictionaries
	deltaBytes int64 // copied so far to extend dictionaries
	unbacked   int64 // rows without bytes that may still come
}

// NewReader reads the schema of the stream in r and returns a Reader of its batches.
//
// Bytes after the end of the stream are not read. r need not be buffered. If r has a method Len() int, like
// bytes.Reader, its result is taken as the number of bytes already in memory. Faults of the stream are of
// type *Error; errors of r are wrapped.
//
// The memory of a message is reserved in the share of ctx as its bytes arrive and before they are
// decompressed. It is released when the next message is read; a caller that keeps a batch longer accounts
// for it. If memory is refused, the error is of type *memory.Error.
func NewReader(ctx context.Context, r io.Reader, limits Limits) (*Reader, error) {
	reader := &Reader{
		src:      r,
		limits:   limits.withDefaults(),
		dicts:    make(map[int64]*dictionary),
		unbacked: maxUnbackedRows,
	}
	reader.hold = func(bytes int64) error { return reader.held.Resize(ctx, bytes) }
	if err := reader.readSchema(); err != nil {
		return nil, reader.fail(err)
	}
	return reader, nil
}

// Schema returns the schema of the stream. Extension types appear as their storage
// types, with the ARROW:extension keys in the metadata of the field.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Ended reports whether the end-of-stream marker was read. A stream whose input ends between two messages
// lacks it, and may be truncated.
func (r *Reader) Ended() bool { return r.ended }

// Next returns the next batch, or io.EOF at the end. The batch stays valid after further calls. Its null
// counts are exact, its strings are UTF-8, and its offsets and dictionary indices are within bounds, even
// those of null slots (except indices of nulls into an empty dictionary). The caller checks that
// non-nullable fields have no nulls. A null column, and a batch without columns, may have far more rows
// than bytes, but a bounded number.
//
// After an error Next keeps returning it.
func (r *Reader) Next() (arrow.RecordBatch, error) {
	for r.err == nil {
		r.message++
		batch, err := r.next()
		if err != nil {
			return nil, r.fail(err)
		}
		if batch != nil {
			return batch, nil
		}
	}
	return nil, r.err
}

// take reserves more bytes in the memory share of the stream.
func (r *Reader) take(bytes int64) error { return r.hold(r.held.Bytes() + bytes) }

// fail releases the memory of the message, adds the number of the message to err, and stores err for later
// calls.
func (r *Reader) fail(err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Message = r.message
	}
	r.err = err
	r.held.Release()
	return err
}

// readSchema reads the first message, which must be the schema.
func (r *Reader) readSchema() error {
	m, err := r.readMessage()
	if errors.Is(err, io.EOF) {
		return invalid(nil, "empty; an Arrow IPC stream was expected")
	}
	if err != nil {
		return err
	}
	if m.kind != headerSchema {
		return invalid(nil, "the stream begins with a message of kind %d, not with a schema", m.kind)
	}
	s := schemaReader{limits: r.limits, dicts: r.dicts}
	if r.schema, r.columns, err = s.read(m.header); err != nil {
		return err
	}
	_, err = r.read(m.body) // always empty in practice, although the format does not require it
	return err
}

// next reads one message. It returns a nil batch for a dictionary.
func (r *Reader) next() (arrow.RecordBatch, error) {
	if err := r.hold(r.dictBytes); err != nil {
		return nil, err
	}
	r.summing.begin()
	m, err := r.readMessage()
	if err != nil {
		return nil, err
	}
	switch m.kind {
	case headerRecordBatch:
		batch, err := r.recordBatch(m)
		if err == nil {
			r.summing.batch(batch)
		}
		return batch, err
	case headerDictionaryBatch:
		return nil, r.dictionaryBatch(m)
	case headerSchema:
		return nil, invalid(nil, "a second schema")
	}
	return nil, unsupported(nil, "message of kind %d", m.kind)
}

// recordBatch decodes a RecordBatch message into arrays over its body.
func (r *Reader) recordBatch(m message) (arrow.RecordBatch, error) {
	d, err := r.decoder(m, m.header)
	if err != nil {
		return nil, err
	}
	if d.rows < 0 || d.rows > maxLength {
		return nil, invalid(nil, "%d rows", d.rows)
	}
	d.longest = d.rows
	columns := make([]arrow.ArrayData, len(r.columns))
	for i, column := range r.columns {
		if columns[i], err = d.column(column); err != nil {
			return nil, err
		}
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	arrays := make([]arrow.Array, len(columns))
	for i, data := range columns {
		arrays[i] = array.MakeFromData(data)
	}
	return array.NewRecordBatch(r.schema, arrays, d.rows), nil
}

// dictionaryBatch decodes a DictionaryBatch message and sets or extends its dictionary.
func (r *Reader) dictionaryBatch(m message) error {
	id, delta := m.header.int64(dictionaryID), m.header.bool(dictionaryDelta)
	t, ok := m.header.table(dictionaryData)
	if m.meta.err != nil {
		return m.meta.err
	}
	dict := r.dicts[id]
	if dict == nil || !ok {
		return invalid(nil, "dictionary %d has no data, or no column uses it", id)
	}
	d, err := r.decoder(m, t)
	if err != nil {
		return err
	}
	data, err := d.array(dict.values, d.rows)
	if err != nil {
		return err
	}
	if err := d.finish(); err != nil {
		return err
	}
	extends := delta && dict.data != nil
	r.summing.dictionary(id, extends)
	if extends {
		return r.extend(dict, data, d.used)
	}
	r.dictBytes += d.used - dict.size
	dict.data, dict.size = data, d.used
	return nil
}

// extend appends more, of size bytes, to a dictionary. It copies the dictionary, because
// returned batches use it. The bytes that a stream can cause to be copied are bounded;
// otherwise many small deltas of a large dictionary would cost the square of their number.
func (r *Reader) extend(dict *dictionary, more arrow.ArrayData, size int64) error {
	n := dict.values
	if dict.nested {
		return unsupported(n, "a delta of a dictionary that holds dictionaries")
	}
	total := dict.size + size
	if r.deltaBytes += total; r.deltaBytes > r.limits.MaxDecodedBytes {
		return tooLarge(n, "dictionary deltas copy more than %d bytes", r.limits.MaxDecodedBytes)
	}
	if err := r.take(total); err != nil {
		return err
	}
	parts := []arrow.Array{array.MakeFromData(dict.data), array.MakeFromData(more)}
	joined, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		return invalid(n, "extend the dictionary: %v", err)
	}
	r.dictBytes += size
	dict.data, dict.size = joined.Data(), total
	return nil
}
