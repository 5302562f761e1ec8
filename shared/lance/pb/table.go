package pb

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Manifest is one version of a table: its schema and its fragments.
//
// Source: protos/table.proto of the format, message Manifest.
type Manifest struct {
	Fields                []*Field          // 1: the schema in pre-order
	Fragments             []*Fragment       // 2: ascending by id
	Version               uint64            // 3
	VersionAuxData        uint64            // 4: unused
	SchemaMetadata        map[string]string // 5
	IndexSection          *uint64           // 6: position in the manifest file
	Timestamp             *Timestamp        // 7
	Tag                   string            // 8: unused
	ReaderFlags           uint64            // 9
	WriterFlags           uint64            // 10
	MaxFragmentID         *uint32           // 11: highest ever given out; nil before the first
	TransactionFile       string            // 12: name within _transactions; may be empty
	WriterVersion         *WriterVersion    // 13
	NextRowID             uint64            // 14: with stable row ids
	DataFormat            *DataFormat       // 15
	Config                map[string]string // 16
	BasePaths             []BasePath        // 18
	TableMetadata         map[string]string // 19
	Branch                *string           // 20: nil on main
	OldTransactionSection *uint64           // 21: where writers before field 23 put it
	TransactionSection    *uint64           // 23: position in the manifest file
	MaxAllocatedFieldID   *int32            // 24: with non-reusable field ids
	Unknown               []byte
}

// Timestamp is a point in time, UTC, as google.protobuf.Timestamp.
type Timestamp struct {
	Seconds int64 // 1
	Nanos   int32 // 2
}

// WriterVersion says what wrote a manifest.
type WriterVersion struct {
	Library       string // 1
	Version       string // 2: plain major.minor.patch
	Prerelease    string // 3
	BuildMetadata string // 4
	Unknown       []byte
}

// DataFormat is the format of new data files.
type DataFormat struct {
	FileFormat string // 1: "lance"
	Version    string // 2: such as "2.2"
	Unknown    []byte
}

// BasePath is a root outside the table that files may be under.
type BasePath struct {
	ID            uint32  // 1
	Name          *string // 2
	IsDatasetRoot bool    // 3: files are below data/, _deletions/ and _indices/
	Path          string  // 4: a full URI
	Unknown       []byte
}

// Unmarshal reads an encoded Manifest. It keeps parts of b. Fragments share lists of
// field ids where these are the same, so lists are replaced and not changed in place.
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

// Marshal writes the Manifest.
func (m *Manifest) Marshal(e *Encoder) {
	for _, f := range m.Fields {
		e.Message(1, f.Marshal)
	}
	for _, f := range m.Fragments {
		e.Message(2, f.Marshal)
	}
	e.Uint64(3, m.Version)
	e.Uint64(4, m.VersionAuxData)
	EncodeMap(e, 5, m.SchemaMetadata)
	optional(e, 6, m.IndexSection)
	if m.Timestamp != nil {
		e.Message(7, m.Timestamp.Marshal)
	}
	e.String(8, m.Tag)
	e.Uint64(9, m.ReaderFlags)
	e.Uint64(10, m.WriterFlags)
	optional(e, 11, m.MaxFragmentID)
	e.String(12, m.TransactionFile)
	if m.WriterVersion != nil {
		e.Message(13, m.WriterVersion.Marshal)
	}
	e.Uint64(14, m.NextRowID)
	if m.DataFormat != nil {
		e.Message(15, m.DataFormat.Marshal)
	}
	EncodeMap(e, 16, m.Config)
	for i := range m.BasePaths {
		e.Message(18, m.BasePaths[i].Marshal)
	}
	EncodeMap(e, 19, m.TableMetadata)
	if m.Branch != nil {
		e.AlwaysString(20, *m.Branch)
	}
	optional(e, 21, m.OldTransactionSection)
	optional(e, 23, m.TransactionSection)
	optional(e, 24, m.MaxAllocatedFieldID)
	e.Unknown(m.Unknown)
}

// Unmarshal reads an encoded Timestamp.
func (t *Timestamp) Unmarshal(b []byte) error {
	*t = Timestamp{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			t.Seconds = s.Int64()
		case 2:
			t.Nanos = s.Int32()
		}
	}
	return s.Err()
}

// Marshal writes the Timestamp.
func (t *Timestamp) Marshal(e *Encoder) {
	e.Uint64(1, uint64(t.Seconds))
	e.Int32(2, t.Nanos)
}

// Unmarshal reads an encoded WriterVersion.
func (w *WriterVersion) Unmarshal(b []byte) error {
	*w = WriterVersion{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			w.Library = s.String()
		case 2:
			w.Version = s.String()
		case 3:
			w.Prerelease = s.String()
		case 4:
			w.BuildMetadata = s.String()
		default:
			w.Unknown = append(w.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the WriterVersion.
func (w *WriterVersion) Marshal(e *Encoder) {
	e.String(1, w.Library)
	e.String(2, w.Version)
	e.String(3, w.Prerelease)
	e.String(4, w.BuildMetadata)
	e.Unknown(w.Unknown)
}

// Unmarshal reads an encoded DataFormat.
func (d *DataFormat) Unmarshal(b []byte) error {
	*d = DataFormat{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			d.FileFormat = s.String()
		case 2:
			d.Version = s.String()
		default:
			d.Unknown = append(d.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the DataFormat.
func (d *DataFormat) Marshal(e *Encoder) {
	e.String(1, d.FileFormat)
	e.String(2, d.Version)
	e.Unknown(d.Unknown)
}

// Unmarshal reads an encoded BasePath.
func (p *BasePath) Unmarshal(b []byte) error {
	*p = BasePath{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			p.ID = s.Uint32()
		case 2:
			p.Name = ptr(s.String())
		case 3:
			p.IsDatasetRoot = s.Bool()
		case 4:
			p.Path = s.String()
		default:
			p.Unknown = append(p.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the BasePath.
func (p *BasePath) Marshal(e *Encoder) {
	e.Uint64(1, uint64(p.ID))
	if p.Name != nil {
		e.AlwaysString(2, *p.Name)
	}
	e.Bool(3, p.IsDatasetRoot)
	e.String(4, p.Path)
	e.Unknown(p.Unknown)
}

// An interner makes reading many fragments cheap: it allocates them in slabs, and gives
// files with the same list of ids, which is nearly all files, the same slice.
type interner struct {
	slab  []Fragment
	lists [2]internedList // of DataFile.Fields and DataFile.ColumnIndices
}

type internedList struct {
	raw  []byte
	list []int32
}

const slabLen = 256

func (in *interner) fragment() *Fragment {
	if len(in.slab) == 0 {
		in.slab = make([]Fragment, slabLen)
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
