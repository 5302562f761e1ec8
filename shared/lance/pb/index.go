package pb

import "fmt"

// UUID is 16 bytes in the order of their text.
type UUID [16]byte

// String returns the usual form with hyphens, which names directories of indices.
func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// Unmarshal reads an encoded UUID, whose one field holds its bytes.
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
type IndexSection struct {
	Indices []*IndexMetadata // 1
	Unknown []byte
}

// IndexMetadata is one segment of an index; segments of one index share its name.
//
// Source: protos/table.proto of the format, message IndexMetadata.
type IndexMetadata struct {
	UUID           UUID              // 1: names its directory below _indices
	Fields         []int32           // 2: ids of the fields it is keyed on
	Name           string            // 3
	DatasetVersion uint64            // 4: what it was built from
	FragmentBitmap []byte            // 5: covered fragment ids, a portable roaring bitmap; may be empty
	Details        *Any              // 6
	IndexVersion   *int32            // 7
	CreatedAt      *uint64           // 8: milliseconds since 1970
	BaseID         *uint32           // 9
	Files          []IndexFile       // 10: empty is unknown
	CoveringFields []int32           // 11
	ClusteringID   *uint32           // 12
	Metadata       map[string]string // 13
	Unknown        []byte
}

// IndexFile is one file of an index segment.
type IndexFile struct {
	Path      string // 1: below the segment's directory
	SizeBytes uint64 // 2
	Unknown   []byte
}

// Unmarshal reads an encoded IndexSection. It keeps parts of b.
func (x *IndexSection) Unmarshal(b []byte) error {
	*x = IndexSection{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			pointers(s, &x.Indices)
		} else {
			x.Unknown = append(x.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the IndexSection.
func (x *IndexSection) Marshal(e *Encoder) {
	for _, m := range x.Indices {
		e.Message(1, m.Marshal)
	}
	e.Unknown(x.Unknown)
}

// Unmarshal reads an encoded IndexMetadata. It keeps parts of b.
func (m *IndexMetadata) Unmarshal(b []byte) error {
	*m = IndexMetadata{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Message(m.UUID.Unmarshal)
		case 2:
			s.Varints(func(v uint64) { m.Fields = append(m.Fields, int32(v)) })
		case 3:
			m.Name = s.String()
		case 4:
			m.DatasetVersion = s.Uint64()
		case 5:
			m.FragmentBitmap = s.Bytes()
		case 6:
			m.Details = new(Any)
			s.Message(m.Details.Unmarshal)
		case 7:
			m.IndexVersion = ptr(s.Int32())
		case 8:
			m.CreatedAt = ptr(s.Uint64())
		case 9:
			m.BaseID = ptr(s.Uint32())
		case 10:
			values(s, &m.Files)
		case 11:
			s.Varints(func(v uint64) { m.CoveringFields = append(m.CoveringFields, int32(v)) })
		case 12:
			m.ClusteringID = ptr(s.Uint32())
		case 13:
			ScanMapEntry(s, &m.Metadata)
		default:
			m.Unknown = append(m.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the IndexMetadata.
func (m *IndexMetadata) Marshal(e *Encoder) {
	e.Message(1, m.UUID.Marshal)
	Packed(e, 2, m.Fields)
	e.String(3, m.Name)
	e.Uint64(4, m.DatasetVersion)
	e.Bytes(5, m.FragmentBitmap)
	if m.Details != nil {
		e.Message(6, m.Details.Marshal)
	}
	optional(e, 7, m.IndexVersion)
	optional(e, 8, m.CreatedAt)
	optional(e, 9, m.BaseID)
	for i := range m.Files {
		e.Message(10, m.Files[i].Marshal)
	}
	Packed(e, 11, m.CoveringFields)
	optional(e, 12, m.ClusteringID)
	EncodeMap(e, 13, m.Metadata)
	e.Unknown(m.Unknown)
}

// Unmarshal reads an encoded IndexFile.
func (f *IndexFile) Unmarshal(b []byte) error {
	*f = IndexFile{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			f.Path = s.String()
		case 2:
			f.SizeBytes = s.Uint64()
		default:
			f.Unknown = append(f.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the IndexFile.
func (f *IndexFile) Marshal(e *Encoder) {
	e.String(1, f.Path)
	e.Uint64(2, f.SizeBytes)
	e.Unknown(f.Unknown)
}
