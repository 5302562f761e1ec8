package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
)

// An Index combines all segments of one name in a version. It comes from the manifest; no index
// file is read.
type Index struct {
	Name     string
	Columns  []string // paths of the indexed fields
	Named    []string // the same paths without list items, in the form of [schema.Schema.ResolveThrough]
	Kind     indexmeta.Description
	Segments int
	Position int    // of the first segment in the manifest's index section
	UUID     string // of the first segment
	Version  int32  // index format version
	// Indexed and Unindexed count live rows in covered and in other fragments.
	Indexed, Unindexed int64
	Bytes              int64     // size of its files; −1 if the manifest does not record it
	Created            time.Time // creation of the oldest segment; zero if not recorded

	covered *roaring.Bitmap
}

// ErrNoIndex reports that a version has no index of a name.
var ErrNoIndex = errors.New("no such index")

// Indices returns the indices of the version in the order of their names. It leaves out entries of
// unknown kinds and versions, as native Lance does, and entries that [Snapshot.DamagedIndices] names.
// The slice must not be changed.
func (s *Snapshot) Indices() ([]Index, error) {
	known, err := s.indices()
	return known.sound, err
}

// DamagedIndices returns an error for each entry of the version's index section with undecodable
// details or coverage. Queries ignore these segments.
func (s *Snapshot) DamagedIndices() ([]error, error) {
	known, err := s.indices()
	return known.damaged, err
}

// knownIndices holds the indices of a version and the errors of damaged entries.
type knownIndices struct {
	sound   []Index
	damaged []error
}

// readIndices decodes the index section of the manifest and groups the segments by name.
func (s *Snapshot) readIndices() (known knownIndices, err error) {
	segments, err := s.manifest.Indices()
	if err != nil {
		return known, err
	}
	byName, positions := map[string][]*pb.IndexMetadata{}, map[string]int{}
	for i, x := range segments {
		if indexmeta.IsSystem(x.Name) || !indexmeta.IsKnown(x) {
			continue
		}
		if err := damageOf(x); err != nil {
			known.damaged = append(known.damaged, err)
			continue
		}
		if byName[x.Name] == nil {
			positions[x.Name] = i
		}
		byName[x.Name] = append(byName[x.Name], x)
	}
	known.sound = make([]Index, 0, len(byName))
	for _, segments := range byName {
		index, err := s.index(segments)
		if err != nil {
			return known, err
		}
		index.Position = positions[index.Name]
		known.sound = append(known.sound, index)
	}
	slices.SortFunc(known.sound, func(a, b Index) int { return cmp.Compare(a.Name, b.Name) })
	return known, nil
}

// damageOf returns the error of an entry of a known kind that cannot be decoded.
func damageOf(x *pb.IndexMetadata) error {
	if _, err := indexmeta.Describe(x.Details); err != nil {
		return fmt.Errorf("%w: details of index %s: %w", lance.ErrCorrupt, x.Name, err)
	}
	_, err := coveredBy(x)
	return err
}

// index combines the segments of one name.
func (s *Snapshot) index(segments []*pb.IndexMetadata) (Index, error) {
	first := segments[0]
	index := Index{
		Name: first.Name, Segments: len(segments), UUID: first.UUID.String(), Version: indexmeta.VersionOf(first),
		covered: roaring.New(),
	}
	for _, id := range first.Fields {
		index.Columns = append(index.Columns, s.manifest.Schema.Path(id))
		index.Named = append(index.Named, s.manifest.Schema.PathThrough(id))
	}
	var err error
	if index.Kind, err = indexmeta.Describe(first.Details); err != nil {
		return index, fmt.Errorf("%w: details of index %s: %w", lance.ErrCorrupt, index.Name, err)
	}
	for _, x := range segments {
		if err := s.addTo(&index, x); err != nil {
			return index, err
		}
	}
	for _, f := range s.fragments() {
		if index.Covers(f.Meta.ID) {
			index.Indexed += f.LiveRows()
		} else {
			index.Unindexed += f.LiveRows()
		}
	}
	return index, nil
}

// addTo adds the coverage and the file sizes of one segment.
func (s *Snapshot) addTo(x *Index, segment *pb.IndexMetadata) error {
	covered, _, err := s.coverageOf(segment)
	if err != nil {
		return err
	}
	x.covered.Or(covered)
	if segment.CreatedAt != nil {
		if at := time.UnixMilli(int64(*segment.CreatedAt)).UTC(); x.Created.IsZero() || at.Before(x.Created) {
			x.Created = at
		}
	}
	if len(segment.Files) == 0 {
		x.Bytes = -1
	}
	for i := range segment.Files {
		if x.Bytes >= 0 {
			x.Bytes += int64(segment.Files[i].SizeBytes)
		}
	}
	return nil
}

// Covers reports whether a segment of the index covers the fragment.
func (x *Index) Covers(fragment uint64) bool {
	return fragment <= 1<<32-1 && x.covered.Contains(uint32(fragment))
}

// Index returns one index, or ErrNoIndex.
func (s *Snapshot) Index(name string) (Index, error) {
	indices, err := s.Indices()
	if err != nil {
		return Index{}, err
	}
	for _, x := range indices {
		if x.Name == name {
			return x, nil
		}
	}
	return Index{}, fmt.Errorf("%w: %q", ErrNoIndex, name)
}
