package zonefile

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
	"tiltyard/shared/process/memory"
)

// A Summary collects the summaries of the zones of a new segment, specific to the kind of index.
type Summary interface {
	// Add adds values [from, to) to the current zone.
	Add(values arrow.Array, from, to int) error
	// End ends the zone, which the Builder has counted.
	End(ctx context.Context, b *Builder) error
	// Bytes returns the approximate memory of the summary.
	Bytes() int64
}

// A Builder divides rows among zones.
type Builder struct {
	size    int // rows of a zone
	summary Summary
	nulls   *rowset.Set
	held    memory.Hold

	zones                      int                  // that have ended
	fragments, starts, lengths *array.Uint64Builder // not yet returned by Columns

	rows        int    // of the zone that has not ended
	first, last uint64 // addresses of these
}

// nullBytes bounds the memory of a row that is NULL.
const nullBytes = 4

// Build divides rows, in the order of the table, among zones of size rows each. Each batch has two columns:
// the values, and the address of each row. The caller closes the Builder.
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

// Close releases the memory.
func (b *Builder) Close() { b.held.Release() }

func (b *Builder) bytes() int64 { return 3*8*int64(b.fragments.Len()) + b.summary.Bytes() }

// add divides a batch among zones. A zone ends when it is full or when the fragment changes.
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
