package datafile

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// A Span is some bytes of a file.
type Span struct{ From, Size int64 }

// A Placed is a value that lies in a file as it is, so that parts of it can be read by [File.ReadSpans].
type Placed struct {
	Span
	First, Last []byte // of the value
}

// placedHead is the size of what is before the bytes of a large binary in a constant page: u32 count, u32 length of each
// buffer, and two offsets. Package read, constant.go, has the source.
const placedHead = 4 + 2*4 + 2*8

// Placed finds the value of a column of large binaries in a file of one row, and reads up to first and last bytes of its
// beginning and its end by one round of requests. It returns nil if the value does not lie in the file as it is, because it is null, compressed, or in
// a page other than a constant one; versions before 2.2 have no such pages. ReadRange reads these.
func (f *File) Placed(ctx context.Context, field *schema.Field, first, last int64) (*Placed, error) {
	page, err := f.solePage(ctx, field)
	if page == nil || err != nil {
		return nil, err
	}
	whole := Span{From: int64(page.BufferOffsets[0]), Size: int64(page.BufferSizes[0])}
	p := &Placed{Span: Span{From: whole.From + placedHead, Size: whole.Size - placedHead}}
	first, last = min(first, p.Size), min(last, p.Size)
	read, err := f.ReadSpans(ctx, Span{From: whole.From, Size: placedHead + first}, Span{From: p.From + p.Size - last, Size: last})
	if err != nil {
		return nil, err
	}
	head := read[0]
	number := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(head[at:])) }
	offset := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at:]) }
	if number(0) != 2 || number(4) != 16 || number(8) != uint64(p.Size) || offset(12) != 0 || offset(20) != uint64(p.Size) {
		return nil, nil
	}
	p.First, p.Last = head[placedHead:], read[1]
	return p, nil
}

// solePage returns the constant page with the value of a column of large binaries, or nil if that has no such page, or
// other rows.
func (f *File) solePage(ctx context.Context, field *schema.Field) (*filePage, error) {
	if f.rows != 1 || f.version == lance.V2_0 || field.Type.ID() != arrow.LARGE_BINARY {
		return nil, nil
	}
	ctx, part, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer part.Close()
	column, err := f.columnOf(field, nil, roomOf(ctx))
	if column == nil || err != nil || len(column.pages) != 1 {
		return nil, err
	}
	page := column.pages[0]
	if page.Encoding.TypeURL != pb.TypePageLayout || len(page.sizes) != 1 || page.sizes[0] <= placedHead {
		return nil, nil
	}
	layout, err := pb.UnmarshalLayout(page.Encoding.Value)
	if err != nil {
		return nil, fmt.Errorf("%w: page layout: %w", lance.ErrCorrupt, err)
	}
	if constant, ok := layout.(*pb.ConstantLayout); !ok || constant.InlineValue != nil {
		return nil, nil
	}
	return page, nil
}

// ReadSpans returns bytes of the file as they are, and takes their memory from the context's share.
func (f *File) ReadSpans(ctx context.Context, spans ...Span) ([][]byte, error) {
	src := newSource(f.stored, false)
	var missing []interval
	for _, s := range spans {
		if s.From < 0 || s.Size < 0 || s.From > f.size-s.Size {
			return nil, fmt.Errorf("%w: %d bytes at %d of data file %s, which has %d", lance.ErrCorrupt, s.Size, s.From, f.key, f.size)
		}
		if want := (interval{s.From, s.Size}); s.Size > 0 && src.find(want) == nil {
			missing = append(missing, want)
		}
	}
	if err := src.read(ctx, missing); err != nil {
		return nil, fmt.Errorf("read data file %s: %w", f.key, err)
	}
	all := make([][]byte, len(spans))
	for i, s := range spans {
		all[i] = src.find(interval{s.From, s.Size})
	}
	return all, nil
}
