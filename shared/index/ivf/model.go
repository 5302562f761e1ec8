package ivf

import (
	"fmt"
	"math"

	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A model is the message that describes the partitions of a file:
//
//	2  offsets           repeated uint64  first row of each partition; absent: they follow each other
//	3  lengths           repeated uint32  number of rows of each partition
//	4  centroids_tensor  Tensor           one row for each partition
//	5  loss              double           sum of the distances of rows to their centroids; optional
//
// Source: protos/index.proto of the format, message IVF.
type model struct {
	centroids *quantize.Tensor // nil in files that have none
	rows      []span
}

// A span is rows of a file.
type span struct{ from, count int64 }

func (s span) to() int64 { return s.from + s.count }

// encode encodes a model. The loss is written only with centroids.
func (m *model) encode(loss float64) []byte {
	var e pb.Encoder
	offsets, lengths := make([]uint64, len(m.rows)), make([]uint32, len(m.rows))
	for i, r := range m.rows {
		offsets[i], lengths[i] = uint64(r.from), uint32(r.count)
	}
	pb.Packed(&e, 2, offsets)
	pb.Packed(&e, 3, lengths)
	if m.centroids != nil {
		e.AlwaysBytes(4, m.centroids.Encode())
		e.Float64(5, loss)
	}
	return e.B
}

// add adds a partition of some rows.
func (m *model) add(count int64) {
	from := int64(0)
	if n := len(m.rows); n > 0 {
		from = m.rows[n-1].to()
	}
	m.rows = append(m.rows, span{from, count})
}

// maxPartitions bounds the partitions of a segment.
const maxPartitions = 1 << 20

// decodeModel decodes a model. Partitions without offsets follow each other.
func decodeModel(message []byte) (*model, error) {
	m := &model{}
	s := pb.NewScanner(message)
	var offsets, lengths []uint64
	for s.Next() {
		switch s.Num {
		case 2:
			s.Varints(func(n uint64) { offsets = append(offsets, n) })
		case 3:
			s.Varints(func(n uint64) { lengths = append(lengths, n) })
		case 4:
			s.Message(func(b []byte) (err error) {
				m.centroids, err = quantize.DecodeTensor(b)
				return err
			})
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("model of partitions: %w", corrupt(err))
	}
	if len(lengths) > maxPartitions || m.centroids != nil && m.centroids.Rows > maxPartitions {
		return nil, fmt.Errorf("%w: more than %d partitions", lance.ErrUnsupported, maxPartitions)
	}
	if len(offsets) != 0 && len(offsets) != len(lengths) {
		return nil, fmt.Errorf("%w: %d offsets and %d lengths of partitions", lance.ErrCorrupt, len(offsets), len(lengths))
	}
	next := uint64(0)
	for i, n := range lengths {
		if len(offsets) > 0 {
			next = offsets[i]
		}
		if n > math.MaxUint32 || next > math.MaxInt64/2 {
			return nil, fmt.Errorf("%w: partition %d of %d rows from %d on", lance.ErrCorrupt, i, n, next)
		}
		m.rows = append(m.rows, span{int64(next), int64(n)})
		next += n
	}
	return m, nil
}

// corrupt turns a decoding error into lance.ErrCorrupt, unless it already has a more specific kind.
func corrupt(err error) error {
	if isKnown(err) {
		return err
	}
	return fmt.Errorf("%w: %w", lance.ErrCorrupt, err)
}
