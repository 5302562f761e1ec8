package dataset

import (
	"context"
	"fmt"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"

	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// A StagedSegment is a segment of an index whose files are written, and that no version has yet. One
// that is never committed is garbage. Several processes may write files of the same segment, under
// names that differ.
type StagedSegment struct {
	UUID    string       `json:"uuid"`
	Version uint64       `json:"version"` // of the table whose rows it has
	Covers  []byte       `json:"covers"`  // the ids of the fragments, as a portable roaring bitmap of 32 bits
	Files   []StagedFile `json:"files"`
}

// A StagedFile is a file of a StagedSegment.
type StagedFile struct {
	Name string `json:"name"`
	Size uint64 `json:"size"` // in bytes
}

// NewSegmentID returns the UUID of a new segment.
func NewSegmentID() string { return uuid.NewString() }

// StageSegment writes files of a segment, and returns when they are durable.
func (d *Dataset) StageSegment(ctx context.Context, id string, build func(ctx context.Context, out *SegmentFiles) error) ([]StagedFile, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	if _, err := uuid.Parse(id); err != nil {
		return nil, fmt.Errorf("segment of an index: %w", err)
	}
	out, err := d.newSegmentFiles(id)
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

// OpenStaged opens a file of a segment that is not committed. One that is not there is
// objectstore.ErrNotExist.
func (d *Dataset) OpenStaged(ctx context.Context, id, name string) (*datafile.File, error) {
	at := d.table.place()
	return datafile.Open(ctx, at.Store, at.Prefix+"/_indices/"+id+"/"+name, 0, nil)
}

// HasStaged reports whether the files of a segment that is not committed are all there, whole. A cleanup of files that no
// version names takes them when they are old.
func (d *Dataset) HasStaged(ctx context.Context, s StagedSegment) (bool, error) {
	at, sizes := d.table.place(), map[string]int64{}
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

// CommitSegments commits an index of staged segments. Each must cover fragments whose indexed values
// are the same in d as in the version that the segment was built of; see [snapshot.Snapshot.SameValues]. An
// index without segments covers no rows. The errors are those of CreateIndex.
func (d *Dataset) CommitSegments(ctx context.Context, n NewIndex, segments []StagedSegment) (*Dataset, error) {
	n, op, err := d.replacing(n)
	if err != nil {
		return nil, err
	}
	if len(segments) == 0 {
		entry, err := d.newEntry(n)
		if err != nil {
			return nil, err
		}
		if entry.FragmentBitmap, err = roaring.New().ToBytes(); err != nil {
			return nil, err
		}
		op.NewIndices = append(op.NewIndices, entry)
	}
	made, err := d.stagedEntries(n, segments)
	if err != nil {
		return nil, err
	}
	op.NewIndices = append(op.NewIndices, made...)
	return d.table.commit(ctx, &change{read: d, operation: op})
}

// stagedEntries returns the entries of staged segments.
func (d *Dataset) stagedEntries(n NewIndex, segments []StagedSegment) ([]*pb.IndexMetadata, error) {
	var entries []*pb.IndexMetadata
	for _, s := range segments {
		entry, err := d.newEntry(n)
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
