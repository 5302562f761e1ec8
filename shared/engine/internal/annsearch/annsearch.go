// Package annsearch finds the rows that are nearest to vectors by an index of the vectors: it looks through
// partitions of all segments of the index until it has looked far enough.
//
// A search goes in two waves. In the first it looks through the partitions that every search looks
// through, of all segments and for all query vectors at once, so that one round of requests reads them.
// A query for which fewer than k rows were found goes on, partition by partition.
//
// Deleted rows, rows of fragments for which a segment does not answer, and rows that a filter leaves out
// never count as found. Distances are those of the index, which may be approximate.
package annsearch

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// A Question is what a search looks for.
type Question struct {
	Index   string         // its name
	Vectors [][]float64    // each a query
	Lists   bool           // rows have several vectors, so that a query may find them several times
	Element arrow.DataType // of the vectors in the column
	Metric  vector.Metric  // of the index
	ivf.Params
	// Among, if not nil, are the only rows that may be found. It is called once, while the segments
	// are opened.
	Among func(context.Context) (*rowset.Set, error)
}

// An Answer is what a search has found.
type Answer struct {
	// Hits are the nearest rows of each query, nearest first: Candidates at most. Their ids are
	// addresses.
	Hits [][]vector.Hit
	// Rest are the rows of Question.Among, if those are so few that all of them are wanted and some
	// are in partitions that the search did not look through.
	Rest *rowset.Set
	// Segments, Partitions and Rows are how many of them were looked through.
	Segments, Partitions, Rows int
}

// Nearest searches an index. An error for which [lance.ErrCorrupt] or [lance.ErrUnsupported] holds means
// that the files of the index cannot be read.
func Nearest(ctx context.Context, d *dataset.Dataset, q Question) (*Answer, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	s, err := open(ctx, d, q)
	if err != nil {
		return nil, err
	}
	if err := s.first(ctx); err != nil {
		return nil, err
	}
	answer := &Answer{Segments: len(s.segments)}
	if s.wantsAll() {
		answer.Rest = s.among
	} else if err := s.rest(ctx); err != nil {
		return nil, err
	}
	for _, part := range s.segments {
		if err := part.rows.Err(); err != nil {
			return nil, err
		}
		answer.Partitions, answer.Rows = answer.Partitions+part.partitions, answer.Rows+part.looked
	}
	for _, top := range s.tops {
		answer.Hits = append(answer.Hits, top.Hits())
	}
	return answer, nil
}

// A search is a question that is being answered.
type search struct {
	Question
	segments []*segment
	among    *rowset.Set
	tops     []*vector.TopK // by query
}

// A segment is the part of a search in one segment.
type segment struct {
	index              *ivf.Index
	rows               *snapshot.LiveRows
	accept             ivf.Accept
	searches           []*ivf.Search // by query
	partitions, looked int
}

// open opens all segments side by side.
func open(ctx context.Context, d *dataset.Dataset, q Question) (*search, error) {
	parts, err := d.Segments(q.Index)
	if err != nil {
		return nil, err
	}
	s := &search{Question: q, segments: make([]*segment, len(parts))}
	jobs := len(parts)
	if q.Among != nil {
		jobs++
	}
	err = lance.Each(ctx, jobs, jobs, func(ctx context.Context, i int) (err error) {
		defer contain(&err)
		if i == len(parts) {
			s.among, err = q.Among(ctx)
		} else {
			s.segments[i], err = s.open(ctx, d, parts[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, part := range s.segments {
		part.accept = part.rows.Find
		if s.among != nil {
			part.accept = func(id uint64) (uint64, bool) {
				address, ok := part.rows.Find(id)
				return address, ok && s.among.Contains(address)
			}
		}
	}
	s.tops, err = s.newTops(ctx)
	return s, err
}

// contain turns a panic in a goroutine, which nothing else could catch, into an error.
func contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: panic while searching an index: %v", lance.ErrCorrupt, r)
	}
}

// open opens one segment and ranks its partitions for each query.
func (s *search) open(ctx context.Context, d *dataset.Dataset, part *snapshot.Segment) (*segment, error) {
	index, err := ivf.Open(ctx, part)
	if err != nil {
		return nil, fmt.Errorf("index %s: segment %s: %w", s.Index, part.UUID, err)
	}
	if index.Metric != s.Metric || index.Element != s.Element.ID() {
		return nil, fmt.Errorf("%w: index %s: segment %s: vectors of %s under %s, want %s under %s",
			lance.ErrUnsupported, s.Index, part.UUID, index.Element, index.Metric, s.Element, s.Metric)
	}
	opened := &segment{index: index}
	if opened.rows, err = d.LiveRows(ctx, part, true); err != nil {
		return nil, err
	}
	const perPartition = 16
	if err := memory.FromContext(ctx).Take(ctx, int64(len(s.Vectors))*(perPartition*int64(index.Partitions())+index.QueryBytes())); err != nil {
		return nil, err
	}
	for _, v := range s.Vectors {
		one, err := index.Search(v, s.Params)
		if err != nil {
			return nil, fmt.Errorf("index %s: segment %s: %w", s.Index, part.UUID, err)
		}
		opened.searches = append(opened.searches, one)
	}
	return opened, nil
}

// hitBytes is the memory of a hit in a TopK, whose capacity may be twice its length.
const hitBytes = 32

func (s *search) newTops(ctx context.Context) ([]*vector.TopK, error) {
	if err := memory.FromContext(ctx).Take(ctx, hitBytes*int64(len(s.Vectors))*int64(s.Candidates)); err != nil {
		return nil, err
	}
	tops := make([]*vector.TopK, len(s.Vectors))
	for i := range tops {
		tops[i] = vector.NewTopK(s.Candidates, s.Bounds)
	}
	return tops, nil
}

// first looks through the first partitions of all segments, which are read side by side.
func (s *search) first(ctx context.Context) error {
	var lock sync.Mutex
	return lance.Each(ctx, len(s.segments), len(s.segments), func(ctx context.Context, i int) (err error) {
		defer contain(&err)
		tops, err := s.newTops(ctx)
		if err == nil {
			err = s.segments[i].first(ctx, tops)
		}
		lock.Lock()
		defer lock.Unlock()
		for i := range tops {
			s.tops[i].Merge(tops[i])
		}
		return err
	})
}

// first looks through the first partitions of each query, each of which it reads once.
func (p *segment) first(ctx context.Context, tops []*vector.TopK) error {
	var numbers []int
	wanted := map[int][]int{} // queries by partition
	for i, one := range p.searches {
		for _, number := range one.First() {
			if wanted[number] == nil {
				numbers = append(numbers, number)
			}
			wanted[number] = append(wanted[number], i)
		}
	}
	for partition, err := range p.index.Read(ctx, numbers) {
		if err != nil {
			return err
		}
		if partition.From == 0 {
			p.partitions++
		}
		for _, i := range wanted[partition.Number] {
			if err := p.look(ctx, partition, i, tops[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *segment) look(ctx context.Context, partition *ivf.Partition, query int, top *vector.TopK) error {
	p.looked += partition.Rows()
	return p.searches[query].Look(ctx, partition, p.accept, top)
}

// wantsAll reports whether all rows among which to search are wanted, and some were not found.
func (s *search) wantsAll() bool {
	if s.among == nil || s.among.Len() > int64(s.K) {
		return false
	}
	if s.Lists {
		return true
	}
	for _, top := range s.tops {
		if int64(top.Len()) < s.among.Len() {
			return true
		}
	}
	return false
}

// restReads is how many further partitions are read together at first. Each time after it is twice as
// many.
const restReads = 4

// rest goes on for the queries for which too few rows were found.
func (s *search) rest(ctx context.Context) error {
	for i, top := range s.tops {
		from := 0
		for n := restReads; top.Len() < s.K; n *= 2 {
			more := false
			for _, part := range s.segments {
				numbers := part.searches[i].Rest()
				numbers = numbers[min(from, len(numbers)):min(from+n, len(numbers))]
				more = more || len(numbers) > 0
				if err := s.goOn(ctx, part, i, numbers); err != nil {
					return err
				}
			}
			if !more {
				break
			}
			from += n
		}
	}
	return nil
}

// goOn looks through partitions of one segment until a query has found enough.
func (s *search) goOn(ctx context.Context, part *segment, query int, numbers []int) error {
	top := s.tops[query]
	for partition, err := range part.index.Read(ctx, numbers) {
		if err != nil {
			return err
		}
		if partition.From == 0 {
			if top.Len() >= s.K {
				return nil
			}
			part.partitions++
		}
		if err := part.look(ctx, partition, query, top); err != nil {
			return err
		}
	}
	return nil
}
