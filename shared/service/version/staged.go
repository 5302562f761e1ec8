package version

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/storage/objectstore"
)

// Bounds of the manifests that one request keeps in memory.
const (
	maxManifestBytes = 64 << 20
	maxBatchBytes    = 256 << 20
)

// A budget contains the remaining bytes of manifests that a request may read.
type budget struct{ left atomic.Int64 }

func newBudget(bytes int64) *budget {
	b := new(budget)
	b.left.Store(bytes)
	return b
}

func (b *budget) take(bytes int64) error {
	if b.left.Add(-bytes) >= 0 {
		return nil
	}
	return &protocol.Error{
		Code: protocol.InvalidInput, TooLarge: true, Message: "the manifests are too large to copy",
		Detail: fmt.Sprintf("a request may name up to %d bytes of manifests and a batch up to %d; send the versions in several requests", maxManifestBytes, maxBatchBytes),
	}
}

// A staged manifest is a manifest that a client has written under a temporary name, which readers
// ignore.
type staged struct {
	ledger.Manifest
	key         string // in the store of the table
	transaction string // UUID of the client's transaction, or ""
	metadata    map[string]string
}

// branchPlace returns the location of the versions of a table or of one of its branches.
func branchPlace(t *catalog.Table, branch string) (objectstore.Location, error) {
	branch = protocol.BranchName(branch)
	if branch == "" {
		return t.Location, nil
	}
	if err := refs.CheckBranch(branch); err != nil {
		return objectstore.Location{}, protocol.Errorf(protocol.InvalidInput, "%w", err)
	}
	return t.Location.Join("tree/" + branch), nil
}

// read reads and checks a staged manifest. The result has no data if the object does not exist; the
// catalog then checks whether it became a version earlier.
func read(ctx context.Context, t *catalog.Table, at objectstore.Location, v *versionapi.Staged, memory *budget) (*staged, error) {
	key, err := stagedKey(t, at, v.ManifestPath)
	if err != nil {
		return nil, err
	}
	if err := protocol.CheckProperties(v.Metadata); err != nil {
		return nil, err
	}
	s := &staged{key: key, metadata: v.Metadata, Manifest: ledger.Manifest{
		Version: uint64(*v.Version), Scheme: scheme(v.NamingScheme), ETag: v.ETag, Source: t.Location.Path() + strings.TrimPrefix(key, t.Location.Prefix),
		Noted: len(v.Metadata) > 0,
	}}
	data, err := readAll(ctx, at.Store, key, v, memory)
	if errors.Is(err, objectstore.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	return s, s.check(data, v)
}

// readAll reads a staged manifest and compares its size with the size that the client sent.
func readAll(ctx context.Context, store objectstore.Store, key string, v *versionapi.Staged, memory *budget) ([]byte, error) {
	size := int64(0)
	if v.ManifestSize != nil {
		size = *v.ManifestSize
	} else {
		_, info, err := store.GetRanges(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("look for staged manifest: %w", err)
		}
		size = info.Size
	}
	if err := memory.take(size); err != nil {
		return nil, err
	}
	parts, info, err := store.GetRanges(ctx, key, objectstore.Range{Offset: -size})
	if err != nil {
		return nil, fmt.Errorf("read staged manifest: %w", err)
	}
	if info.Size != size {
		return nil, protocol.Errorf(protocol.InvalidInput, "manifest_size is %d, but the manifest at %q has %d bytes; send its size or leave manifest_size out", size, objectstore.URI(v.ManifestPath), info.Size)
	}
	return parts[0], nil
}

// check parses the bytes of a manifest and checks that it belongs to the requested version.
func (s *staged) check(data []byte, v *versionapi.Staged) error {
	m, err := manifest.Parse(data)
	if err != nil {
		return &protocol.Error{Code: protocol.InvalidInput, Message: fmt.Sprintf("the object at %q is not a manifest", objectstore.URI(v.ManifestPath)), Err: err}
	}
	if m.Version != s.Version {
		return protocol.Errorf(protocol.InvalidInput, "the manifest at %q is of version %d, not %d", objectstore.URI(v.ManifestPath), m.Version, s.Version)
	}
	if s.Data, err = withMetadata(data, v.Metadata); err != nil {
		return err
	}
	if _, id, ok := strings.Cut(strings.TrimSuffix(m.TransactionFile, ".txn"), "-"); ok {
		s.transaction = id
	}
	return nil
}

// stagedKey converts the client's path of a staged manifest to a key in the table's store. The key
// must be in the folder of versions and must not be the name of a version.
func stagedKey(t *catalog.Table, at objectstore.Location, given string) (string, error) {
	refuse := func(why string) error {
		return &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("manifest_path %s", why),
			Detail: "it names a staged manifest in the folder " + manifest.VersionsDir + " of the table: as a URI, an absolute path, " +
				"a key in the bucket, or a path that begins in the table's root or in the table",
		}
	}
	inside, ok := t.Location.Within(given)
	if !ok {
		return "", refuse("is outside of the table")
	}
	key := t.Location.Prefix + "/" + inside
	if objectstore.CheckKey(key) != nil {
		return "", refuse("is not a path")
	}
	if path.Dir(key) != at.Prefix+"/"+manifest.VersionsDir {
		return "", refuse("is not in the folder of the table's versions")
	}
	if _, _, ok := manifest.ParseName(path.Base(key)); ok {
		return "", refuse("is the path of a version, not of a staged manifest")
	}
	return key, nil
}

func scheme(s versionapi.NamingScheme) manifest.Scheme {
	if s == versionapi.NamingSchemeV1 {
		return manifest.V1
	}
	return manifest.V2
}

// discard deletes a staged manifest that has become a version. If that fails, a later cleanup
// deletes it.
func (s *staged) discard(ctx context.Context, at objectstore.Location) {
	_ = at.Store.Delete(context.WithoutCancel(ctx), s.key, objectstore.Condition{})
}
