package keyed

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/memory"
	"tiltyard/shared/sortkey"
)

// statistics is the name of the metadata that native Lance shows of a segment: a JSON object with the
// number of keys.
const statistics = "lance:index_stats"

const (
	// writtenBytes is about how many bytes of keys and rows are written together.
	writtenBytes = 4 << 20
	// numberBytes is the size of the number of a row at the end of its key.
	numberBytes = 8
)

// Build writes the file of a segment. Each batch of rows has two columns: keys of type t, and the number
// that the segment stores of the row. Types that are not index.Sortable are lance.ErrUnsupported, and so
// are more keys than readers open.
func Build(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
	sorter, err := index.SortRows(ctx, t, rows)
	if err != nil {
		return err
	}
	defer sorter.Close()
	b := &builder{keys: sortkey.NewValues(t), rows: array.NewBinaryBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.Binary)}
	defer b.held.Release()
	if b.file, err = out.Create(ctx, Bitmaps.File, arrow.NewSchema([]arrow.Field{
		{Name: Bitmaps.Keys, Type: t, Nullable: true}, {Name: Bitmaps.Rows, Type: arrow.BinaryTypes.Binary, Nullable: true},
	}, nil)); err != nil {
		return err
	}
	for key, err := range sorter.Sorted() {
		if err == nil {
			err = b.add(ctx, key)
		}
		if err != nil {
			return err
		}
	}
	return b.close(ctx)
}

// A builder writes keys in their order, each with its rows.
type builder struct {
	file  index.FileWriter
	held  memory.Hold
	keys  *sortkey.Values      // that are not written yet
	rows  *array.BinaryBuilder // … and the rows of each
	count int64                // of all keys

	key       []byte          // whose rows are being collected; nil before the first
	fragments uint32          // of those rows
	encoded   []byte          // rows of all these fragments but the last, see index.AddRows
	fragment  uint32          // the last of them
	offsets   *roaring.Bitmap // the rows of that one
}

// add adds a row to its key, which is the last one or a new one.
func (b *builder) add(ctx context.Context, key []byte) error {
	end := len(key) - numberBytes
	row := binary.BigEndian.Uint64(key[end:])
	fragment := uint32(row >> 32)
	if b.key == nil || !bytes.Equal(b.key, key[:end]) {
		if err := b.endKey(ctx); err != nil {
			return err
		}
		b.key = append(b.key[:0:0], key[:end]...)
		b.fragments, b.encoded = 0, binary.LittleEndian.AppendUint32(b.encoded[:0], 0)
		b.begin(fragment)
	} else if fragment != b.fragment {
		if err := b.endFragment(ctx); err != nil {
			return err
		}
		b.begin(fragment)
	}
	b.offsets.Add(uint32(row))
	return nil
}

func (b *builder) begin(fragment uint32) { b.fragment, b.offsets = fragment, roaring.New() }

// endFragment encodes the rows of a fragment.
func (b *builder) endFragment(ctx context.Context) error {
	b.offsets.RunOptimize()
	size := b.offsets.GetSerializedSizeInBytes()
	if err := b.hold(ctx, int64(size)); err != nil {
		return err
	}
	b.encoded = binary.LittleEndian.AppendUint32(b.encoded, b.fragment)
	b.encoded = binary.LittleEndian.AppendUint32(b.encoded, uint32(size))
	var portable bytes.Buffer
	if _, err := b.offsets.WriteTo(&portable); err != nil {
		return err
	}
	b.encoded = append(b.encoded, portable.Bytes()...)
	b.fragments++
	return nil
}

// hold takes memory for what is not written yet, and for so many bytes more.
func (b *builder) hold(ctx context.Context, more int64) error {
	if need := 2 * (b.keys.Bytes() + int64(b.rows.DataLen()) + int64(len(b.encoded)) + more); need > b.held.Bytes() {
		return b.held.Resize(ctx, 2*need)
	}
	return nil
}

// endKey adds the key, if there is one, to those that are to be written.
func (b *builder) endKey(ctx context.Context) error {
	if b.key == nil {
		return nil
	}
	if err := b.endFragment(ctx); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b.encoded, b.fragments)
	if b.count++; b.count > maxKeys {
		return fmt.Errorf("%w: more than %d distinct values; a BTREE index has room for them", lance.ErrUnsupported, maxKeys)
	}
	if waiting := b.keys.Bytes() + int64(b.rows.DataLen()); waiting > 0 && waiting+int64(len(b.encoded)) > writtenBytes {
		if err := b.write(ctx); err != nil {
			return err
		}
	}
	b.keys.Append(b.key)
	b.rows.Append(b.encoded)
	return nil
}

// write writes the keys that wait for it, if there are some.
func (b *builder) write(ctx context.Context) error {
	n := int64(b.keys.Len())
	if n == 0 {
		return nil
	}
	columns := []arrow.Array{b.keys.Array(), b.rows.NewArray()}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "keys", Type: columns[0].DataType(), Nullable: true}, {Name: "bitmaps", Type: columns[1].DataType(), Nullable: true},
	}, nil)
	return b.file.Write(ctx, array.NewRecordBatch(schema, columns, n))
}

func (b *builder) close(ctx context.Context) error {
	if err := b.endKey(ctx); err != nil {
		return err
	}
	if err := b.write(ctx); err != nil {
		return err
	}
	b.file.SetMetadata(statistics, fmt.Sprintf(`{"num_bitmaps":%d}`, b.count))
	return b.file.Close(ctx)
}
