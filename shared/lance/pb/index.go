package pb

import "fmt"

// UUID is 16 bytes in the order of their text.
type UUID [16]byte

// String returns the usual form with hyphens, which is the name of an index directory.
func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// Unmarshal reads an encoded UUID, whose only field holds the bytes.
func (u *UUID) Unmarshal(b []byte) error {
	*u = UUID{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num != 1 {
			continue
		}
		if raw := s.Bytes(); s.Err() == nil && copy(u[:], raw) != len(u) || len(raw) > len(u) {
			s.Fail(fmt.Errorf("%w: a UUID of %d bytes", ErrWire, len(raw)))
		}
	}
	return s.Err()
}

// Marshal writes the UUID.
func (u UUID) Marshal(e *Encoder) { e.AlwaysBytes(1, u[:]) }

// IndexSection lists the indices of a version of a table.
//
//pb:message
type IndexSection struct {
	Indices []*IndexMetadata `pb:"1"`
	Unknown []byte
}

// IndexMetadata is one segment of an index; segments of one index share its name.
//
// Source: protos/table.proto of the format, message IndexMetadata.
//
//pb:message
type IndexMetadata struct {
	UUID           UUID              `pb:"1"` // names its directory below _indices
	Fields         []int32           `pb:"2"` // ids of the fields it is keyed on
	Name           string            `pb:"3"`
	DatasetVersion uint64            `pb:"4"` // what it was built from
	FragmentBitmap []byte            `pb:"5"` // covered fragment ids, a portable roaring bitmap; may be empty
	Details        *Any              `pb:"6"`
	IndexVersion   *int32            `pb:"7"`
	CreatedAt      *uint64           `pb:"8"` // milliseconds since 1970
	BaseID         *uint32           `pb:"9"`
	Files          []IndexFile       `pb:"10"` // empty is unknown
	CoveringFields []int32           `pb:"11"`
	ClusteringID   *uint32           `pb:"12"`
	Metadata       map[string]string `pb:"13"`
	Unknown        []byte
}

// IndexFile is one file of an index segment.
//
//pb:message
type IndexFile struct {
	Path      string `pb:"1"` // below the segment's directory
	SizeBytes uint64 `pb:"2"`
	Unknown   []byte
}

// FragmentReuseDetails are the details of the entry __lance_frag_reuse, of which a history in a file of its
// own is Unknown.
//
// Source: protos/table.proto of the format, message FragmentReuseIndexDetails.
//
//pb:message
type FragmentReuseDetails struct {
	Inline  *FragmentReuse `pb:"1"`
	Unknown []byte
}

// FragmentReuse is a history of compactions. Moves of other kinds are Unknown.
//
//pb:message
type FragmentReuse struct {
	Versions []FragmentReuseVersion `pb:"1"`
	Unknown  []byte
}

// FragmentReuseVersion is one compaction.
//
//pb:message
type FragmentReuseVersion struct {
	DatasetVersion uint64               `pb:"1"`
	Groups         []FragmentReuseGroup `pb:"3"`
	Unknown        []byte
}

// FragmentReuseGroup is fragments that others have taken the place of.
//
//pb:message
type FragmentReuseGroup struct {
	Moved   []byte           `pb:"1"` // addresses of the rows that were not deleted, a 64-bit roaring bitmap
	Old     []FragmentDigest `pb:"2"` // in the order of their rows
	New     []FragmentDigest `pb:"3"`
	Unknown []byte
}

// FragmentDigest is a fragment as it was.
//
//pb:message
type FragmentDigest struct {
	ID           uint64 `pb:"1"`
	PhysicalRows uint64 `pb:"2"`
	Deleted      uint64 `pb:"3"`
	Unknown      []byte
}
