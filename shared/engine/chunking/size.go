package chunking

import (
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rivo/uniseg"

	"tiltyard/shared/index/fulltext"
)

// Limits of split_text. A splitter remembers the start of each open piece, and pieces repeat their overlap,
// so neither may grow without bound.
const (
	maxSize   = 1 << 20 // units of a piece
	maxCopies = 64      // pieces that a unit is in
)

// splitText returns pieces of a fixed number of units; the last piece may be shorter. A unit is a grapheme
// cluster, or a word with the characters before the next word.
var splitText = &Function{
	Name: "split_text",
	Params: []Param{
		{Name: "size", Type: arrow.PrimitiveTypes.Int64},
		{Name: "overlap", Type: arrow.PrimitiveTypes.Int64, Optional: true, Default: int64(0)},
		{Name: "unit", Type: arrow.BinaryTypes.String, Optional: true, Default: "characters"},
	},
	Fields: pieceFields,
	new: func(args []any) (cutter, error) {
		size, overlap, unit := args[0].(int64), args[1].(int64), args[2].(string)
		if size < 1 || size > maxSize {
			return nil, fmt.Errorf("size is %d; it counts the units of a piece, from 1 to %d", size, maxSize)
		}
		if most := size - (size+maxCopies-1)/maxCopies; overlap < 0 || overlap > most {
			return nil, fmt.Errorf("overlap is %d; pieces of %d units can share from 0 to %d", overlap, size, most)
		}
		starts, err := unitsOf(unit)
		if err != nil {
			return nil, err
		}
		return func(text string) iter.Seq[span] { return windows(text, starts, int(size), int(size-overlap)) }, nil
	},
}

// unitsOf returns a function that yields the offsets of the units of a text, the first of which is 0.
func unitsOf(unit string) (func(text string) iter.Seq[int], error) {
	switch unit {
	case "characters":
		return clusters, nil
	case "words":
		unit = "simple"
	}
	words, ok := fulltext.WordStarts(unit)
	if !ok {
		return nil, fmt.Errorf("unit is %.40q, which is none of characters, words, simple, whitespace and icu", unit)
	}
	return func(text string) iter.Seq[int] { return whole(text, words(text)) }, nil
}

// windows cuts a text into pieces of size units. Each piece begins step units after the previous one.
func windows(text string, starts func(string) iter.Seq[int], size, step int) iter.Seq[span] {
	return func(yield func(span) bool) {
		if text == "" {
			return
		}
		var open []int // where the pieces begin that have not ended
		units := 0
		for at := range starts(text) {
			if units%step == 0 {
				open = append(open, at)
			}
			if units >= size && (units-size)%step == 0 {
				if !yield(span{start: open[0], end: at}) {
					return
				}
				open = append(open[:0], open[1:]...)
			}
			units++
		}
		yield(span{start: open[0], end: len(text)}) // the other open pieces are suffixes of it
	}
}

// clusters yields the beginnings of the grapheme clusters of a text.
func clusters(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; at < len(text); at += cluster(text[at:]) {
			if !yield(at) {
				return
			}
		}
	}
}

// cluster returns the length of the grapheme cluster at the beginning of a text.
func cluster(text string) int {
	if len(text) > 1 && text[0] < 0x80 && text[1] < 0x80 && text[0] != '\r' { // nearly all that is read comes by here
		return 1
	}
	first, _, _, _ := uniseg.FirstGraphemeClusterInString(text, -1)
	return len(first)
}

// whole yields 0, and the places that are boundaries of grapheme clusters.
func whole(text string, places iter.Seq[int]) iter.Seq[int] {
	return func(yield func(int) bool) {
		if !yield(0) {
			return
		}
		at, first := 0, true
		for place := range places {
			for at < place {
				at += cluster(text[at:])
			}
			if at == place && !first && !yield(place) {
				return
			}
			first = false // the text before the first word belongs to it
		}
	}
}
