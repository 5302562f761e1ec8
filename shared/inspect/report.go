// Package inspect looks at a Lance table from the outside: its versions, and of one of
// them the fragments, files, columns, pages, encodings and sizes. It is for people who
// ask why a table is large or slow, or what is wrong with it.
//
// [Table] makes a [Report], which goes out as JSON as it is, or as text for the eye
// ([Report.WriteText]). No data is read: manifests, transactions, and the metadata at
// the end of data files. What is damaged below the inspected version is told at its place
// in the report, where an Error says why the rest is missing; so one broken file does
// not hide the others. Bytes are not trusted: names are quoted where they hold what a
// terminal would act on.
package inspect

import "time"

// A Report is what there is to say about a table.
type Report struct {
	Location string    `json:"location"`
	Latest   uint64    `json:"latestVersion"`
	Versions []Version `json:"versions"` // newest first, as many as were asked for
	More     bool      `json:"moreVersions"`
	Tags     []Tag     `json:"tags"`
	Detail   Detail    `json:"version"` // the version that was asked for
}

// A Version is one line of a table's history.
type Version struct {
	Version       uint64    `json:"version"`
	Time          time.Time `json:"time"`
	Operation     string    `json:"operation"` // "" when the version does not tell
	Message       string    `json:"message,omitempty"`
	Rows          uint64    `json:"rows"` // not deleted
	Fragments     int       `json:"fragments"`
	ManifestBytes int64     `json:"manifestBytes"`
	Error         string    `json:"error,omitempty"`
}

// A Tag is a name that somebody gave to a version.
type Tag struct {
	Name    string `json:"name"`
	Branch  string `json:"branch,omitempty"`
	Version uint64 `json:"version"`
}

// Detail is all about one version.
type Detail struct {
	Version
	Writer         string            `json:"writer"`
	FileVersion    string            `json:"fileVersion"` // of new data files
	ReaderFlags    uint64            `json:"readerFlags"`
	WriterFlags    uint64            `json:"writerFlags"`
	Features       []string          `json:"features"` // names of all flags that are set
	Branch         string            `json:"branch,omitempty"`
	NextRowID      uint64            `json:"nextRowId,omitempty"`
	Config         map[string]string `json:"config"`
	SchemaMetadata map[string]string `json:"schemaMetadata"`
	TableMetadata  map[string]string `json:"tableMetadata"`
	BasePaths      []BasePath        `json:"basePaths"`
	Fields         []Field           `json:"fields"`
	Indices        []Index           `json:"indices"`
	IndexError     string            `json:"indexError,omitempty"`
	Contents       []Fragment        `json:"contents"` // the fragments
}

// A BasePath is a place beside the table where files of it lie.
type BasePath struct {
	ID   uint32 `json:"id"`
	Name string `json:"name,omitempty"`
	Path string `json:"path"`
}

// A Field is a node of the schema; they come in pre-order.
type Field struct {
	ID       int32             `json:"id"`
	Path     string            `json:"path"` // names joined by dots
	Type     string            `json:"type"` // the format's name of it
	Nullable bool              `json:"nullable"`
	Depth    int               `json:"-"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// An Index is one segment of an index.
type Index struct {
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	Fields    []string `json:"fields"`
	UUID      string   `json:"uuid"`
	Built     uint64   `json:"builtFrom"`           // version of the table
	Fragments []uint64 `json:"fragments,omitempty"` // of the version that it covers
	Bytes     uint64   `json:"bytes,omitempty"`     // as far as it tells
}

// A Fragment is a set of rows.
type Fragment struct {
	ID           uint64 `json:"id"`
	PhysicalRows uint64 `json:"physicalRows"` // deleted ones included
	DeletedRows  uint64 `json:"deletedRows"`
	DeletionFile string `json:"deletionFile,omitempty"`
	RowIDBytes   int    `json:"rowIdBytes,omitempty"` // of the sequence of stable row ids
	Files        []File `json:"files"`
}

// A File is a data file of a fragment.
type File struct {
	Path    string   `json:"path"`
	Base    *uint32  `json:"base,omitempty"` // the base path that it lies in; such are not opened
	Version string   `json:"version"`
	Bytes   uint64   `json:"bytes"`
	Rows    int64    `json:"rows"`
	Columns []Column `json:"columns"`
	Error   string   `json:"error,omitempty"`
}

// A Column is a physical column of a data file.
type Column struct {
	Index int    `json:"index"`
	Field string `json:"field"` // path in the schema; in parentheses what is no field of it
	Type  string `json:"type,omitempty"`
	Rows  uint64 `json:"rows"` // of all pages; below lists these are items
	Bytes uint64 `json:"bytes"`
	Pages []Page `json:"pages"`
	Error string `json:"error,omitempty"`
}

// A Page is a run of rows of a column.
type Page struct {
	Rows     uint64   `json:"rows"`
	Encoding string   `json:"encoding"`
	Buffers  []uint64 `json:"buffers"` // bytes of each
}

// Bytes returns the size of all buffers of the page.
func (p Page) Bytes() (n uint64) {
	for _, b := range p.Buffers {
		n += b
	}
	return n
}
