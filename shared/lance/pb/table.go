package pb

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Manifest is one version of a table: its schema and its fragments.
//
// Source: protos/table.proto of the format, message Manifest.
//
//pb:message write
type Manifest struct {
	Fields                []*Field          `pb:"1"` // the schema in pre-order
	Fragments             []*Fragment       `pb:"2"` // ascending by id
	Version               uint64            `pb:"3"`
	VersionAuxData        uint64            `pb:"4"` // unused
	SchemaMetadata        map[string]string `pb:"5"`
	IndexSection          *uint64           `pb:"6"` // position in the manifest file
	Timestamp             *Timestamp        `pb:"7"`
	Tag                   string            `pb:"8"` // unused
	ReaderFlags           uint64            `pb:"9"`
	WriterFlags           uint64            `pb:"10"`
	MaxFragmentID         *uint32           `pb:"11"` // highest ever given out; nil before the first
	TransactionFile       string            `pb:"12"` // name within _transactions; may be empty
	WriterVersion         *WriterVersion    `pb:"13"`
	NextRowID             uint64            `pb:"14"` // with stable row ids
	DataFormat            *DataFormat       `pb:"15"`
	Config                map[string]string `pb:"16"`
	BasePaths             []BasePath        `pb:"18"`
	TableMetadata         map[string]string `pb:"19"`
	Branch                *string           `pb:"20"` // nil on main
	OldTransactionSection *uint64           `pb:"21"` // where writers before field 23 put it
	TransactionSection    *uint64           `pb:"23"` // position in the manifest file
	MaxAllocatedFieldID   *int32            `pb:"24"` // with non-reusable field ids
	Unknown               []byte
}

// Timestamp is a point in time, UTC, as google.protobuf.Timestamp.
//
//pb:message
type Timestamp struct {
	Seconds int64 `pb:"1"`
	Nanos   int32 `pb:"2"`
}

// WriterVersion is the program that wrote a manifest.
//
//pb:message
type WriterVersion struct {
	Library       string `pb:"1"`
	Version       string `pb:"2"` // plain major.minor.patch
	Prerelease    string `pb:"3"`
	BuildMetadata string `pb:"4"`
	Unknown       []byte
}

// Number returns the whole version, such as 1.2.3-rc.1+dirty.
func (w *WriterVersion) Number() string {
	text := w.Version
	if w.Prerelease != "" {
		text += "-" + w.Prerelease
	}
	if w.BuildMetadata != "" {
		text += "+" + w.BuildMetadata
	}
	return text
}

// DataFormat is the format of new data files.
//
//pb:message
type DataFormat struct {
	FileFormat string `pb:"1"` // "lance"
	Version    string `pb:"2"` // such as "2.2"
	Unknown    []byte
}

// BasePath is a root outside of the table, below which files of the table may lie.
//
//pb:message
type BasePath struct {
	ID            uint32  `pb:"1"`
	Name          *string `pb:"2"`
	IsDatasetRoot bool    `pb:"3"` // files are below data/, _deletions/ and _indices/
	Path          string  `pb:"4"` // a full URI
	Unknown       []byte
}

// Unmarshal reads an encoded Manifest. The result shares memory with b. Fragments with
// equal lists of field ids share one slice, so a list must be replaced instead of changed.
func (m *Manifest) Unmarshal(b []byte) error {
	*m = Manifest{}
	var shared interner
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			pointers(s, &m.Fields)
		case 2:
			f := shared.fragment()
			s.Message(func(b []byte) error { return f.unmarshal(b, &shared) })
			m.Fragments = append(m.Fragments, f)
		case 3:
			m.Version = s.Uint64()
		case 4:
			m.VersionAuxData = s.Uint64()
		case 5:
			ScanMapEntry(s, &m.SchemaMetadata)
		case 6:
			m.IndexSection = ptr(s.Uint64())
		case 7:
			m.Timestamp = new(Timestamp)
			s.Message(m.Timestamp.Unmarshal)
		case 8:
			m.Tag = s.String()
		case 9:
			m.ReaderFlags = s.Uint64()
		case 10:
			m.WriterFlags = s.Uint64()
		case 11:
			m.MaxFragmentID = ptr(s.Uint32())
		case 12:
			m.TransactionFile = s.String()
		default:
			m.unmarshalHigh(s)
		}
	}
	return s.Err()
}

// CountEntries returns how many messages there are in an encoded Manifest or IndexSection, of those that it may have many
// of: fragments and their files, fields, indices, and whatever else it repeats. It takes no memory for them, which a reader may have to ask for.
func CountEntries(b []byte) int {
	n := 0
	for s := NewScanner(b); s.Next(); {
		if s.Type != protowire.BytesType {
			continue
		}
		n++
		if s.Num != 2 {
			continue
		}
		for f := NewScanner(s.Bytes()); f.Next(); {
			if f.Num == 2 {
				n++
			}
		}
	}
	return n
}

// unmarshalHigh reads a field numbered above 12.
func (m *Manifest) unmarshalHigh(s *Scanner) {
	switch s.Num {
	case 13:
		m.WriterVersion = new(WriterVersion)
		s.Message(m.WriterVersion.Unmarshal)
	case 14:
		m.NextRowID = s.Uint64()
	case 15:
		m.DataFormat = new(DataFormat)
		s.Message(m.DataFormat.Unmarshal)
	case 16:
		ScanMapEntry(s, &m.Config)
	case 18:
		values(s, &m.BasePaths)
	case 19:
		ScanMapEntry(s, &m.TableMetadata)
	case 20:
		m.Branch = ptr(s.String())
	case 21:
		m.OldTransactionSection = ptr(s.Uint64())
	case 23:
		m.TransactionSection = ptr(s.Uint64())
	case 24:
		m.MaxAllocatedFieldID = ptr(s.Int32())
	default:
		m.Unknown = append(m.Unknown, s.Raw()...)
	}
}

// An interner saves memory when many fragments are read: it allocates them in slabs, and
// gives files with the same list of ids, as nearly all files have, the same slice.
type interner struct {
	slab  []Fragment
	made  int             // fragments in all slabs
	lists [2]internedList // of DataFile.Fields and DataFile.ColumnIndices
}

type internedList struct {
	raw  []byte
	list []int32
}

// Slabs grow from the first length to the last, so that the manifests of many small tables, which are kept, hold no more
// than twice the fragments that they have.
const firstSlab, lastSlab = 2, 256

func (in *interner) fragment() *Fragment {
	if len(in.slab) == 0 {
		in.slab = make([]Fragment, min(lastSlab, max(firstSlab, in.made)))
		in.made += len(in.slab)
	}
	f := &in.slab[0]
	in.slab = in.slab[1:]
	return f
}

// ids adds the current field, a packed list of ids, to list.
func (in *interner) ids(s *Scanner, which int, list *[]int32) {
	last := &in.lists[which]
	if s.Type != protowire.BytesType || *list != nil || len(s.value) == 0 {
		s.Varints(func(v uint64) { *list = append(*list, int32(v)) })
		return
	}
	if !bytes.Equal(last.raw, s.value) {
		var ids []int32
		s.Varints(func(v uint64) { ids = append(ids, int32(v)) })
		*last = internedList{s.value, slices.Clip(ids)}
	}
	*list = last.list
}

// pointers reads the current field as one more message of a list of pointers.
func pointers[T any, P interface {
	*T
	Unmarshal([]byte) error
}](s *Scanner, list *[]P) {
	m := P(new(T))
	s.Message(m.Unmarshal)
	*list = append(*list, m)
}

// values reads the current field as one more message of a list of values.
func values[T any, P interface {
	*T
	Unmarshal([]byte) error
}](s *Scanner, list *[]T) {
	var m T
	s.Message(P(&m).Unmarshal)
	*list = append(*list, m)
}

func ptr[T any](v T) *T { return &v }

// optional writes a varint field that may be absent, also when it is zero.
func optional[T ~uint32 | ~uint64 | ~int32 | ~int64](e *Encoder, num protowire.Number, v *T) {
	if v != nil {
		e.AlwaysUint64(num, uint64(*v))
	}
}
