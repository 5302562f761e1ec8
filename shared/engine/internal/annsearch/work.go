package annsearch

import (
	"context"
	"fmt"
	"slices"

	"tiltyard/shared/engine/scatter"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// Probes are partitions of a segment that queries search.
type Probes struct {
	Segment    string  `json:"segment"`    // UUID
	Partitions [][]int `json:"partitions"` // by query
}

// Work is a search of the first partitions of all segments.
type Work struct {
	queries int
	pieces  []piece // in the order of the segments, and then of the partitions in them
}

// A piece is a partition with the queries that search it.
type piece struct {
	segment string
	number  int
	queries []int
	bytes   int64
}

// work returns the search of the first partitions.
func (s *search) work(ctx context.Context) (*Work, error) {
	const pieceBytes, probeBytes = 64, 16
	w := &Work{queries: len(s.Vectors)}
	for _, part := range s.segments {
		probes := 0
		for _, numbers := range part.probes {
			probes += len(numbers)
		}
		if err := memory.FromContext(ctx).Take(ctx, int64(pieceBytes*min(probes, part.index.Partitions())+probeBytes*probes)); err != nil {
			return nil, err
		}
		numbers, queries := part.wanted()
		slices.Sort(numbers)
		for _, number := range numbers {
			w.pieces = append(w.pieces, piece{part.uuid, number, queries[number], part.index.PartitionBytes(number)})
		}
	}
	return w, nil
}

// Bytes returns the size of the partitions in memory.
func (w *Work) Bytes() int64 {
	n := int64(0)
	for _, p := range w.pieces {
		n += p.bytes
	}
	return n
}

// Partitions returns how many partitions there are.
func (w *Work) Partitions() int { return len(w.pieces) }

// Cut divides the work into at most n parts of about the same size. A partition is in one part.
func (w *Work) Cut(n int64) [][]Probes {
	sizes := make([]int64, len(w.pieces))
	for i, p := range w.pieces {
		sizes[i] = p.bytes
	}
	var parts [][]Probes
	from := 0
	for _, end := range scatter.Cut(sizes, n) {
		var part []Probes
		for _, p := range w.pieces[from:end] {
			if len(part) == 0 || part[len(part)-1].Segment != p.segment {
				part = append(part, Probes{p.segment, make([][]int, w.queries)})
			}
			probes := part[len(part)-1].Partitions
			for _, query := range p.queries {
				probes[query] = append(probes[query], p.number)
			}
		}
		parts, from = append(parts, part), end
	}
	return parts
}

// restrict restricts the first partitions to those of Only. They must be among them: they were chosen in the same version,
// and others may not have been read.
func (s *search) restrict() error {
	if s.Only == nil {
		return nil
	}
	for _, part := range s.segments {
		first := part.probes
		part.probes = make([][]int, len(first))
		for _, only := range s.Only {
			if only.Segment != part.uuid {
				continue
			}
			if len(only.Partitions) != len(first) {
				return fmt.Errorf("%w: partitions for %d queries of %d", lance.ErrUnsupported, len(only.Partitions), len(first))
			}
			for query, numbers := range only.Partitions {
				left := make(map[int]bool, len(first[query]))
				for _, number := range first[query] {
					left[number] = true
				}
				for _, number := range numbers {
					if !left[number] {
						return fmt.Errorf("%w: partition %d of segment %s is not one that query %d searches first", lance.ErrUnsupported, number, part.uuid, query)
					}
					left[number] = false
				}
				part.probes[query] = numbers
			}
		}
	}
	return nil
}
