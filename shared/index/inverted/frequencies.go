package inverted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// PostingBytes is the size of a posting that is decoded: the number of a document, and the frequency of the term in it.
const PostingBytes = 4 + 4

// SearchBytes returns, for each partition, the size of what a search may read of it, decoded: the posting lists of terms
// with these document frequencies, with a position in each document if there are positions, and the pages with the lengths
// of the documents.
func (r *Reader) SearchBytes(frequencies [][]int64, positions bool) []int64 {
	perPosting := int64(PostingBytes)
	if positions {
		perPosting += 4
	}
	sizes := make([]int64, len(r.partitions))
	for i, p := range r.partitions {
		postings := int64(0)
		for _, n := range frequencies[i] {
			postings += n
		}
		sizes[i] = postings*perPosting + lengthBytes*min(p.documents.count, postings<<lengthBits)
	}
	return sizes
}

// Frequencies returns, for each partition, the document frequency of each term. It reads no posting lists, but one number
// of each.
func (r *Reader) Frequencies(ctx context.Context, terms []string) ([][]int64, error) {
	all := make([][]int64, len(r.partitions))
	err := r.each(ctx, func(ctx context.Context, p *partition, i int) (err error) {
		if all[i], err = p.frequencies(ctx, terms); err != nil {
			return err
		}
		for _, n := range all[i] {
			if err := p.checkFrequency(n); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// frequencyBytes is the size of a document frequency in the cache.
const frequencyBytes = 8

// checkFrequency checks the document frequency of a term.
func (p *partition) checkFrequency(documents int64) error {
	if documents > p.documents.count {
		return fmt.Errorf("%w: %s: a term in %d of %d documents", lance.ErrCorrupt, p.name("invert"), documents, p.documents.count)
	}
	return nil
}

// frequencies returns the document frequencies of terms, 0 for a term that the partition lacks. Those that are not cached
// are read together.
func (p *partition) frequencies(ctx context.Context, terms []string) ([]int64, error) {
	numbers, err := p.Numbers(ctx, terms)
	if err != nil {
		return nil, err
	}
	found, missing := make([]int64, len(terms)), map[int64]bool{}
	for i, number := range numbers {
		if number < 0 {
			continue
		}
		found[i], err = p.keepFrequency(number, func() (any, int64, error) { return nil, 0, errNotKept })
		switch {
		case errors.Is(err, errNotKept):
			missing[number] = true
		case err != nil:
			return nil, err
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	read, err := p.postings.frequencies(ctx, missing)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name("invert"), err)
	}
	for i, number := range numbers {
		if !missing[number] {
			continue
		}
		if found[i], err = p.keepFrequency(number, func() (any, int64, error) { return read[number], frequencyBytes, nil }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (p *partition) keepFrequency(number int64, read func() (any, int64, error)) (int64, error) {
	kept, err := p.files.Keep(fmt.Sprintf("%s frequency %d", p.name("invert"), number), read)
	if err != nil {
		return 0, err
	}
	return kept.(int64), nil
}

// frequencies reads the lengths of posting lists by the numbers of their terms.
func (f *postingFile) frequencies(ctx context.Context, terms map[int64]bool) (map[int64]int64, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	rows := slices.Sorted(maps.Keys(terms))
	lengths := index.Columns{File: f.lists.File, Schema: f.lists.Schema, Fields: f.lists.Fields[1:2]}
	read, err := lengths.ReadRows(ctx, rows)
	if err != nil {
		return nil, err
	}
	counts, ok := read[0].(*array.Uint32)
	if !ok {
		return nil, fmt.Errorf("%w: lengths of type %s", lance.ErrCorrupt, read[0].DataType())
	}
	found := make(map[int64]int64, len(rows))
	for i, row := range rows {
		found[row] = int64(counts.Value(i))
	}
	return found, nil
}
