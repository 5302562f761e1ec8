package btree

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
	"tiltyard/shared/process/memory"
)

const (
	// builtPageRows is the number of rows per page, as in native Lance.
	builtPageRows = 4096
	// builtPageBytes is the approximate maximal size of a page. A page of long keys has fewer rows, because
	// readers read whole pages.
	builtPageBytes = 4 << 20
)

// Write writes the files of a segment. keys are the encoded (value, row) pairs of a column of type t, in
// the order in which index.SortRows returns them.
func Write(ctx context.Context, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error {
	b := &builder{values: sortkey.NewValues(t), min: sortkey.NewValues(t), max: sortkey.NewValues(t), t: t}
	defer b.held.Release()
	return b.build(ctx, keys, out)
}

// A builder writes the pages in the order of their values, and then the lookup table.
type builder struct {
	t    arrow.DataType
	data index.FileWriter
	held memory.Hold // for the current page and the lookup table

	values *sortkey.Values // that are not written yet
	ids    []uint64

	pageRows int    // of each page but the last; set with the first page
	rows     int    // of the page
	first    []byte // key of the first value of the page
	last     []byte

	min, max *sortkey.Values // of all pages
	nulls    []uint32
	null     uint32 // number of NULLs in the page
}

// build writes the data file page by page, and then the lookup file.
func (b *builder) build(ctx context.Context, keys iter.Seq2[[]byte, error], out index.Output) error {
	var err error
	if b.data, err = out.Create(ctx, dataFile, arrow.NewSchema([]arrow.Field{
		{Name: "values", Type: b.t, Nullable: true}, {Name: "ids", Type: arrow.PrimitiveTypes.Uint64},
	}, nil)); err != nil {
		return err
	}
	for key, err := range keys {
		if err == nil {
			err = b.add(ctx, key)
		}
		if err != nil {
			return err
		}
	}
	if err := b.endPage(ctx); err != nil {
		return err
	}
	if err := b.data.Close(ctx); err != nil {
		return err
	}
	return b.writeLookup(ctx, out)
}

// add adds the row of a key to the page.
func (b *builder) add(ctx context.Context, key []byte) error {
	if b.rows == 0 {
		b.first = append(b.first[:0], key...)
	}
	b.last = append(b.last[:0], key...)
	nulls := b.values.Nulls()
	b.ids = append(b.ids, binary.BigEndian.Uint64(b.values.Append(key)))
	if b.values.Nulls() > nulls {
		b.null++
	}
	b.rows++
	full := b.values.Bytes() >= builtPageBytes
	if b.pageRows == 0 && full {
		b.pageRows = b.rows
	}
	switch {
	case b.rows == b.pageRows || b.rows == builtPageRows:
		b.pageRows = b.rows
		return b.endPage(ctx)
	case full:
		return b.write(ctx)
	}
	if grown := b.bytes(); grown > 2*b.held.Bytes() {
		return b.held.Resize(ctx, grown)
	}
	return nil
}

// bytes estimates the memory of the builder, including the arrays of its values.
func (b *builder) bytes() int64 {
	return 2*(b.values.Bytes()+idBytes*int64(len(b.ids))+b.min.Bytes()+b.max.Bytes()) + int64(4*len(b.nulls))
}

// endPage ends the page, if it has rows.
func (b *builder) endPage(ctx context.Context) error {
	if b.rows == 0 {
		return nil
	}
	b.min.Append(b.first)
	b.max.Append(b.last)
	b.nulls = append(b.nulls, b.null)
	b.rows, b.null = 0, 0
	return b.write(ctx)
}

// write writes the values that are not written yet.
func (b *builder) write(ctx context.Context) error {
	if err := b.held.Resize(ctx, b.bytes()); err != nil || len(b.ids) == 0 {
		return err
	}
	rows := record([]string{"values", "ids"}, b.values.Array(), uints(b.ids))
	b.ids = b.ids[:0] // a copy is written
	return b.data.Write(ctx, rows)
}

// writeLookup writes the lookup table: one row per page.
func (b *builder) writeLookup(ctx context.Context, out index.Output) error {
	n := len(b.nulls)
	counts := array.NewUint32Builder(arrowmemory.DefaultAllocator)
	counts.AppendValues(b.nulls, nil)
	numbers := array.NewUint32Builder(arrowmemory.DefaultAllocator)
	for i := range n {
		numbers.Append(uint32(i))
	}
	metadata := arrow.NewMetadata([]string{"batch_size", "range_partitioned"}, []string{strconv.Itoa(cmp.Or(b.pageRows, builtPageRows)), "false"})
	file, err := out.Create(ctx, lookupFile, arrow.NewSchema([]arrow.Field{
		{Name: "min", Type: b.t, Nullable: true}, {Name: "max", Type: b.t, Nullable: true},
		{Name: "null_count", Type: arrow.PrimitiveTypes.Uint32}, {Name: "page_idx", Type: arrow.PrimitiveTypes.Uint32},
	}, &metadata))
	if err != nil {
		return err
	}
	if n > 0 {
		rows := record([]string{"min", "max", "null_count", "page_idx"}, b.min.Array(), b.max.Array(), counts.NewArray(), numbers.NewArray())
		if err := file.Write(ctx, rows); err != nil {
			return err
		}
	}
	return file.Close(ctx)
}

func uints(values []uint64) arrow.Array {
	b := array.NewUint64Builder(arrowmemory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

// record returns columns as rows.
func record(names []string, columns ...arrow.Array) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: names[i], Type: c.DataType(), Nullable: c.NullN() > 0}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len()))
}
