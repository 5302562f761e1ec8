package ivf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/process/memory"
)

// A Partition holds rows of a partition: all rows, or a piece of them that was read alone.
type Partition struct {
	Number int
	From   int // the first of its rows
	rows   int
	ids    []uint64
	codes  quantize.Codes
	graph  *paged // nil: it has none. A partition with a graph has its rows in pages.
}

// Rows returns the number of vectors.
func (p *Partition) Rows() int { return p.rows }

func (p *Partition) bytes() int64 {
	n := 8*int64(len(p.ids)) + codesBytes(&p.codes)
	if p.graph != nil {
		n += p.graph.Bytes()
	}
	return n
}

// PartitionBytes estimates the memory of a partition that a search probes.
func (x *Index) PartitionBytes(number int) int64 { return x.size(number) }

// size estimates the memory of a partition.
func (x *Index) size(number int) int64 {
	const graphRow = 200 // with the usual number of neighbours
	n := x.span(number).count * x.rowBytes()
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

func partName(number int) string { return "partition " + strconv.Itoa(number) }

// read reads partitions from the storage file.
func (x *Index) read(ctx context.Context, numbers []int) ([]*Partition, error) {
	numbers = slices.Clone(numbers)
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(x.span(a).from, x.span(b).from) })
	var ranges []encoding.RowRange
	bytes, end := int64(0), int64(0)
	for _, n := range numbers {
		r := x.span(n)
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
	links := make([]graphRows, len(numbers))
	if x.graphs != nil {
		for i, n := range numbers {
			tasks = append(tasks, func(ctx context.Context) (err error) {
				whole := []encoding.RowRange{{To: int(x.graphs.rows[n].count)}}
				if links[i], err = x.graphs.readRows(ctx, n, whole); err != nil {
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
		if x.graphs == nil {
			parts[i] = x.cut(n, columns, at, int(x.span(n).count))
		} else {
			var err error
			if parts[i], err = x.joinPages(ctx, n, columns, at, links[i]); err != nil {
				return nil, fmt.Errorf("%s: graph of partition %d: %w", indexFile, n, err)
			}
		}
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

// codesOf returns rows of a partition within columns that were read together, from the given row of these.
func (x *Index) codesOf(number int, columns [][]byte, at, rows int) *Partition {
	p := &Partition{Number: number, rows: rows, ids: arrow.Uint64Traits.CastFromBytes(columns[0])[at:][:rows]}
	p.codes = quantize.Codes{Rows: rows, Centroid: x.centroid(number)}
	for i, c := range x.quantizer.Columns() {
		width := c.RowBytes()
		p.codes.Columns = append(p.codes.Columns, columns[i+1][at*width:(at+rows)*width])
	}
	return p
}

// cut copies such rows, and arranges their codes.
func (x *Index) cut(number int, columns [][]byte, at, rows int) *Partition {
	p := x.codesOf(number, columns, at, rows)
	p.ids, p.codes = slices.Clone(p.ids), quantize.Cut(x.quantizer, &p.codes, 0, rows)
	return p
}

func (x *Index) centroid(number int) []float32 {
	if x.groups != nil {
		return x.members.of(number).centroid
	}
	return x.centroids.Values[number*x.Dim : (number+1)*x.Dim]
}

func isKnown(err error) bool {
	return errors.Is(err, lance.ErrCorrupt) || errors.Is(err, lance.ErrUnsupported)
}
