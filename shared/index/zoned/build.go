package zoned

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/memory"
)

// A Summary is what a kind of index keeps of the zones of a segment that is being built.
type Summary interface {
	// Add adds values from one place to another to the zone.
	Add(values arrow.Array, from, to int) error
	// End ends the zone, which the Builder has counted.
	End(ctx context.Context, b *Builder) error
	// Bytes is about how much memory the summary takes.
	Bytes() int64
}

// A Builder divides rows among zones.
type Builder struct {
	size    int // rows of a zone
	summary Summary
	nulls   *rowset.Set
	held    memory.Hold

	zones                      int                  // that have ended
	fragments, starts, lengths *array.Uint64Builder // of those that Columns has not returned

	rows        int    // of the zone that has not ended
	first, last uint64 // addresses of these
}

// nullBytes is what a row that is NULL takes at most.
const nullBytes = 4

// Build divides rows among zones of some rows each, in their order, which is that of the table. Each
// batch has two columns: values, and the address of each row. The caller closes the Builder.
func Build(ctx context.Context, size int, rows iter.Seq2[arrow.RecordBatch, error], summary Summary) (*Builder, error) {
	uints := func() *array.Uint64Builder { return array.NewUint64Builder(arrowmemory.DefaultAllocator) }
	b := &Builder{size: size, summary: summary, nulls: rowset.At(), fragments: uints(), starts: uints(), lengths: uints()}
	for batch, err := range rows {
		if err == nil {
			err = b.held.Resize(ctx, 2*(b.nulls.Bytes()+b.bytes())+nullBytes*batch.NumRows())
		}
		if err == nil {
			err = b.add(ctx, batch)
		}
		if err != nil {
			b.Close()
			return nil, err
		}
	}
	if err := b.end(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close gives back the memory.
func (b *Builder) Close() { b.held.Release() }

func (b *Builder) bytes() int64 { return 3*8*int64(b.fragments.Len()) + b.summary.Bytes() }

func (b *Builder) add(ctx context.Context, batch arrow.RecordBatch) error {
	values, addresses := batch.Column(0), batch.Column(1).(*array.Uint64).Uint64Values()
	for from := 0; from < len(addresses); {
		fragment := addresses[from] >> 32
		if b.rows > 0 && (b.rows == b.size || b.first>>32 != fragment) {
			if err := b.end(ctx); err != nil {
				return err
			}
		}
		to := from
		for to < len(addresses) && addresses[to]>>32 == fragment && to-from < b.size-b.rows {
			to++
		}
		if b.rows == 0 {
			b.first = addresses[from]
		}
		b.rows, b.last = b.rows+to-from, addresses[to-1]
		if err := b.summary.Add(values, from, to); err != nil {
			return err
		}
		if values.NullN() > 0 {
			for i := from; i < to; i++ {
				if values.IsNull(i) {
					b.nulls.Add(addresses[i : i+1])
				}
			}
		}
		from = to
	}
	return nil
}

// end ends the zone, if it has rows.
func (b *Builder) end(ctx context.Context) error {
	if b.rows == 0 {
		return nil
	}
	if b.zones++; b.zones > MaxZones {
		return fmt.Errorf("%w: more than %d zones", lance.ErrUnsupported, MaxZones)
	}
	b.fragments.Append(b.first >> 32)
	b.starts.Append(b.first & (1<<32 - 1))
	b.lengths.Append(b.last - b.first + 1)
	b.rows = 0
	return b.summary.End(ctx, b)
}

// Columns returns the columns of the file that are the same for all kinds, in the order of [Names], for
// the zones that have ended since the last call.
func (b *Builder) Columns() []arrow.Array {
	return []arrow.Array{b.fragments.NewArray(), b.starts.NewArray(), b.lengths.NewArray()}
}

// Finish writes the rows that are NULL to the file, and closes it.
func (b *Builder) Finish(ctx context.Context, file index.FileWriter) error {
	var encoder index.RowEncoder
	for row := range b.nulls.All() {
		encoder.Add(row)
	}
	number, err := file.AddBuffer(encoder.Bytes())
	if err != nil {
		return err
	}
	file.SetMetadata(nullsKey, strconv.Itoa(number))
	return file.Close(ctx)
}

// Fields returns the fields of [Builder.Columns].
func Fields() []arrow.Field {
	fields := make([]arrow.Field, len(Names))
	for i, name := range Names {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64}
	}
	return fields
}
