package pb

// Append adds fragments. They get their ids when the commit is applied.
//
//pb:operation 100
type Append struct {
	Fragments []*Fragment `pb:"1"`
	Unknown   []byte
}

// Delete marks rows of fragments as deleted, and removes fragments whose rows are all
// deleted.
//
//pb:operation 101
type Delete struct {
	UpdatedFragments   []*Fragment `pb:"1"` // with their new deletion files
	DeletedFragmentIDs []uint64    `pb:"2"`
	Predicate          string      `pb:"3"`
	Unknown            []byte
}

// Overwrite replaces schema and rows. It also creates tables.
//
//pb:operation 102
type Overwrite struct {
	Fragments      []*Fragment       `pb:"1"` // ids are given when the commit is applied
	Schema         []*Field          `pb:"2"`
	SchemaMetadata map[string]string `pb:"3"`
	ConfigUpserts  map[string]string `pb:"4"`
	InitialBases   []BasePath        `pb:"5"`
	Unknown        []byte
}

// CreateIndex adds and removes entries of the index section. It also drops indices.
//
//pb:operation 103
type CreateIndex struct {
	NewIndices     []*IndexMetadata `pb:"1"`
	RemovedIndices []*IndexMetadata `pb:"2"`
	Unknown        []byte
}

// Merge replaces the schema and the whole list of fragments, to add columns.
//
//pb:operation 105
type Merge struct {
	Fragments            []*Fragment       `pb:"1"`
	Schema               []*Field          `pb:"2"`
	SchemaMetadata       map[string]string `pb:"3"`
	PreservesNullability bool              `pb:"4"` // data staged for the old schema stays valid
	Unknown              []byte
}

// Restore makes an old version the newest again.
//
//pb:operation 106
type Restore struct {
	Version uint64 `pb:"1"`
	Unknown []byte
}

// ReserveFragments allocates fragment ids for a later Rewrite.
//
//pb:operation 107
type ReserveFragments struct {
	NumFragments uint32 `pb:"1"`
	Unknown      []byte
}

// Project replaces the schema, but no files: it drops, renames and reorders columns.
//
//pb:operation 109
type Project struct {
	Schema               []*Field `pb:"1"`
	PreservesNullability bool     `pb:"2"` // data staged for the old schema stays valid
	Unknown              []byte
}

// DataReplacement replaces one data file in each of some fragments.
//
//pb:operation 111
type DataReplacement struct {
	Replacements []FileReplacement `pb:"1"`
	Unknown      []byte
}

// FileReplacement is the new data file of a fragment. It holds the fields of the file that
// it replaces.
//
//pb:message
type FileReplacement struct {
	FragmentID uint64   `pb:"1"`
	NewFile    DataFile `pb:"2"`
	Unknown    []byte
}

// Clone begins a table that refers to the files of another table.
//
//pb:operation 113
type Clone struct {
	IsShallow  bool    `pb:"1"`
	RefName    *string `pb:"2"` // branch or tag in the source
	RefVersion uint64  `pb:"3"`
	RefPath    string  `pb:"4"`
	BranchName *string `pb:"5"`
	Unknown    []byte
}

// UpdateBases adds base paths: roots outside of the table for its files.
//
//pb:operation 114
type UpdateBases struct {
	NewBases []BasePath `pb:"1"`
	Unknown  []byte
}
