package segments

import (
	"context"
	"fmt"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"

	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
)

// Staged is a segment with durable files that no version refers to yet. Several processes may write
// its files, under different names.
type Staged struct {
	UUID    string       `json:"uuid"`
	Version uint64       `json:"version"` // table version of the indexed rows
	Covers  []byte       `json:"covers"`  // ids of the covered fragments, as a portable 32-bit roaring bitmap
	Files   []StagedFile `json:"files"`
}

// A StagedFile is a file of a Staged segment.
type StagedFile struct {
	Name string `json:"name"`
	Size uint64 `json:"size"` // in bytes
}

// NewID returns the UUID of a new segment.
func NewID() string { return uuid.NewString() }

// Stage writes files of a segment and returns when they are durable.
func Stage(ctx context.Context, d *dataset.Dataset, id string, build func(ctx context.Context, out *Files) error) ([]StagedFile, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	if _, err := uuid.Parse(id); err != nil {
		return nil, fmt.Errorf("segment of an index: %w", err)
	}
	out, err := newSegmentFiles(d, id)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	if err := out.build(ctx, build); err != nil {
		return nil, err
	}
	var files []StagedFile
	for _, f := range out.files {
		files = append(files, StagedFile{f.Path, f.SizeBytes})
	}
	return files, out.puts.Wait()
}

// OpenStaged opens a file of a staged segment. The error for a missing file is objectstore.ErrNotExist.
func OpenStaged(ctx context.Context, d *dataset.Dataset, id, name string) (*datafile.File, error) {
	at := d.Table().Stage()
	return datafile.Open(ctx, at.Store, at.Prefix+"/_indices/"+id+"/"+name, 0, nil)
}

// opener returns an Opener of a staged segment.
func opener(d *dataset.Dataset, id string) Opener {
	return func(ctx context.Context, name string) (*datafile.File, error) { return OpenStaged(ctx, d, id, name) }
}

// HasStaged reports whether all files of a staged segment exist in full. An orphan cleanup may have
// deleted old ones.
func HasStaged(ctx context.Context, d *dataset.Dataset, s Staged) (bool, error) {
	at, sizes := d.Table().Stage(), map[string]int64{}
	folder := at.Prefix + "/_indices/" + s.UUID + "/"
	for info, err := range objectstore.Objects(ctx, at.Store, objectstore.ListOptions{Prefix: folder}) {
		if err != nil {
			return false, fmt.Errorf("files of segment %s: %w", s.UUID, err)
		}
		sizes[strings.TrimPrefix(info.Key, folder)] = info.Size
	}
	for _, f := range s.Files {
		if size, ok := sizes[f.Name]; !ok || uint64(size) != f.Size {
			return false, nil
		}
	}
	return true, nil
}

// Commit commits an index of staged segments. Covered fragments must have the same indexed values
// in d as in the version that the segments were built from; see [snapshot.Snapshot.SameValues]. An
// index without segments covers no rows. The errors are those of [Create].
func Commit(ctx context.Context, d *dataset.Dataset, n NewIndex, segments []Staged) (*dataset.Dataset, error) {
	n, op, err := replacing(d, n)
	if err != nil {
		return nil, err
	}
	if len(segments) > 0 && n.Measure != nil {
		var built []Opener
		for _, s := range segments {
			built = append(built, opener(d, s.UUID))
		}
		if n.Details, err = n.Measure(ctx, built); err != nil {
			return nil, fmt.Errorf("index %s: %w", n.Name, err)
		}
	}
	if len(segments) == 0 {
		entry, err := newEntry(d, n)
		if err != nil {
			return nil, err
		}
		if entry.FragmentBitmap, err = roaring.New().ToBytes(); err != nil {
			return nil, err
		}
		op.NewIndices = append(op.NewIndices, entry)
	}
	made, err := stagedEntries(d, n, segments)
	if err != nil {
		return nil, err
	}
	op.NewIndices = append(op.NewIndices, made...)
	return d.Table().Commit(ctx, &dataset.Change{Read: d, Operation: op})
}

// stagedEntries returns the manifest entries of staged segments.
func stagedEntries(d *dataset.Dataset, n NewIndex, segments []Staged) ([]*pb.IndexMetadata, error) {
	var entries []*pb.IndexMetadata
	for _, s := range segments {
		entry, err := newEntry(d, n)
		if err != nil {
			return nil, err
		}
		id, err := uuid.Parse(s.UUID)
		if err != nil {
			return nil, fmt.Errorf("segment of index %s: %w", n.Name, err)
		}
		entry.UUID, entry.DatasetVersion, entry.FragmentBitmap = pb.UUID(id), s.Version, s.Covers
		for _, f := range s.Files {
			entry.Files = append(entry.Files, pb.IndexFile{Path: f.Name, SizeBytes: f.Size})
		}
		entries = append(entries, entry)
	}
	return entries, nil
}
