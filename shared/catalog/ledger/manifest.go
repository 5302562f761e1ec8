package ledger

import (
	"fmt"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// A Manifest is the next version of a table, before it is made.
type Manifest struct {
	Version uint64
	Scheme  manifest.Scheme
	Data    []byte // the file; nil when its source is gone, as after an earlier success
	ETag    string // ETag of the source, if known: some stores give equal objects equal ETags
	// Source identifies one intention to make a version. It stays the same when a request is
	// repeated because its answer was lost.
	Source string
	Noted  bool // Data holds metadata: see [catalog.Catalog.Annotate]
}

// Name returns the file name of the manifest below _versions.
func (m Manifest) Name() string { return manifest.Name(m.Version, m.Scheme) }

// errVersion is the error for a version that is not the next one.
var errVersion = fmt.Errorf("not the next version: %w", objectstore.ErrPrecondition)

// ErrNoSource is the error for a version without a manifest.
func (m Manifest) ErrNoSource() error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: fmt.Sprintf("there is no manifest for version %d at manifest_path %q", m.Version, objectstore.URI(m.Source)),
		Detail: "manifest_path is the key of the staged manifest in the bucket, without scheme and leading slash",
	}
}

// NotNext is the error for a version that exists already or leaves a gap.
func NotNext(id []string, version, newest uint64) error {
	message := fmt.Sprintf("version %d of table %s exists already", version, keys.Display(id))
	if version > newest {
		message = fmt.Sprintf("version %d of table %s is not the next one", version, keys.Display(id))
	}
	return &protocol.Error{
		Code: protocol.ConcurrentModification, Message: message,
		Detail: fmt.Sprintf("its newest version is %d; make the next version from that one", newest), Err: errVersion,
	}
}
