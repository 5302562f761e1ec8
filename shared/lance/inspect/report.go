// Package inspect describes a Lance table from its files: its versions, and for one version the fragments,
// files, columns, pages, encodings and sizes. It helps people to find out why a table is large, slow or
// damaged.
//
// [Table] returns a [Report], which can be written as JSON, or as text ([Report.WriteText]). It reads no
// rows, only manifests, transactions, and the metadata at the end of data files. A damaged part below the
// inspected version does not fail the report: the report contains an Error in its place, so that one broken
// file does not hide the others. The contents of a table are untrusted: names with control characters are
// quoted, because a terminal would interpret them.
package inspect

import "time"

// A Report describes a table.
type Report struct {
	Location string    `json:"location"`
	Latest   uint64    `json:"latestVersion"`
	Versions []Version `json:"versions"` // newest first, up to the requested number
	More     bool      `json:"moreVersions"`
	Tags     []Tag     `json:"tags"`
	Detail   Detail    `json:"version"` // the requested version
}

// A Version is one line of a table's history.
type Version struct {
	Version       uint64    `json:"version"`
	Time          time.Time `json:"time"`
	Operation     string    `json:"operation"` // "" if the version does not record it
	Message       string    `json:"message,omitempty"`
	Rows          uint64    `json:"rows"` // not deleted
	Fragments     int       `json:"fragments"`
	ManifestBytes int64     `json:"manifestBytes"`
	Error         string    `json:"error,omitempty"`
}

// A Tag is a name for a version.
type Tag struct {
	Name    string `json:"name"`
	Branch  string `json:"branch,omitempty"`
	Version uint64 `json:"version"`
}

// Detail describes one version of a table.
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

// A BasePath is a location outside of the table where files of it lie.
type BasePath struct {
	ID   uint32 `json:"id"`
	Name string `json:"name,omitempty"`
	Path string `json:"path"`
}

// A Field is a field of the schema; fields are listed in pre-order.
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
	Bytes     uint64   `json:"bytes,omitempty"`     // 0 if not recorded
}

// A Fragment is a set of rows.
type Fragment struct {
	ID           uint64 `json:"id"`
	PhysicalRows uint64 `json:"physicalRows"` // including deleted rows
	DeletedRows  uint64 `json:"deletedRows"`
	DeletionFile string `json:"deletionFile,omitempty"`
	RowIDBytes   int    `json:"rowIdBytes,omitempty"` // of the sequence of stable row ids
	Files        []File `json:"files"`
}

// A File is a data file of a fragment.
type File struct {
	Path    string   `json:"path"`
	Base    *uint32  `json:"base,omitempty"` // its base path; files of other base paths are not opened
	Version string   `json:"version"`
	Bytes   uint64   `json:"bytes"`
	Rows    int64    `json:"rows"`
	Columns []Column `json:"columns"`
	Error   string   `json:"error,omitempty"`
}

// A Column is a physical column of a data file.
type Column struct {
	Index int    `json:"index"`
	Field string `json:"field"` // path in the schema; in parentheses if it is not a field of it
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
