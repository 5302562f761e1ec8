package pb

import "slices"

// Fragment is a set of rows: the files that hold their columns, and which of them are
// deleted.
//
// Source: protos/fragment_metadata.proto of the format, message DataFragment.
type Fragment struct {
	ID           uint64        // 1
	Files        []DataFile    // 2
	DeletionFile *DeletionFile // 3: nil when no row is deleted
	PhysicalRows uint64        // 4: rows in the files, deleted ones included
	// Encoded sequences of a table with stable row ids, nil where absent; package rowid
	// reads them. Sequences kept as hidden columns (fields 12 to 14) are Unknown.
	RowIDs    []byte // 5: RowIDSequence
	UpdatedAt []byte // 7: RowVersionSequence
	CreatedAt []byte // 9: RowVersionSequence
	Unknown   []byte
}

// DataFile is one file of a fragment and the fields that it holds.
type DataFile struct {
	Path          string  // 1: below data/ of its base
	Fields        []int32 // 2: field ids; negative ones are no columns of the table
	ColumnIndices []int32 // 3: the file's column of each field
	MajorVersion  uint32  // 4
	MinorVersion  uint32  // 5
	SizeBytes     uint64  // 6: 0 is unknown
	BaseID        *uint32 // 7: nil is the table itself
	Unknown       []byte
}

// Kinds of deletion files.
const (
	DeletionArrow  int32 = 0 // an Arrow IPC file with a column of row offsets
	DeletionBitmap int32 = 1 // a roaring bitmap of row offsets
)

// DeletionFile names the file that says which rows of a fragment are deleted.
type DeletionFile struct {
	FileType    int32   // 1: DeletionArrow or DeletionBitmap
	ReadVersion uint64  // 2: part of the name
	ID          uint64  // 3: part of the name
	DeletedRows uint64  // 4: 0 is unknown
	BaseID      *uint32 // 7
	Unknown     []byte
}

// Unmarshal reads an encoded Fragment. It keeps parts of b.
func (f *Fragment) Unmarshal(b []byte) error { return f.unmarshal(b, new(interner)) }

func (f *Fragment) unmarshal(b []byte, in *interner) error {
	*f = Fragment{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			f.ID = s.Uint64()
		case 2:
			if f.Files == nil {
				f.Files = make([]DataFile, 0, 1)
			}
			f.Files = append(f.Files, DataFile{})
			file := &f.Files[len(f.Files)-1]
			s.Message(func(b []byte) error { return file.unmarshal(b, in) })
		case 3:
			f.DeletionFile = new(DeletionFile)
			s.Message(f.DeletionFile.Unmarshal)
		case 4:
			f.PhysicalRows = s.Uint64()
		case 5:
			f.RowIDs = slices.Clip(present(s.Bytes()))
		case 7:
			f.UpdatedAt = slices.Clip(present(s.Bytes()))
		case 9:
			f.CreatedAt = slices.Clip(present(s.Bytes()))
		default:
			f.Unknown = append(f.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Fragment.
func (f *Fragment) Marshal(e *Encoder) {
	e.Uint64(1, f.ID)
	for i := range f.Files {
		e.Message(2, f.Files[i].Marshal)
	}
	if f.DeletionFile != nil {
		e.Message(3, f.DeletionFile.Marshal)
	}
	e.Uint64(4, f.PhysicalRows)
	if f.RowIDs != nil {
		e.AlwaysBytes(5, f.RowIDs)
	}
	if f.UpdatedAt != nil {
		e.AlwaysBytes(7, f.UpdatedAt)
	}
	if f.CreatedAt != nil {
		e.AlwaysBytes(9, f.CreatedAt)
	}
	e.Unknown(f.Unknown)
}

// Unmarshal reads an encoded DataFile.
func (d *DataFile) Unmarshal(b []byte) error { return d.unmarshal(b, new(interner)) }

func (d *DataFile) unmarshal(b []byte, in *interner) error {
	*d = DataFile{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			d.Path = s.String()
		case 2:
			in.ids(s, 0, &d.Fields)
		case 3:
			in.ids(s, 1, &d.ColumnIndices)
		case 4:
			d.MajorVersion = s.Uint32()
		case 5:
			d.MinorVersion = s.Uint32()
		case 6:
			d.SizeBytes = s.Uint64()
		case 7:
			d.BaseID = ptr(s.Uint32())
		default:
			d.Unknown = append(d.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the DataFile.
func (d *DataFile) Marshal(e *Encoder) {
	e.String(1, d.Path)
	Packed(e, 2, d.Fields)
	Packed(e, 3, d.ColumnIndices)
	e.Uint64(4, uint64(d.MajorVersion))
	e.Uint64(5, uint64(d.MinorVersion))
	e.Uint64(6, d.SizeBytes)
	optional(e, 7, d.BaseID)
	e.Unknown(d.Unknown)
}

// Equal reports whether both say the same. Conflict checks take a difference as a
// rewrite of the fragment's columns.
func (d *DataFile) Equal(o *DataFile) bool {
	return d.Path == o.Path &&
		slices.Equal(d.Fields, o.Fields) &&
		slices.Equal(d.ColumnIndices, o.ColumnIndices) &&
		d.MajorVersion == o.MajorVersion && d.MinorVersion == o.MinorVersion &&
		d.SizeBytes == o.SizeBytes &&
		equalOptional(d.BaseID, o.BaseID)
}

func equalOptional[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Unmarshal reads an encoded DeletionFile.
func (d *DeletionFile) Unmarshal(b []byte) error {
	*d = DeletionFile{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			d.FileType = s.Int32()
		case 2:
			d.ReadVersion = s.Uint64()
		case 3:
			d.ID = s.Uint64()
		case 4:
			d.DeletedRows = s.Uint64()
		case 7:
			d.BaseID = ptr(s.Uint32())
		default:
			d.Unknown = append(d.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the DeletionFile.
func (d *DeletionFile) Marshal(e *Encoder) {
	e.Int32(1, d.FileType)
	e.Uint64(2, d.ReadVersion)
	e.Uint64(3, d.ID)
	e.Uint64(4, d.DeletedRows)
	optional(e, 7, d.BaseID)
	e.Unknown(d.Unknown)
}

// Equal reports whether both name the same file.
func (d *DeletionFile) Equal(o *DeletionFile) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.FileType == o.FileType && d.ReadVersion == o.ReadVersion && d.ID == o.ID && equalOptional(d.BaseID, o.BaseID)
}
