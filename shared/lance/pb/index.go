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
