package pb

import "google.golang.org/protobuf/encoding/protowire"

// Append adds fragments, whose ids are given when the commit is applied.
type Append struct {
	Fragments []*Fragment // 1
	Unknown   []byte
}

// OperationName returns "Append".
func (*Append) OperationName() string    { return "Append" }
func (*Append) number() protowire.Number { return 100 }

// Unmarshal reads an encoded Append.
func (o *Append) Unmarshal(b []byte) error {
	*o = Append{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			pointers(s, &o.Fragments)
		} else {
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Append.
func (o *Append) Marshal(e *Encoder) {
	fragments(e, 1, o.Fragments)
	e.Unknown(o.Unknown)
}

// Delete marks rows of fragments as deleted and removes fragments that lost all rows.
type Delete struct {
	UpdatedFragments   []*Fragment // 1: with their new deletion files
	DeletedFragmentIDs []uint64    // 2
	Predicate          string      // 3
	Unknown            []byte
}

// OperationName returns "Delete".
func (*Delete) OperationName() string    { return "Delete" }
func (*Delete) number() protowire.Number { return 101 }

// Unmarshal reads an encoded Delete.
func (o *Delete) Unmarshal(b []byte) error {
	*o = Delete{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			pointers(s, &o.UpdatedFragments)
		case 2:
			s.Varints(func(v uint64) { o.DeletedFragmentIDs = append(o.DeletedFragmentIDs, v) })
		case 3:
			o.Predicate = s.String()
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Delete.
func (o *Delete) Marshal(e *Encoder) {
	fragments(e, 1, o.UpdatedFragments)
	Packed(e, 2, o.DeletedFragmentIDs)
	e.String(3, o.Predicate)
	e.Unknown(o.Unknown)
}

// Overwrite replaces schema and rows, and makes tables.
type Overwrite struct {
	Fragments      []*Fragment       // 1: ids are given when the commit is applied
	Schema         []*Field          // 2
	SchemaMetadata map[string]string // 3
	ConfigUpserts  map[string]string // 4
	InitialBases   []BasePath        // 5
	Unknown        []byte
}

// OperationName returns "Overwrite".
func (*Overwrite) OperationName() string    { return "Overwrite" }
func (*Overwrite) number() protowire.Number { return 102 }

// Unmarshal reads an encoded Overwrite.
func (o *Overwrite) Unmarshal(b []byte) error {
	*o = Overwrite{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			pointers(s, &o.Fragments)
		case 2:
			pointers(s, &o.Schema)
		case 3:
			ScanMapEntry(s, &o.SchemaMetadata)
		case 4:
			ScanMapEntry(s, &o.ConfigUpserts)
		case 5:
			values(s, &o.InitialBases)
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Overwrite.
func (o *Overwrite) Marshal(e *Encoder) {
	fragments(e, 1, o.Fragments)
	fields(e, 2, o.Schema)
	EncodeMap(e, 3, o.SchemaMetadata)
	EncodeMap(e, 4, o.ConfigUpserts)
	for i := range o.InitialBases {
		e.Message(5, o.InitialBases[i].Marshal)
	}
	e.Unknown(o.Unknown)
}

func fields(e *Encoder, num protowire.Number, list []*Field) {
	for _, f := range list {
		e.Message(num, f.Marshal)
	}
}

// CreateIndex adds and removes entries of the index section; it also drops indices.
type CreateIndex struct {
	NewIndices     []*IndexMetadata // 1
	RemovedIndices []*IndexMetadata // 2
	Unknown        []byte
}

// OperationName returns "CreateIndex".
func (*CreateIndex) OperationName() string    { return "CreateIndex" }
func (*CreateIndex) number() protowire.Number { return 103 }

// Unmarshal reads an encoded CreateIndex. It keeps parts of b.
func (o *CreateIndex) Unmarshal(b []byte) error {
	*o = CreateIndex{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			pointers(s, &o.NewIndices)
		case 2:
			pointers(s, &o.RemovedIndices)
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the CreateIndex.
func (o *CreateIndex) Marshal(e *Encoder) {
	for _, m := range o.NewIndices {
		e.Message(1, m.Marshal)
	}
	for _, m := range o.RemovedIndices {
		e.Message(2, m.Marshal)
	}
	e.Unknown(o.Unknown)
}

// Merge replaces the schema and the whole list of fragments: it adds columns.
type Merge struct {
	Fragments            []*Fragment       // 1
	Schema               []*Field          // 2
	SchemaMetadata       map[string]string // 3
	PreservesNullability bool              // 4: data staged for the old schema stays valid
	Unknown              []byte
}

// OperationName returns "Merge".
func (*Merge) OperationName() string    { return "Merge" }
func (*Merge) number() protowire.Number { return 105 }

// Unmarshal reads an encoded Merge.
func (o *Merge) Unmarshal(b []byte) error {
	*o = Merge{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			pointers(s, &o.Fragments)
		case 2:
			pointers(s, &o.Schema)
		case 3:
			ScanMapEntry(s, &o.SchemaMetadata)
		case 4:
			o.PreservesNullability = s.Bool()
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Merge.
func (o *Merge) Marshal(e *Encoder) {
	fragments(e, 1, o.Fragments)
	fields(e, 2, o.Schema)
	EncodeMap(e, 3, o.SchemaMetadata)
	e.Bool(4, o.PreservesNullability)
	e.Unknown(o.Unknown)
}

// Restore makes an old version the newest again.
type Restore struct {
	Version uint64 // 1
	Unknown []byte
}

// OperationName returns "Restore".
func (*Restore) OperationName() string    { return "Restore" }
func (*Restore) number() protowire.Number { return 106 }

// Unmarshal reads an encoded Restore.
func (o *Restore) Unmarshal(b []byte) error {
	*o = Restore{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			o.Version = s.Uint64()
		} else {
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Restore.
func (o *Restore) Marshal(e *Encoder) {
	e.Uint64(1, o.Version)
	e.Unknown(o.Unknown)
}

// ReserveFragments takes fragment ids for a Rewrite that follows.
type ReserveFragments struct {
	NumFragments uint32 // 1
	Unknown      []byte
}

// OperationName returns "ReserveFragments".
func (*ReserveFragments) OperationName() string    { return "ReserveFragments" }
func (*ReserveFragments) number() protowire.Number { return 107 }

// Unmarshal reads an encoded ReserveFragments.
func (o *ReserveFragments) Unmarshal(b []byte) error {
	*o = ReserveFragments{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			o.NumFragments = s.Uint32()
		} else {
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the ReserveFragments.
func (o *ReserveFragments) Marshal(e *Encoder) {
	e.Uint64(1, uint64(o.NumFragments))
	e.Unknown(o.Unknown)
}

// Project replaces the schema and leaves files alone: it drops, renames and reorders.
type Project struct {
	Schema               []*Field // 1
	PreservesNullability bool     // 2: data staged for the old schema stays valid
	Unknown              []byte
}

// OperationName returns "Project".
func (*Project) OperationName() string    { return "Project" }
func (*Project) number() protowire.Number { return 109 }

// Unmarshal reads an encoded Project.
func (o *Project) Unmarshal(b []byte) error {
	*o = Project{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			pointers(s, &o.Schema)
		case 2:
			o.PreservesNullability = s.Bool()
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Project.
func (o *Project) Marshal(e *Encoder) {
	fields(e, 1, o.Schema)
	e.Bool(2, o.PreservesNullability)
	e.Unknown(o.Unknown)
}

// DataReplacement swaps one data file of each of some fragments.
type DataReplacement struct {
	Replacements []FileReplacement // 1
	Unknown      []byte
}

// FileReplacement is the new data file of a fragment; it holds the fields of an old one.
type FileReplacement struct {
	FragmentID uint64   // 1
	NewFile    DataFile // 2
	Unknown    []byte
}

// OperationName returns "DataReplacement".
func (*DataReplacement) OperationName() string    { return "DataReplacement" }
func (*DataReplacement) number() protowire.Number { return 111 }

// Unmarshal reads an encoded DataReplacement.
func (o *DataReplacement) Unmarshal(b []byte) error {
	*o = DataReplacement{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			values(s, &o.Replacements)
		} else {
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the DataReplacement.
func (o *DataReplacement) Marshal(e *Encoder) {
	for i := range o.Replacements {
		e.Message(1, o.Replacements[i].Marshal)
	}
	e.Unknown(o.Unknown)
}

// Unmarshal reads an encoded FileReplacement.
func (r *FileReplacement) Unmarshal(b []byte) error {
	*r = FileReplacement{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			r.FragmentID = s.Uint64()
		case 2:
			s.Message(r.NewFile.Unmarshal)
		default:
			r.Unknown = append(r.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the FileReplacement.
func (r *FileReplacement) Marshal(e *Encoder) {
	e.Uint64(1, r.FragmentID)
	e.Message(2, r.NewFile.Marshal)
	e.Unknown(r.Unknown)
}

// Clone begins a table that refers to the files of another.
type Clone struct {
	IsShallow  bool    // 1
	RefName    *string // 2: branch or tag in the source
	RefVersion uint64  // 3
	RefPath    string  // 4
	BranchName *string // 5
	Unknown    []byte
}

// OperationName returns "Clone".
func (*Clone) OperationName() string    { return "Clone" }
func (*Clone) number() protowire.Number { return 113 }

// Unmarshal reads an encoded Clone.
func (o *Clone) Unmarshal(b []byte) error {
	*o = Clone{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			o.IsShallow = s.Bool()
		case 2:
			o.RefName = ptr(s.String())
		case 3:
			o.RefVersion = s.Uint64()
		case 4:
			o.RefPath = s.String()
		case 5:
			o.BranchName = ptr(s.String())
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Clone.
func (o *Clone) Marshal(e *Encoder) {
	e.Bool(1, o.IsShallow)
	if o.RefName != nil {
		e.AlwaysString(2, *o.RefName)
	}
	e.Uint64(3, o.RefVersion)
	e.String(4, o.RefPath)
	if o.BranchName != nil {
		e.AlwaysString(5, *o.BranchName)
	}
	e.Unknown(o.Unknown)
}

// UpdateBases adds roots outside the table.
type UpdateBases struct {
	NewBases []BasePath // 1
	Unknown  []byte
}

// OperationName returns "UpdateBases".
func (*UpdateBases) OperationName() string    { return "UpdateBases" }
func (*UpdateBases) number() protowire.Number { return 114 }

// Unmarshal reads an encoded UpdateBases.
func (o *UpdateBases) Unmarshal(b []byte) error {
	*o = UpdateBases{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			values(s, &o.NewBases)
		} else {
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the UpdateBases.
func (o *UpdateBases) Marshal(e *Encoder) {
	for i := range o.NewBases {
		e.Message(1, o.NewBases[i].Marshal)
	}
	e.Unknown(o.Unknown)
}
