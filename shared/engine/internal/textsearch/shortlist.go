package textsearch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
)

// A shortlist has the best documents of an index by their scores alone. The rows of many documents are read by page, and
// most of those that score well at first are not among the best in the end, so only the rows of the shortlist are looked up.
//
// The row of a document may be deleted by then. If there are deleted rows, the shortlist has more documents than the search
// wants. If too few of them are left, or too many have the same score, the search looks up rows as it goes instead.
type shortlist struct {
	mu   sync.Mutex   // of all fields, and of scoring
	best *vector.TopK // scores of the best; their ids mean nothing
	all  []candidate  // the best, and those with the score of the last one of them
	most int          // of all, after [shortlist.prune]
}

// A candidate is a document of a partition.
type candidate struct {
	score  float32
	in     int // number of the partition among all that were searched
	number int64
}

const (
	mostListed = 4096 // of the best
	mostTied   = 1024 // in addition to the best
	// candidateBytes is the memory of a candidate, and of its score and its row.
	candidateBytes = 24 + 16 + 16
)

// errTied ends a search because too many documents have the same score.
var errTied = errors.New("too many documents have the same score")

// least returns the score of the last one of the best, or -Inf if there are too few.
func (s *shortlist) least() float32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return -s.best.Limit()
}

// add adds a document. The error is errTied. The caller holds the lock.
func (s *shortlist) add(score float32, in int, number int64) error {
	if !(-score <= s.best.Limit()) {
		return nil
	}
	s.best.Add(-score, 0)
	s.all = append(s.all, candidate{score, in, number})
	if len(s.all) < 2*s.most {
		return nil
	}
	return s.prune()
}

// prune removes documents that are no longer among the best. The error is errTied.
func (s *shortlist) prune() error {
	s.all = slices.DeleteFunc(s.all, func(c candidate) bool { return !(-c.score <= s.best.Limit()) })
	if len(s.all) > s.most {
		return errTied
	}
	return nil
}

// A searched is a partition that a shortlist has documents of.
type searched struct {
	segment *snapshot.Segment
	matches *inverted.Matches
}

// scoreByList is score for all rows, by a shortlist. If done is false, top has not changed: one partition at a time needs
// less memory.
func (l *lists) scoreByList(ctx context.Context, scorer *fulltext.Scorer, top *vector.TopK) (done bool, err error) {
	most := top.K() + l.spare(top.K())
	if l.bound == nil || most > mostListed {
		return false, nil
	}
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return false, err
	}
	defer room.Close()
	done, err = l.byList(ctx, scorer, top, most)
	if refused := (*memory.Error)(nil); errors.Is(err, errTied) || errors.As(err, &refused) {
		return false, nil
	}
	return done, err
}

// byList is scoreByList with a list of so many documents. The error may be errTied.
func (l *lists) byList(ctx context.Context, scorer *fulltext.Scorer, top *vector.TopK, most int) (done bool, err error) {
	if err := memory.FromContext(ctx).Take(ctx, candidateBytes*int64(2*(most+mostTied))); err != nil {
		return false, err
	}
	list := &shortlist{best: vector.NewTopK(most, vector.Bounds{}), most: most + mostTied}
	bound := *l.bound
	bound.Least = func() float32 { return max(-top.Limit(), list.least()) }
	parts, err := l.enlist(ctx, scorer, bound, list)
	if err != nil {
		return false, err
	}
	hits, err := l.located(ctx, parts, list.all)
	if err != nil {
		return false, err
	}
	joined := top.Clone()
	for _, h := range hits {
		joined.AddPart(h.Distance, h.RowID, h.Part)
	}
	// All documents that are not in the list score less than the last one of the best.
	if list.best.Len() == most && (joined.Len() < joined.K() || joined.Limit() > list.best.Limit()) {
		return false, nil
	}
	*top = *joined
	return true, nil
}

// spare returns how many documents of a shortlist may be of deleted rows.
func (l *lists) spare(k int) int {
	const least = 16
	if _, deleted := l.dataset.Counts(); deleted > 0 {
		return max(k/2, least)
	}
	return 0
}

// partitionsAtOnce is how many partitions are searched at the same time, each of which holds some pages of lengths. They
// know the scores of each other's documents.
const partitionsAtOnce = 4

// enlist adds the documents of all partitions to a shortlist.
func (l *lists) enlist(ctx context.Context, scorer *fulltext.Scorer, bound inverted.Bound, list *shortlist) ([]searched, error) {
	c := l.columns[0]
	var parts []searched
	for i, partitions := range c.found {
		for _, m := range partitions {
			parts = append(parts, searched{c.segments[i], m})
		}
	}
	err := lance.Each(ctx, len(parts), partitionsAtOnce, func(ctx context.Context, i int) (err error) {
		counts := make([]uint32, l.search.RowWords())
		err = parts[i].matches.EachAbove(ctx, bound, func(d *inverted.Document) error {
			list.mu.Lock()
			defer list.mu.Unlock()
			clear(counts)
			l.search.Enter(counts, 0, fulltext.Entry{Length: d.Length, Frequencies: d.Frequencies, Positions: d.Positions})
			l.scored++
			if score, ok := scorer.Score(counts); ok {
				return list.add(score, i, d.Number)
			}
			return nil
		})
		if err == nil || errors.Is(err, errTied) {
			return err
		}
		return c.unread(parts[i].segment, err)
	})
	if err != nil {
		return nil, err
	}
	return parts, list.prune()
}

// located returns the documents of a shortlist whose rows are there, with their scores as negative distances.
func (l *lists) located(ctx context.Context, parts []searched, all []candidate) ([]vector.Hit, error) {
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.number, b.number)) })
	var groups [][]candidate
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].in == all[from].in {
			to++
		}
		groups, from = append(groups, all[from:to]), to
	}
	found := make([][]vector.Hit, len(groups))
	err := lance.Each(ctx, len(groups), maxSegmentReads, func(ctx context.Context, i int) (err error) {
		found[i], err = l.locatedIn(ctx, parts[groups[i][0].in], groups[i])
		return err
	})
	return slices.Concat(found...), err
}

// locatedIn is located for the documents of a partition.
func (l *lists) locatedIn(ctx context.Context, part searched, group []candidate) ([]vector.Hit, error) {
	numbers, rows, elements := make([]int64, len(group)), make([]uint64, len(group)), make([]uint32, len(group))
	for i, c := range group {
		numbers[i] = c.number
	}
	err := part.matches.Locate(ctx, numbers, rows, elements)
	if err == nil {
		err = l.dataset.Places(ctx, part.segment, rows)
	}
	if err != nil {
		return nil, l.columns[0].unread(part.segment, err)
	}
	hits := make([]vector.Hit, 0, len(group))
	for i, address := range rows {
		if address != snapshot.NoAddress && l.covers(address>>32) {
			hits = append(hits, vector.Hit{Distance: -group[i].score, RowID: address, Part: elements[i]})
		}
	}
	return hits, nil
}
