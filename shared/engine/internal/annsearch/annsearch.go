// Package annsearch finds the rows nearest to vectors by a vector index. It searches partitions of
// all segments of the index until it has found enough rows.
//
// A search has two phases. In the first it searches the minimum number of partitions in all
// segments for all query vectors, so that one round of requests reads them. In the second it
// searches one more partition at a time, for the queries with fewer than k rows.
//
// Deleted rows, rows in fragments that a segment does not cover, and rows that do not pass a filter
// never count as found. Distances are computed by the index, and may be approximate.
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

// A Question is the input of a search.
type Question struct {
	Index   string         // name
	Vectors [][]float64    // each is a query
	Lists   bool           // rows have several vectors, so a query may find a row several times
	Element arrow.DataType // element type of the column
	Metric  vector.Metric  // of the index
	ivf.Params
	// Among restricts the result to a set of rows. Nil means all rows. It is called once, in parallel
	// with the opening of segments.
	Among func(context.Context) (*rowset.Set, error)
	// Only restricts the search to some of the partitions that each query searches first. Nil means all of these, and
	// others for queries that find too few rows in them.
	Only []Probes
	// Elsewhere, if it is not nil, may search the first partitions in another way, and add the rows of among (nil: all
	// rows) that it finds to tops, by query. If done is false they are searched here.
	Elsewhere func(ctx context.Context, work *Work, among *rowset.Set, tops []*vector.TopK) (done bool, err error)
}

// An Answer is the result of a search.
type Answer struct {
	// Hits are up to Candidates nearest rows of each query, nearest first. Their ids are addresses.
	Hits [][]vector.Hit
	// Rest is the set of Question.Among, if it has at most k rows and the search did not find all of
	// them. The caller then measures all of these rows.
	Rest *rowset.Set
	// Segments and Partitions are the numbers of searched ones, Rows of those that were measured here.
	Segments, Partitions, Rows int
}

// Nearest searches an index. Errors that wrap [lance.ErrCorrupt] or [lance.ErrUnsupported] mean
// that the files of the index are unreadable.
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
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	answer := &Answer{Segments: len(s.segments)}
	switch {
	case s.Only != nil:
	case s.wantsAll():
		// Measuring all rows of the filter is cheaper than searching on.
		answer.Rest = s.among
	default:
		if err := s.rest(ctx); err != nil {
			return nil, err
		}
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

// A search is a running search.
type search struct {
	Question
	segments []*segment
	among    *rowset.Set
	tops     []*vector.TopK // by query
}

// A segment is the state of a search in one segment.
type segment struct {
	uuid               string
	index              *ivf.Index
	rows               *snapshot.LiveRows
	filter             ivf.Filter
	searches           []*ivf.Search // by query
	probes             [][]int       // the partitions to search first, by query
	partitions, looked int
}

// open opens all segments in parallel.
func open(ctx context.Context, d *dataset.Dataset, q Question) (*search, error) {
	parts, err := d.Segments(q.Index)
	if err != nil {
		return nil, err
	}
	s := &search{Question: q, segments: make([]*segment, len(parts))}
	// The rows of the filter are read while the segments are opened.
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
	if err := s.restrict(); err != nil {
		return nil, err
	}
	for _, part := range s.segments {
		// Without a filter, a row only has to exist. The index has deleted rows too.
		live := d.CountRows()
		_, deleted := d.Counts()
		part.filter = ivf.Filter{Accept: part.rows.Find, Share: 1}
		if s.among != nil {
			live = s.among.Len()
		}
		if s.among != nil || deleted > live {
			part.filter.Share = float64(live) / float64(max(d.CountRows()+deleted, 1))
		}
		if s.among != nil {
			part.filter.Accept = func(id uint64) (uint64, bool) {
				address, ok := part.rows.Find(id)
				return address, ok && s.among.Contains(address)
			}
		}
	}
	s.tops, err = s.newTops(ctx)
	return s, err
}

// contain turns a panic in a goroutine into an error. Nothing else could recover it.
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
	opened := &segment{uuid: part.UUID, index: index}
	if opened.rows, err = d.LiveRows(ctx, part, true); err != nil {
		return nil, err
	}
	const perPartition = 16
	if err := memory.FromContext(ctx).Take(ctx, int64(len(s.Vectors))*(perPartition*int64(index.Partitions())+index.QueryBytes())); err != nil {
		return nil, err
	}
	for _, v := range s.Vectors {
		one, err := index.Search(ctx, v, s.Params)
		if err != nil {
			return nil, fmt.Errorf("index %s: segment %s: %w", s.Index, part.UUID, err)
		}
		opened.searches = append(opened.searches, one)
		opened.probes = append(opened.probes, one.First())
	}
	return opened, nil
}

// hitBytes is the memory of a hit in a TopK, whose capacity may be twice its length.
const hitBytes = 32

// newTops returns an empty result for each query, and takes memory for it.
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

// begin searches the first partitions of all segments.
func (s *search) begin(ctx context.Context) error {
	if s.Elsewhere != nil {
		work, err := s.work(ctx)
		if err != nil {
			return err
		}
		if done, err := s.Elsewhere(ctx, work, s.among, s.tops); done || err != nil {
			return err
		}
	}
	return s.first(ctx)
}

// first searches the first partitions of all segments in parallel.
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

// first searches the first partitions of each query. It reads each partition once.
func (p *segment) first(ctx context.Context, tops []*vector.TopK) error {
	numbers, wanted := p.wanted()
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

// wanted returns the first partitions of all queries, each once, and the queries that search each of them.
func (p *segment) wanted() (numbers []int, queries map[int][]int) {
	queries = map[int][]int{}
	for i, probes := range p.probes {
		for _, number := range probes {
			if queries[number] == nil {
				numbers = append(numbers, number)
			}
			queries[number] = append(queries[number], i)
		}
	}
	return numbers, queries
}

// look searches one partition for one query.
func (p *segment) look(ctx context.Context, partition *ivf.Partition, query int, top *vector.TopK) error {
	measured, err := p.searches[query].Look(ctx, partition, p.filter, top)
	p.looked += measured
	return err
}

// wantsAll reports whether the result must contain all rows of among, and some were not found.
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

// restReads is the number of further partitions in the first read of the second phase. Each later
// read doubles it.
const restReads = 4

// rest searches further partitions for the queries with too few rows.
func (s *search) rest(ctx context.Context) error {
	for i, top := range s.tops {
		from := 0
		for n := restReads; top.Len() < s.K; n *= 2 {
			more := false
			for _, part := range s.segments {
				numbers, err := part.searches[i].Rest(ctx, from+n)
				if err != nil {
					return err
				}
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

// goOn searches partitions of one segment until a query has found enough.
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
