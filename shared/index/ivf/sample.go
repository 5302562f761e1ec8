package ivf

import (
	"context"
	"iter"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/process/memory"
)

// A sample is some vectors of a column, in random order.
type sample struct {
	vectors *quantize.Vectors
	wanted  int64
	least   int64       // minimal number, which must fit into memory
	held    memory.Hold // for the vectors
	seen    int64       // vectors of the whole column, if all rows were read; else 0
	random  *rand.Rand
}

// newSample returns an empty sample with a target size.
func (b *build) newSample(wanted int64) *sample {
	return &sample{
		vectors: quantize.NewVectors(b.element, b.dim, b.metric, 0), wanted: wanted,
		least: min(wanted, int64(max(b.leastRows(), b.Partitions))), random: b.random,
	}
}

// fill reads the vectors: at random places if these are few of the rows, and else, or if many rows
// there have none, by reading all.
func (s *sample) fill(ctx context.Context, rows index.Source) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	if s.wanted <= rows.Rows()/2 {
		if _, err := s.read(rows.Sample(ctx, s.wanted, s.random)); err != nil {
			return err
		}
	}
	if int64(s.vectors.Rows()) < s.wanted/2 || s.wanted > rows.Rows()/2 {
		s.vectors = quantize.NewVectors(s.vectors.Element, s.vectors.Dim, s.vectors.Metric, int(s.wanted))
		var err error
		if s.seen, err = s.read(rows.Scan(ctx, nil)); err != nil {
			return err
		}
	}
	s.random.Shuffle(s.vectors.Rows(), s.vectors.Swap)
	return ctx.Err()
}

// hold reserves memory for the vectors. It halves the sample while less than half of the share would remain
// for the readers.
func (s *sample) hold(ctx context.Context) error {
	for s.wanted/2 > s.least && !fits(ctx, s.vectors.Bytes(int(s.wanted))) {
		s.wanted /= 2
	}
	return s.held.Resize(ctx, s.vectors.Bytes(int(s.wanted)))
}

func fits(ctx context.Context, bytes int64) bool {
	part, ok := memory.FromContext(ctx).TryPart(bytes)
	if ok && part != nil {
		part.Close()
	}
	return ok
}

// read adds the vectors of batches and returns their number. Once the sample is full, each further vector
// replaces a random one with the probability of reservoir sampling, so that all have the same chance.
func (s *sample) read(batches iter.Seq2[arrow.RecordBatch, error]) (int64, error) {
	seen := int64(0)
	for batch, err := range batches {
		if err != nil {
			return seen, err
		}
		v := quantize.NewVectors(s.vectors.Element, s.vectors.Dim, s.vectors.Metric, quantize.Count(batch.Column(0)))
		if _, err := v.Append(batch.Column(0)); err != nil {
			return seen, err
		}
		for row := range v.Rows() {
			seen++
			if n := s.vectors.Rows(); int64(n) < s.wanted {
				s.vectors.Put(n, v, row)
			} else if at := s.random.Int64N(seen); at < s.wanted {
				s.vectors.Put(int(at), v, row)
			}
		}
	}
	return seen, nil
}
