package ivf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index/internal/hnsw"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/process/memory"
)

// A Partition holds rows of a partition that were read together: all rows, or a piece of them.
type Partition struct {
	Number int
	From   int // the first of its rows
	ids    []uint64
	codes  quantize.Codes
	graph  *hnsw.Graph // nil: it has none
}

// Rows returns the number of vectors.
func (p *Partition) Rows() int { return len(p.ids) }

func (p *Partition) bytes() int64 {
	n := int64(8*len(p.ids) + 4*len(p.codes.Offsets))
	for _, c := range p.codes.Columns {
		n += int64(len(c))
	}
	if p.graph != nil {
		n += p.graph.Bytes()
	}
	return n
}

// size estimates the memory of a partition.
func (x *Index) size(number int) int64 {
	const graphRow = 200 // with the usual number of neighbours
	n := x.rows[number].count * x.rowBytes()
	if x.graphs != nil {
		n += graphRow * x.graphs.rows[number].count
	}
	return n
}

// rowBytes returns the memory of a row: its id, an offset and its code.
func (x *Index) rowBytes() int64 {
	n := int64(8 + 4)
	for _, c := range x.quantizer.Columns() {
		n += int64(c.RowBytes())
	}
	return n
}

func partName(number int) string { return fmt.Sprintf("partition %d", number) }

// read reads partitions from the storage file.
func (x *Index) read(ctx context.Context, numbers []int) ([]*Partition, error) {
	numbers = slices.Clone(numbers)
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(x.rows[a].from, x.rows[b].from) })
	var ranges []encoding.RowRange
	bytes, end := int64(0), int64(0)
	for _, n := range numbers {
		r := x.rows[n]
		if r.from < end && r.count > 0 {
			return nil, fmt.Errorf("%w: %s: partition %d overlaps another", lance.ErrCorrupt, storageFile, n)
		}
		if r.count > 0 {
			ranges = append(ranges, encoding.RowRange{From: int(r.from), To: int(r.to())})
			end = r.to()
		}
		bytes += x.size(n)
	}
	if err := memory.FromContext(ctx).Take(ctx, bytes); err != nil {
		return nil, err
	}
	var columns [][]byte
	parts := make([]*Partition, len(numbers))
	tasks := []func(context.Context) error{func(ctx context.Context) (err error) {
		if columns, err = x.readRows(ctx, ranges); err != nil {
			return fmt.Errorf("%s: %w", storageFile, err)
		}
		return nil
	}}
	joined := make([]*hnsw.Graph, len(numbers))
	if x.graphs != nil {
		for i, n := range numbers {
			tasks = append(tasks, func(ctx context.Context) (err error) {
				if joined[i], err = x.graphs.read(ctx, n, int(x.rows[n].count)); err != nil {
					return fmt.Errorf("%s: graph of partition %d: %w", indexFile, n, err)
				}
				return nil
			})
		}
	}
	if err := sideBySide(ctx, tasks...); err != nil {
		return nil, err
	}
	at := 0
	for i, n := range numbers {
		parts[i] = x.cut(n, columns, at, int(x.rows[n].count))
		parts[i].graph = joined[i]
		at += parts[i].Rows()
	}
	return parts, nil
}

// readRows returns the bytes of each column for ranges of rows, the row ids first.
func (x *Index) readRows(ctx context.Context, ranges []encoding.RowRange) ([][]byte, error) {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	arrays, err := x.storage.ReadRanges(reading, x.fields, ranges)
	if err != nil {
		return nil, err
	}
	columns := make([][]byte, len(arrays))
	widths := append([]int{8}, widthsOf(x.quantizer.Columns())...)
	for i, a := range arrays {
		if columns[i], err = plainBytes(a, encoding.CountRows(ranges), widths[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", x.fields[i].Name, err)
		}
	}
	return columns, nil
}

func widthsOf(columns []quantize.Column) []int {
	var widths []int
	for _, c := range columns {
		widths = append(widths, c.RowBytes())
	}
	return widths
}

// plainBytes returns the values of an array of fixed-width rows without NULLs.
func plainBytes(a arrow.Array, rows, width int) ([]byte, error) {
	if a.Len() != rows {
		return nil, fmt.Errorf("%w: %d rows, want %d", lance.ErrCorrupt, a.Len(), rows)
	}
	if a.NullN() > 0 {
		return nil, fmt.Errorf("%w: a value is NULL", lance.ErrCorrupt)
	}
	from, each := a.Data().Offset(), width
	if list, ok := a.(*array.FixedSizeList); ok {
		first, last := 0, 0
		if rows > 0 {
			start, _ := list.ValueOffsets(0)
			_, end := list.ValueOffsets(rows - 1)
			first, last = int(start), int(end)
			each = width * rows / max(last-first, 1)
		}
		a = array.NewSlice(list.ListValues(), int64(first), int64(last))
		if a.NullN() > 0 {
			return nil, fmt.Errorf("%w: an element is NULL", lance.ErrCorrupt)
		}
		from = a.Data().Offset()
	}
	if rows == 0 {
		return nil, nil
	}
	b := a.Data().Buffers()[1].Bytes()
	if len(b) < from*each+rows*width {
		return nil, fmt.Errorf("%w: %d bytes for %d rows of %d", lance.ErrCorrupt, len(b), rows, width)
	}
	return b[from*each : from*each+rows*width], nil
}

// cut copies rows of a partition out of columns that were read together, from the given row of these.
func (x *Index) cut(number int, columns [][]byte, at, rows int) *Partition {
	p := &Partition{Number: number, ids: slices.Clone(arrow.Uint64Traits.CastFromBytes(columns[0])[at:][:rows])}
	p.codes = quantize.Codes{Rows: rows, Centroid: x.centroid(number)}
	for i, c := range x.quantizer.Columns() {
		width := c.RowBytes()
		p.codes.Columns = append(p.codes.Columns, slices.Clone(columns[i+1][at*width:(at+rows)*width]))
	}
	quantize.Arrange(x.quantizer, &p.codes)
	return p
}

func (x *Index) centroid(number int) []float32 {
	return x.centroids.Values[number*x.Dim : (number+1)*x.Dim]
}

func isKnown(err error) bool {
	return errors.Is(err, lance.ErrCorrupt) || errors.Is(err, lance.ErrUnsupported)
}
