package pb

import "slices"

// Fragment is a set of rows: the files that hold their columns, and the file that marks
// deleted rows.
//
// Source: protos/fragment_metadata.proto of the format, message DataFragment.
//
//pb:message write
type Fragment struct {
	ID           uint64        `pb:"1"`
	Files        []DataFile    `pb:"2"`
	DeletionFile *DeletionFile `pb:"3"` // nil when no row is deleted
	PhysicalRows uint64        `pb:"4"` // rows in the files, deleted ones included
	// Encoded sequences of a table with stable row ids, nil where absent; package rowid
	// reads them. Sequences kept as hidden columns (fields 12 to 14) are Unknown.
	RowIDs    []byte `pb:"5,optional"` // RowIDSequence
	UpdatedAt []byte `pb:"7,optional"` // RowVersionSequence
	CreatedAt []byte `pb:"9,optional"` // RowVersionSequence
	Unknown   []byte
}

// DataFile is one file of a fragment and the fields that it holds.
//
//pb:message write
type DataFile struct {
	Path          string  `pb:"1"` // below data/ of its base
	Fields        []int32 `pb:"2"` // field ids; negative ones are no columns of the table
	ColumnIndices []int32 `pb:"3"` // the file's column of each field
	MajorVersion  uint32  `pb:"4"`
	MinorVersion  uint32  `pb:"5"`
	SizeBytes     uint64  `pb:"6"` // 0 is unknown
	BaseID        *uint32 `pb:"7"` // nil is the table itself
	Unknown       []byte
}

// Kinds of deletion files.
const (
	DeletionArrow  int32 = 0 // an Arrow IPC file with a column of row offsets
	DeletionBitmap int32 = 1 // a roaring bitmap of row offsets
)

// DeletionFile names the file that marks the deleted rows of a fragment.
//
//pb:message
type DeletionFile struct {
	FileType    int32   `pb:"1"` // DeletionArrow or DeletionBitmap
	ReadVersion uint64  `pb:"2"` // part of the name
	ID          uint64  `pb:"3"` // part of the name
	DeletedRows uint64  `pb:"4"` // 0 is unknown
	BaseID      *uint32 `pb:"7"`
	Unknown     []byte
}

// Unmarshal reads an encoded Fragment. The result shares memory with b.
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

// Equal reports whether both entries are the same. Conflict checks treat a difference as a
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

// Equal reports whether both entries name the same file.
func (d *DeletionFile) Equal(o *DeletionFile) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.FileType == o.FileType && d.ReadVersion == o.ReadVersion && d.ID == o.ID && equalOptional(d.BaseID, o.BaseID)
}
