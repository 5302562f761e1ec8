package valuebitmaps

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// statistics is the name of the metadata that native Lance shows of a segment of bitmaps: a JSON object
// with the number of keys.
const statistics = "lance:index_stats"

const (
	// writtenBytes is the approximate size of the keys and rows that are written together.
	writtenBytes = 4 << 20
	// numberBytes is the size of the row number at the end of a key.
	numberBytes = 8
)

// Write writes the file of a segment, and leaves it open. keys are the sorted keys of rows, as
// index.SortRows makes them for values of type t. A row may have several values, and a value several times.
// Write returns the number of distinct values. More values than readers accept are lance.ErrUnsupported.
func Write(ctx context.Context, format Format, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) (index.FileWriter, int64, error) {
	b := &builder{
		keys: sortkey.NewValues(t), rows: array.NewBinaryBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.Binary),
		encoder: index.RowEncoder{Treemap: format.Treemap},
		schema: arrow.NewSchema([]arrow.Field{
			{Name: format.Keys, Type: t, Nullable: true}, {Name: format.Rows, Type: arrow.BinaryTypes.Binary, Nullable: true},
		}, nil),
	}
	defer b.held.Release()
	var err error
	if b.file, err = out.Create(ctx, format.File, b.schema); err != nil {
		return nil, 0, err
	}
	for key, err := range keys {
		if err == nil {
			err = b.add(ctx, key)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	if err := b.endKey(ctx); err != nil {
		return nil, 0, err
	}
	return b.file, b.count, b.write(ctx)
}

// A builder writes keys in their order, each with its rows.
type builder struct {
	file   index.FileWriter
	schema *arrow.Schema
	held   memory.Hold
	keys   *sortkey.Values      // that are not written yet
	rows   *array.BinaryBuilder // … and the rows of each
	count  int64                // of all keys

	key     []byte // the current value, whose rows the encoder collects; nil before the first
	encoder index.RowEncoder
}

// add adds a row to the current key, or begins the next key.
func (b *builder) add(ctx context.Context, key []byte) error {
	end := len(key) - numberBytes
	if b.key == nil || !bytes.Equal(b.key, key[:end]) {
		if err := b.endKey(ctx); err != nil {
			return err
		}
		b.key = append(b.key[:0:0], key[:end]...)
	}
	b.encoder.Add(binary.BigEndian.Uint64(key[end:]))
	if b.encoder.Size() > b.held.Bytes() {
		return b.hold(ctx)
	}
	return nil
}

// hold reserves memory for the unwritten keys, twice because they are copied.
func (b *builder) hold(ctx context.Context) error {
	if need := 2 * (b.keys.Bytes() + int64(b.rows.DataLen()) + b.encoder.Size()); need > b.held.Bytes() {
		return b.held.Resize(ctx, 2*need)
	}
	return nil
}

// endKey queues the current key, if any, for writing.
func (b *builder) endKey(ctx context.Context) error {
	if b.key == nil {
		return nil
	}
	if b.count++; b.count > maxKeys {
		return fmt.Errorf("%w: more than %d distinct values; a BTREE index has room for them", lance.ErrUnsupported, maxKeys)
	}
	rows := b.encoder.Bytes()
	if waiting := b.keys.Bytes() + int64(b.rows.DataLen()); waiting > 0 && waiting+int64(len(rows)) > writtenBytes {
		if err := b.write(ctx); err != nil {
			return err
		}
	}
	b.keys.Append(b.key)
	b.rows.Append(rows)
	return b.hold(ctx)
}

// write writes the queued keys, if any.
func (b *builder) write(ctx context.Context) error {
	n := int64(b.keys.Len())
	if n == 0 {
		return nil
	}
	return b.file.Write(ctx, array.NewRecordBatch(b.schema, []arrow.Array{b.keys.Array(), b.rows.NewArray()}, n))
}

// Describe writes the statistics that native Lance shows of a segment of bitmaps.
func Describe(file index.FileWriter, keys int64) {
	file.SetMetadata(statistics, fmt.Sprintf(`{"num_bitmaps":%d}`, keys))
}
