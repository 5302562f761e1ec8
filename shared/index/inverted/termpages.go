package inverted

import (
	"context"
	"fmt"
	"slices"

	"tiltyard/shared/index"
	"tiltyard/shared/index/inverted/fst"
	"tiltyard/shared/lance/datafile"
)

// The terms of many texts of a language take tens of megabytes. A search reads only the blocks of the automaton that the
// nodes of its terms are in: that of the root, which is the last one, and then one or two in each round of requests. A node
// is shortly after the nodes that it leads to, unless another term has led to these before, so the way from the root to a
// term goes backwards, by ever smaller steps. Blocks are cached one by one.

// wholeTermBytes is the size of the file of terms up to which a search reads it as a whole, by one round of requests.
const wholeTermBytes = 4 << 20

// termBlock is the size of a block of an automaton.
const termBlock = 64 << 10

// A pagedAutomaton is an automaton that is read block by block.
type pagedAutomaton struct {
	*termPages
	files index.Files
	file  *datafile.File
}

// termPages is what is cached of a paged automaton, besides its blocks.
type termPages struct {
	fst.Automaton
	name  string // of the file
	place datafile.Span
	end   int64 // of the nodes
}

// termPagesBytes is the approximate memory of a termPages.
const termPagesBytes = 256

// readTermPages returns the automaton of a file, or nil if it cannot be read in parts. It caches the last block.
func readTermPages(ctx context.Context, name string, files index.Files, file *datafile.File) (*termPages, error) {
	c, err := index.ColumnsOf(ctx, file, automatonColumn)
	if err != nil {
		return nil, err
	}
	placed, err := file.Placed(ctx, c.Fields[0], fst.HeaderBytes, termBlock+fst.FooterBytes)
	if placed == nil || err != nil || placed.Size < fst.HeaderBytes+fst.FooterBytes {
		return nil, err
	}
	a, end, err := fst.ParseEdges(placed.First, placed.Last, placed.Size)
	if err != nil {
		return nil, err
	}
	p := &termPages{Automaton: *a, name: name, place: placed.Span, end: end}
	last := (end - 1) / termBlock
	if from := last*termBlock - (placed.Size - int64(len(placed.Last))); from >= 0 {
		_, err = p.keep(files, last, placed.Last[from:int64(len(placed.Last))-(placed.Size-end)])
	}
	return p, err
}

// keep caches a copy of a block, so that the bytes read around it can be freed.
func (p *termPages) keep(files index.Files, block int64, bytes []byte) ([]byte, error) {
	kept, err := files.Keep(p.blockName(block), func() (any, int64, error) { return slices.Clone(bytes), int64(len(bytes)), nil })
	if err != nil {
		return nil, err
	}
	return kept.([]byte), nil
}

// Numbers implements dictionary. All terms advance together, as far as there are blocks; then the next blocks of all terms
// are read by one round of requests.
func (p *pagedAutomaton) Numbers(ctx context.Context, terms []string) ([]int64, error) {
	ways, blocks := make([]fst.Way, len(terms)), termBlocks{of: p, held: map[int64][]byte{}}
	for i := range ways {
		ways[i] = p.Begin()
	}
	for {
		for i := range ways {
			if err := ways[i].Advance(&p.Automaton, terms[i], blocks.before); err != nil {
				return nil, err
			}
		}
		if len(blocks.missing) == 0 {
			break
		}
		if err := blocks.read(ctx); err != nil {
			return nil, err
		}
	}
	all := make([]int64, len(terms))
	for i := range ways {
		all[i] = ways[i].Number()
	}
	return all, nil
}

// Each implements dictionary. It reads the whole automaton.
func (p *pagedAutomaton) Each(ctx context.Context, yield func(term []byte) error) error {
	whole, err := p.files.Keep(p.name+" all terms", func() (any, int64, error) {
		d, bytes, err := readDictionary(ctx, p.file, automatonForm)
		return d, bytes, err
	})
	if err != nil {
		return err
	}
	return whole.(dictionary).Each(ctx, yield)
}

// termBlocks are the blocks of an automaton that a search has.
type termBlocks struct {
	of      *pagedAutomaton
	held    map[int64][]byte
	missing []int64
}

// before returns the bytes up to an address, at least those of its node. If a block of them is missing, ok is false, and
// read reads it.
func (b *termBlocks) before(address int) (s fst.Stretch, ok bool) {
	if address == 0 {
		return fst.Stretch{}, true // the empty node
	}
	from := max(fst.HeaderBytes, address+1-fst.MostNode)
	first, last := int64(from/termBlock), int64(address/termBlock)
	ok = b.has(last)
	if first < last && !b.has(first) || !ok {
		return fst.Stretch{}, false
	}
	if first == last {
		return fst.Stretch{Data: b.held[last], From: int(last * termBlock)}, true
	}
	before := b.held[first][from-int(first*termBlock):]
	return fst.Stretch{Data: slices.Concat(before, b.held[last][:address+1-int(last*termBlock)]), From: from}, true
}

// has reports whether a block is there, and otherwise notes that it is missing.
func (b *termBlocks) has(block int64) bool {
	if b.held[block] != nil {
		return true
	}
	kept, err := b.of.files.Keep(b.of.blockName(block), func() (any, int64, error) { return nil, 0, errNotKept })
	if err != nil {
		if !slices.Contains(b.missing, block) {
			b.missing = append(b.missing, block)
		}
		return false
	}
	b.held[block] = kept.([]byte)
	return true
}

// read reads the missing blocks.
func (b *termBlocks) read(ctx context.Context) error {
	var spans []datafile.Span
	for _, block := range b.missing {
		at := block * termBlock
		spans = append(spans, datafile.Span{From: b.of.place.From + at, Size: min(termBlock, b.of.end-at)})
	}
	read, err := b.of.file.ReadSpans(ctx, spans...)
	if err != nil {
		return err
	}
	for i, block := range b.missing {
		if b.held[block], err = b.of.keep(b.of.files, block, read[i]); err != nil {
			return err
		}
	}
	b.missing = b.missing[:0]
	return nil
}

func (p *termPages) blockName(block int64) string { return fmt.Sprintf("%s block %d", p.name, block) }
