package tableapi

import "tiltyard/shared/protocol"

const (
	// DefaultStorageFiles is how many data files GetTableStorage reads unless the request says otherwise.
	DefaultStorageFiles = 100
	// MaxStorageFiles is the most that it reads.
	MaxStorageFiles = 1000
)

// GetStorageRequest asks how much of the data files each column takes. The metadata of the files
// tells that, each of which is a request to the storage.
type GetStorageRequest struct {
	protocol.Common
	Version *int64 `json:"version"` // nil: the latest
	Branch  string `json:"branch"`
	// MaxFiles is how many files are read, 100 if absent and at most 1000. If the version has more, the
	// answer is an estimate by a sample: of files that hold the same columns, some that lie evenly
	// between the first and the last.
	MaxFiles *int64 `json:"max_files"`
}

// Validate checks the version and the number of files.
func (r *GetStorageRequest) Validate() error {
	if n := r.MaxFiles; n != nil && (*n < 1 || *n > MaxStorageFiles) {
		return protocol.Errorf(protocol.InvalidInput, "max_files is %d; 1 to %d are possible", *n, MaxStorageFiles)
	}
	return protocol.NotNegative("version", r.Version)
}

// Files returns the maximum number of files to read.
func (r *GetStorageRequest) Files() int {
	if r.MaxFiles == nil {
		return DefaultStorageFiles
	}
	return int(*r.MaxFiles)
}

// GetStorageResponse has the bytes of a version by column, deleted rows that are still in the
// files included.
type GetStorageResponse struct {
	Version    int64 `json:"version"`
	TotalBytes int64 `json:"total_bytes"` // of all data files
	// OtherBytes are the part of TotalBytes in no column: contents of blobs, columns that were dropped,
	// and metadata of the files.
	OtherBytes int64 `json:"other_bytes"`
	Files      int64 `json:"files"`
	FilesRead  int64 `json:"files_read"`
	// Estimated means that not all files were read.
	Estimated bool                         `json:"estimated"`
	Columns   protocol.List[ColumnStorage] `json:"columns"`
}

// ColumnStorage is what a column takes.
type ColumnStorage struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // with those of the columns inside of it
}
