package materialize

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/process/memory"
)

// A frame is a window of a list: where it begins and ends in it, and among the items of all lists.
type frame struct {
	start, end int64
	first      int64
	ordinal    int32
}

// maxFramed bounds, approximately, the total number of items in the windows of a group.
const maxFramed = 4 << 20

// windowsOf returns the rows for windows of lists. A group contains the positions of its windows,
// and copies their items only when its rows are read.
func windowsOf(ctx context.Context, x *selection.Expansion, lists *array.List) iter.Seq2[*group, error] {
	return func(yield func(*group, error) bool) {
		g := new(group)
		var frames []frame
		framed := int64(0)
		flush := func() bool {
			all := frames
			g.take = func(ctx context.Context, items []int32) (arrow.Array, error) {
				return frameArray(ctx, x.Value().Type.(*arrow.StructType), lists.ListValues(), all, items)
			}
			more := yield(g, ctx.Err())
			g, frames, framed = new(group), nil, 0
			return more
		}
		for row := range lists.Len() {
			if lists.IsNull(row) {
				continue
			}
			first, end := lists.ValueOffsets(row)
			for f := range framesOf(x.Window, end-first) {
				f.first = first + f.start
				g.rows, g.items = append(g.rows, int32(row)), append(g.items, int32(len(frames)))
				frames = append(frames, f)
				framed += f.end - f.start
				// Windows overlap, so their items are bounded as well as their number.
				if (len(frames) == maxExpanded || framed >= maxFramed) && !flush() {
					return
				}
			}
		}
		if len(frames) > 0 {
			flush()
		}
	}
}

// framesOf yields the windows of a list of n items.
func framesOf(w *selection.Window, n int64) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		f := frame{}
		for ; f.start < n; f.start += w.Step {
			f.end = min(f.start+w.Size, n)
			if !yield(f) || f.end == n {
				return
			}
			f.ordinal++
		}
	}
}

// frameArray returns windows as an array of structs.
func frameArray(ctx context.Context, t *arrow.StructType, values arrow.Array, frames []frame, items []int32) (arrow.Array, error) {
	count := int64(0)
	for _, item := range items {
		count += frames[item].end - frames[item].start
	}
	share := memory.FromContext(ctx)
	if err := share.Take(ctx, 4*count+24*int64(len(items))); err != nil {
		return nil, err
	}
	places := make([]int32, 0, count)
	offsets := make([]int32, 1, len(items)+1)
	starts, ends, ordinals := make([]int64, len(items)), make([]int64, len(items)), make([]int32, len(items))
	for i, item := range items {
		f := frames[item]
		for place := range f.end - f.start {
			places = append(places, int32(f.first+place))
		}
		offsets = append(offsets, int32(len(places)))
		starts[i], ends[i], ordinals[i] = f.start, f.end, f.ordinal
	}
	if err := share.Take(ctx, take.Bytes(values, places)); err != nil {
		return nil, err
	}
	taken, err := take.Array(values, places)
	if err != nil {
		return nil, err
	}
	n := len(items)
	column := func(at int, buffer []byte, children ...arrow.ArrayData) arrow.ArrayData {
		return array.NewData(t.Field(at).Type, n, []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(buffer)}, children, 0, 0)
	}
	return array.NewStructData(array.NewData(t, n, []*arrowmemory.Buffer{nil}, []arrow.ArrayData{
		column(0, arrow.GetBytes(offsets), taken.Data()), column(1, arrow.GetBytes(starts)), column(2, arrow.GetBytes(ends)), column(3, arrow.GetBytes(ordinals)),
	}, 0, 0)), nil
}
