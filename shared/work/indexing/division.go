package indexing

import (
	"math"
	"sort"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/index"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
)

// Sizes bound the parts of builds.
type Sizes struct {
	Time   time.Duration // target for the time of a part on one core
	Memory int64         // target for the bytes of rows in the memory of a part
}

// PartSizes fit parts to Lambda functions of 2 GiB with a limit of 10 minutes, on a core that is
// several times slower than expected.
var PartSizes = Sizes{Time: 2 * time.Minute, Memory: 256 << 20}

// readNanos is the approximate time to read or write a byte of a table, in nanoseconds.
const readNanos = 13

// shards returns the number of shards for the rows of a version, at most [transaction.MaxParts]. It
// is 1 for an index that one worker builds as a whole.
func (s Sizes) shards(d *dataset.Dataset, parts index.Parts) int {
	for _, f := range d.Manifest().Fragments {
		if f.PhysicalRows == 0 { // early writers of Lance did not record the number of rows
			return 1
		}
	}
	e := parts.Effort()
	rows := float64(d.CountRows())
	byTime := rows * (e.RowNanos + readNanos*e.RowBytes) / float64(s.Time)
	byMemory := rows * e.Held / float64(s.Memory)
	return int(min(math.Ceil(max(byTime, byMemory, 1)), transaction.MaxParts))
}

// A division describes how the rows of a version are divided into shards. Jobs store it in their
// records.
type division struct {
	Place     string `json:"place"`     // URI of the table
	Version   uint64 `json:"version"`   // the version that all parts read
	Fragments []byte `json:"fragments"` // the ids of the divided fragments, as a roaring bitmap
	Trained   string `json:"trained"`   // id of the segment with the trained model that all shards use
	Stage     string `json:"stage"`     // id of the segment with the files of shards
	Shards    int    `json:"shards"`
	Segment   string `json:"segment,omitempty"` // id of the only segment, if the joins make parts of one segment
	Join      int64  `json:"join"`              // target for the time of a join, in nanoseconds
	Memory    int64  `json:"memory"`            // target for the bytes in the memory of a join

	Segments []segments.Staged `json:"segments,omitempty"` // segments of earlier rounds

	Fold *segments.StagedFold `json:"fold,omitempty"` // set if the job merges rows into an existing index
}

// A stretch is the sequence of fragments of a division, whose rows are numbered through.
type stretch struct {
	ids    []uint32
	starts []int64 // number of rows before each fragment, and of all at the end
	shards int
}

// stretch returns the fragments of the division.
func (v *division) stretch(d *dataset.Dataset) (*stretch, error) {
	wanted := roaring.New()
	if err := wanted.UnmarshalBinary(v.Fragments); err != nil {
		return nil, err
	}
	s := &stretch{starts: []int64{0}, shards: max(v.Shards, 1)}
	for _, f := range d.Manifest().Fragments {
		if f.ID <= math.MaxUint32 && wanted.Contains(uint32(f.ID)) {
			s.ids = append(s.ids, uint32(f.ID))
			s.starts = append(s.starts, s.rows()+int64(f.PhysicalRows))
		}
	}
	return s, nil
}

// rows returns the number of rows, deleted ones included.
func (s *stretch) rows() int64 { return s.starts[len(s.starts)-1] }

// A cut is a position between two rows.
type cut struct {
	fragment int   // index of the fragment in the stretch
	row      int64 // row in the fragment
}

// cut returns the begin of a shard, which counts from 0, or the end of the last one. The begin of a
// fragment is a cut, unless another fragment begins within the length of a shard before it. So
// segments can consist of whole fragments.
func (s *stretch) cut(shard int) cut {
	if shard >= s.shards {
		return cut{len(s.ids), 0}
	}
	length := float64(s.rows()) / float64(s.shards)
	at := int64(length * float64(shard))
	i := sort.Search(len(s.ids), func(i int) bool { return s.starts[i+1] > at })
	if row := at - s.starts[i]; i < len(s.ids) && float64(row) >= length {
		return cut{i, row}
	}
	return cut{i, 0}
}

// span returns the rows of a shard, which counts from 0: a function from a fragment id to a range
// of rows.
func (s *stretch) span(shard int) index.Span {
	from, to := s.cut(shard), s.cut(shard+1)
	numbers := map[uint64]int{}
	// Only the fragments of this shard have rows in it.
	for i := from.fragment; i <= to.fragment && i < len(s.ids); i++ {
		numbers[uint64(s.ids[i])] = i
	}
	return func(fragment uint64) (int64, int64) {
		i, ok := numbers[fragment]
		if !ok {
			return 0, 0
		}
		first, end := int64(0), s.starts[i+1]-s.starts[i]
		if i == from.fragment {
			first = from.row
		}
		if i == to.fragment {
			end = to.row
		}
		return first, end
	}
}

// A group is the range [from, to) of shards that one join turns into a segment, or a part of one.
type group struct{ from, to int }

// groups divides the shards among joins, so that each join respects the targets for time and
// memory. A segment consists of whole fragments.
func (v *division) groups(s *stretch, parts index.Parts, shards []index.Shard) []group {
	nanos := func(shard index.Shard) float64 { return joinNanos(parts, shard) }
	var groups []group
	from, sum, held := 0, 0.0, int64(0)
	for i, shard := range shards {
		isFull := sum > 0 && (sum+nanos(shard) > float64(v.Join) || held+shard.Held > v.Memory)
		if isFull && (v.Segment != "" || s.cut(i).row == 0) {
			groups = append(groups, group{from, i})
			from, sum, held = i, 0, 0
		}
		sum, held = sum+nanos(shard), held+shard.Held
	}
	return append(groups, group{from, len(shards)})
}

// covers returns the fragments of a group, as a roaring bitmap.
func (s *stretch) covers(g group) ([]byte, error) {
	covered := roaring.New()
	covered.AddMany(s.ids[s.cut(g.from).fragment:s.cut(g.to).fragment])
	return covered.ToBytes()
}
