package inverted

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/process/memory"
)

// A postingFile has the posting lists of a partition.
type postingFile struct {
	coding    coding
	lists     *index.Columns // _posting, _length, _max_score, and _impacts
	positions *index.Columns // those of columns, and the positions; nil if there are none
	impacts   bool           // the column _impacts exists
	streams   bool           // positions are streams
	packed    bool           // … with numbers in groups
}

// newPostingFile detects the optional columns of an invert file: impacts, and positions in format 1
// (_position) or 2 (_compressed_position).
func newPostingFile(ctx context.Context, file *datafile.File) (*postingFile, error) {
	names := []string{"_posting", "_length", "_max_score"}
	lists, err := index.ColumnsOf(ctx, file, names...)
	if err != nil {
		return nil, err
	}
	f := &postingFile{lists: lists}
	if f.impacts = lists.Schema.Field("_impacts") != nil; f.impacts {
		names = append(names, "_impacts")
		if f.lists, err = index.ColumnsOf(ctx, file, names...); err != nil {
			return nil, err
		}
	}
	if f.coding, err = codingOf(lists.Schema.Metadata); err != nil {
		return nil, err
	}
	switch {
	case lists.Schema.Field("_compressed_position") != nil:
		f.streams = true
		names = append(names, "_compressed_position", "_position_block_offset")
		switch codec := lists.Schema.Metadata["positions_codec"]; codec {
		case "", "varint_doc_delta_v2":
		case "packed_delta_v1":
			f.packed = true
		default:
			return nil, fmt.Errorf("%w: positions in the form %q", lance.ErrUnsupported, codec)
		}
	case lists.Schema.Field("_position") != nil:
		names = append(names, "_position")
	default:
		return f, nil
	}
	f.positions, err = index.ColumnsOf(ctx, file, names...)
	return f, err
}

func (f *postingFile) rows() int64 { return f.lists.File.NumRows() }

// A posting is the posting list of a term.
type posting struct {
	coding coding
	length int      // documents
	most   float32  // the maximal score of a document, by the partition's own counts
	blocks [][]byte // see coding
	// impacts has the entries of the blocks and of their spans, see frontier; empty if there are none.
	impacts [][]byte

	stream *positionStream
	starts []int    // where the blocks of each document begin in single; in format 1
	single [][]byte // see appendPositions
}

// read reads posting lists by the numbers of their terms.
func (f *postingFile) read(ctx context.Context, terms map[int64]bool, positions bool) (map[int64]*posting, error) {
	columns := f.lists
	if positions {
		if columns = f.positions; columns == nil {
			return nil, fmt.Errorf("%w: no positions", lance.ErrCorrupt)
		}
	}
	rows := slices.Sorted(maps.Keys(terms))
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	read, err := columns.ReadRows(reading, rows)
	if err != nil {
		return nil, err
	}
	lists, lengths, most := read[0], read[1], read[2]
	blocks, err := binaryLists(lists)
	if err != nil {
		return nil, err
	}
	rest, impacts := read[3:], func(int) ([][]byte, error) { return nil, nil }
	if f.impacts {
		if impacts, err = binaryLists(rest[0]); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	counts, ok := lengths.(*array.Uint32)
	scores, scored := most.(*array.Float32)
	if !ok || !scored {
		return nil, fmt.Errorf("%w: lengths of type %s and scores of type %s", lance.ErrCorrupt, lengths.DataType(), most.DataType())
	}
	found := make(map[int64]*posting, len(rows))
	for i, row := range rows {
		p := &posting{coding: f.coding, length: int(counts.Value(i)), most: scores.Value(i)}
		if p.blocks, err = copied(blocks(i)); err == nil {
			err = p.check()
		}
		if err == nil {
			p.impacts, err = copied(impacts(i))
		}
		if err == nil && positions {
			err = f.place(p, rest, i)
		}
		if err != nil {
			return nil, fmt.Errorf("term %d: %w", row, err)
		}
		if err := memory.FromContext(ctx).Take(ctx, p.bytes()); err != nil {
			return nil, err
		}
		found[row] = p
	}
	return found, nil
}

func (p *posting) check() error {
	if want := (p.length + p.coding.block - 1) / p.coding.block; len(p.blocks) != want {
		return fmt.Errorf("%w: %d blocks of %d documents", lance.ErrCorrupt, len(p.blocks), p.length)
	}
	return nil
}

// place gives a posting list its positions, of a row of their columns.
func (f *postingFile) place(p *posting, columns []arrow.Array, row int) error {
	if !f.streams {
		return p.placeSingle(columns[0], row)
	}
	if err := f.placeStream(p, columns, row); err != nil {
		return err
	}
	p.stream.data, p.stream.blocks = slices.Clone(p.stream.data), slices.Clone(p.stream.blocks)
	return nil
}

// placeStream gives a posting list positions in the memory of the columns.
func (f *postingFile) placeStream(p *posting, columns []arrow.Array, row int) error {
	data, ok := columns[0].(*array.LargeBinary)
	offsets, listed := columns[1].(*array.List)
	if !ok || !listed || data.IsNull(row) || offsets.IsNull(row) {
		return fmt.Errorf("%w: positions of type %s and %s", lance.ErrCorrupt, columns[0].DataType(), columns[1].DataType())
	}
	blocks, ok := offsets.ListValues().(*array.Uint32)
	from, to := offsets.ValueOffsets(row)
	if !ok || int(to-from) != len(p.blocks) {
		return fmt.Errorf("%w: positions of %d blocks of %d", lance.ErrCorrupt, to-from, len(p.blocks))
	}
	p.stream = &positionStream{data: data.Value(row), blocks: blocks.Uint32Values()[from:to], packed: f.packed}
	return nil
}

// placeSingle adds positions of format 1 to a posting list: one list for each document.
func (p *posting) placeSingle(column arrow.Array, row int) error {
	each, ok := column.(*array.List)
	if !ok || each.IsNull(row) {
		return fmt.Errorf("%w: positions of type %s", lance.ErrCorrupt, column.DataType())
	}
	blocks, err := binaryLists(each.ListValues())
	if err != nil {
		return err
	}
	from, to := each.ValueOffsets(row)
	if int(to-from) != p.length {
		return fmt.Errorf("%w: positions in %d documents of %d", lance.ErrCorrupt, to-from, p.length)
	}
	for i := from; i < to; i++ {
		p.starts = append(p.starts, len(p.single))
		list, err := copied(blocks(int(i)))
		if err != nil {
			return err
		}
		p.single = append(p.single, list...)
	}
	p.starts = append(p.starts, len(p.single))
	return nil
}

// binaryLists returns a function that returns the elements of a list of bytes, in the memory of the column.
func binaryLists(column arrow.Array) (func(row int) ([][]byte, error), error) {
	list, ok := column.(*array.List)
	if !ok {
		return nil, fmt.Errorf("%w: lists of bytes of type %s", lance.ErrCorrupt, column.DataType())
	}
	elements, ok := list.ListValues().(*array.LargeBinary)
	if !ok {
		return nil, fmt.Errorf("%w: lists of bytes of type %s", lance.ErrCorrupt, column.DataType())
	}
	return func(row int) ([][]byte, error) {
		from, to := list.ValueOffsets(row)
		blocks := make([][]byte, 0, to-from)
		for i := int(from); i < int(to); i++ {
			if elements.IsNull(i) {
				return nil, fmt.Errorf("%w: a block that is NULL", lance.ErrCorrupt)
			}
			blocks = append(blocks, elements.Value(i))
		}
		return blocks, nil
	}, nil
}

// copied gives blocks memory of their own.
func copied(blocks [][]byte, err error) ([][]byte, error) {
	size := 0
	for _, b := range blocks {
		size += len(b)
	}
	data := make([]byte, 0, size)
	for i, b := range blocks {
		start := len(data)
		data = append(data, b...)
		blocks[i] = data[start:len(data):len(data)]
	}
	return blocks, err
}

// bytes estimates the memory of the list.
func (p *posting) bytes() int64 {
	const header = 24
	n := int64(256) + 8*int64(len(p.starts))
	for _, blocks := range [][][]byte{p.blocks, p.impacts, p.single} {
		for _, b := range blocks {
			n += header + int64(len(b))
		}
	}
	if p.stream != nil {
		n += int64(len(p.stream.data)) + 4*int64(len(p.stream.blocks))
	}
	return n
}
