package sortkey

import (
	"container/heap"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// A Leading finds the rows that can be among the first of an order, by its first column alone. So most rows of an order
// with a limit need no key.
type Leading struct {
	most                   int
	descending, nullsFirst bool
	best                   worstFirst // the Words of the first rows, as many as most; inverted if descending
	space                  []uint64
}

// mostLeading bounds the words that a Leading keeps.
const mostLeading = 4096

// leadingRows is how many rows are looked at together.
const leadingRows = 1024

// NewLeading returns the Leading of an order with a limit, which begins with a column of a type. It returns nil for types
// without [Pairs], and for large limits.
func NewLeading(t arrow.DataType, most int64, descending, nullsFirst bool) *Leading {
	if !HavePairs(t) || most <= 0 || most > mostLeading {
		return nil
	}
	return &Leading{most: int(most), descending: descending, nullsFirst: nullsFirst}
}

// Rows appends the rows of the next values of the column that can be among the first, in ascending order.
func (l *Leading) Rows(rows []int32, a arrow.Array) []int32 {
	inverted := uint64(0)
	if l.descending {
		inverted = ^inverted
	}
	for from := 0; from < a.Len(); from += leadingRows {
		part := array.NewSlice(a, int64(from), int64(min(from+leadingRows, a.Len())))
		l.space = Words(l.space[:0], part, part.Len())
		nulls := part.NullN() > 0
		for i, word := range l.space {
			if nulls && part.IsNull(i) {
				if l.nullsFirst || len(l.best) < l.most {
					rows = append(rows, int32(from+i))
				}
				continue
			}
			word ^= inverted
			switch {
			case len(l.best) < l.most:
				heap.Push(&l.best, word)
			case word > l.best[0]:
				continue
			case word < l.best[0]:
				l.best[0] = word
				heap.Fix(&l.best, 0)
			}
			rows = append(rows, int32(from+i))
		}
		part.Release()
	}
	return rows
}

// worstFirst is a heap of words, the largest first.
type worstFirst []uint64

func (w worstFirst) Len() int           { return len(w) }
func (w worstFirst) Less(i, j int) bool { return w[i] > w[j] }
func (w worstFirst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }

// Push adds a word.
func (w *worstFirst) Push(x any) { *w = append(*w, x.(uint64)) }

// Pop is never called: the largest word is replaced.
func (w *worstFirst) Pop() any { return nil }
