package textsearch

import (
	"context"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/process/memory"
)

// joinedCounts joins the counts of a document in several columns.
type joinedCounts struct {
	search *fulltext.Search
	at     map[place]int // number of the document's row in counts
	counts []uint32
	room   memory.Hold
}

// joinedBytes is the approximate memory of a document without its counts.
const joinedBytes = 56

// row returns the counts of document i.
func (j *joinedCounts) row(i int) []uint32 {
	words := j.search.RowWords()
	return j.counts[i*words : (i+1)*words]
}

// add adds the counts of a document in one column to its counts in others.
func (j *joinedCounts) add(ctx context.Context, at place, counts []uint32) error {
	i, ok := j.at[at]
	if !ok {
		i = len(j.at)
		if need := int64(i+1) * (joinedBytes + 8*int64(len(counts))); need > j.room.Bytes() {
			if err := j.room.Resize(ctx, 2*need); err != nil {
				return err
			}
		}
		j.at[at] = i
		j.counts = append(j.counts, counts...)
		return nil
	}
	row := j.row(i)
	for w, n := range counts {
		row[w] |= n // the words of different columns do not overlap
	}
	return nil
}

// lengths adds the lengths of a column's documents to joined rows without a match in that column.
func (l *lists) lengths(ctx context.Context, column int, j *joinedCounts) error {
	c := l.columns[column]
	empty := make([]uint32, len(l.search.Terms(column)))
	for i, r := range c.readers {
		err := r.Lengths(ctx, func(ids []uint64, lengths []uint32) error {
			if err := l.dataset.Places(ctx, c.segments[i], ids); err != nil {
				return err
			}
			for n, address := range ids {
				if at, ok := j.at[place{address: address}]; ok && !l.search.Entered(j.row(at), column) {
					l.search.Enter(j.row(at), column, fulltext.Entry{Length: lengths[n], Frequencies: empty})
				}
			}
			return nil
		})
		if err != nil {
			return &UnreadIndex{c.index.Name, err}
		}
	}
	return nil
}
