package chunking

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// chunkBytes is the approximate memory of a piece without its texts.
const chunkBytes = 64

// Bytes estimates the memory of a piece in an array.
func (c *Chunk) Bytes() int64 {
	total := int64(chunkBytes + len(c.Text))
	for _, title := range c.Path {
		total += int64(chunkBytes + len(title))
	}
	return total
}

// Array returns pieces as an array of the type of the function.
func (f *Function) Array(chunks []Chunk) arrow.Array {
	b := array.NewStructBuilder(memory.DefaultAllocator, f.Type())
	b.Reserve(len(chunks))
	for i := range chunks {
		f.Append(b, &chunks[i])
	}
	return b.NewArray()
}

// Append appends a piece to structs of the type of the function.
func (f *Function) Append(b *array.StructBuilder, c *Chunk) {
	b.Append(true)
	b.FieldBuilder(0).(*array.StringBuilder).Append(c.Text)
	b.FieldBuilder(1).(*array.Int64Builder).Append(c.Start)
	b.FieldBuilder(2).(*array.Int64Builder).Append(c.End)
	b.FieldBuilder(3).(*array.Int32Builder).Append(c.Ordinal)
	if len(f.Fields) > len(pieceFields) {
		path := b.FieldBuilder(len(pieceFields)).(*array.ListBuilder)
		path.Append(true)
		for _, title := range c.Path {
			path.ValueBuilder().(*array.StringBuilder).Append(title)
		}
	}
}
