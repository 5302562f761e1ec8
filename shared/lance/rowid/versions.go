package rowid

import (
	"sort"

	"tiltyard/shared/lance/pb"
)

// Versions is the versions of a table in which the rows of a fragment were made, or
// last changed, in the order of the rows. It is not changed after it has been made.
type Versions struct {
	ends     []int64 // where each run of rows ends
	versions []uint64
}

// ParseVersions reads an encoded sequence, a fragment's CreatedAt or UpdatedAt. Bytes
// that are none are [lance.ErrCorrupt].
func ParseVersions(b []byte) (*Versions, error) {
	var message pb.RowVersionSequence
	if err := message.Unmarshal(b); err != nil {
		return nil, corrupt("versions: %v", err)
	}
	v := new(Versions)
	for i := range message.Runs {
		span, err := parseSegment(&message.Runs[i].Span)
		if err != nil {
			return nil, err
		}
		v.add(span.len(), message.Runs[i].Version)
		if v.Len() > maxRows {
			return nil, corrupt("versions of %d rows, want at most %d", v.Len(), int64(maxRows))
		}
	}
	return v, nil
}

// SameVersion returns the versions of n rows that are all of one version.
func SameVersion(n int64, version uint64) *Versions {
	v := new(Versions)
	v.add(n, version)
	return v
}

// NewVersions returns the versions of rows in their order. It does not keep them.
func NewVersions(versions []uint64) *Versions {
	v := new(Versions)
	for _, version := range versions {
		v.add(1, version)
	}
	return v
}

// ConcatVersions returns all versions of some sequences.
func ConcatVersions(sequences ...*Versions) *Versions {
	all := new(Versions)
	for _, v := range sequences {
		for i, end := range v.ends {
			all.add(end-v.start(i), v.versions[i])
		}
	}
	return all
}

// add appends n rows of a version.
func (v *Versions) add(n int64, version uint64) {
	if n == 0 {
		return
	}
	last := len(v.ends) - 1
	if last >= 0 && v.versions[last] == version {
		v.ends[last] += n
		return
	}
	v.ends = append(v.ends, v.Len()+n)
	v.versions = append(v.versions, version)
}

// start returns where a run begins.
func (v *Versions) start(run int) int64 {
	if run == 0 {
		return 0
	}
	return v.ends[run-1]
}

// Len returns the number of rows.
func (v *Versions) Len() int64 { return v.start(len(v.ends)) }

// At returns the version of the k-th row, where 0 <= k < Len.
func (v *Versions) At(k int64) uint64 {
	return v.versions[sort.Search(len(v.ends), func(i int) bool { return v.ends[i] > k })]
}

// Slice returns the versions of the rows from position from to before to.
func (v *Versions) Slice(from, to int64) *Versions {
	out := new(Versions)
	for i, end := range v.ends {
		if lo, hi := max(from, v.start(i)), min(to, end); lo < hi {
			out.add(hi-lo, v.versions[i])
		}
	}
	return out
}

// Encode returns the bytes of the sequence, for a fragment's CreatedAt or UpdatedAt.
func (v *Versions) Encode() []byte {
	var message pb.RowVersionSequence
	for i, end := range v.ends {
		message.Runs = append(message.Runs, pb.RowVersionRun{
			Span:    pb.U64Segment{Kind: pb.SegmentRange, Start: uint64(v.start(i)), End: uint64(end)},
			Version: v.versions[i],
		})
	}
	e := pb.Encoder{B: []byte{}} // not nil: no rows are not the same as no versions
	message.Marshal(&e)
	return e.B
}
