package rowid

import (
	"sort"

	"tiltyard/shared/lance/pb"
)

// Versions are the versions of a table in which the rows of a fragment were created, or
// last changed, in the order of the rows. They do not change after they have been made.
//
// They are encoded as runs: three rows of version 2 are 0a 08 0a 04 0a 02 10 03 10 02, a
// run with the span 0 to 3 and the version 2.
type Versions struct {
	ends     []int64 // where each run of rows ends
	versions []uint64
}

// ParseVersions parses an encoded sequence, the CreatedAt or UpdatedAt of a fragment.
// Malformed bytes are [lance.ErrCorrupt].
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

// SameVersion returns the versions of n rows of one version.
func SameVersion(n int64, version uint64) *Versions {
	v := new(Versions)
	v.add(n, version)
	return v
}

// NewVersions returns the versions of rows in the given order. It does not keep the slice.
func NewVersions(versions []uint64) *Versions {
	v := new(Versions)
	for _, version := range versions {
		v.add(1, version)
	}
	return v
}

// ConcatVersions returns some sequences as one.
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

// start returns the first row of a run.
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

// Slice returns the versions of the rows at positions [from, to).
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
