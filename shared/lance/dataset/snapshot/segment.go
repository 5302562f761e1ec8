package snapshot

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/internal/fragreuse"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// A Segment is one part of an index, with its own files and its own covered fragments. Its files
// may mention rows of other fragments, which are ignored. A segment is immutable and its UUID
// unique, so cached contents never expire.
type Segment struct {
	UUID    string
	Version int32  // of the index format
	Details []byte // the parameters, as the kind's message encodes them

	cache   *cache.Cache
	at      *fragment.Base
	atErr   error // why the base path does not resolve
	sizes   map[string]int64
	covered *roaring.Bitmap
	moves   *fragreuse.Moves // row moves since the segment was written
}

// Segments returns the segments of an index, or ErrNoIndex. It leaves out segments of unknown
// format versions and with damaged entries. The snapshot keeps the result, which must not be
// changed.
func (s *Snapshot) Segments(index string) ([]*Segment, error) {
	return Once(s, segmentsOf(index), func() ([]*Segment, error) { return s.readSegments(index) })
}

// segmentsOf is the key of the segments of an index.
type segmentsOf string

func (s *Snapshot) readSegments(index string) ([]*Segment, error) {
	entries, err := s.manifest.Indices()
	if err != nil {
		return nil, fmt.Errorf("%w: indices: %w", lance.ErrCorrupt, err)
	}
	places := s.place.bases(s.manifest)
	var segments []*Segment
	for _, x := range entries {
		if x.Name != index || indexmeta.IsSystem(index) || !indexmeta.IsKnown(x) || damageOf(x) != nil {
			continue
		}
		segment, err := newSegment(s, places, x)
		if err != nil {
			return nil, err
		}
		segments = append(segments, segment)
	}
	if segments == nil {
		return nil, fmt.Errorf("%w: %q", ErrNoIndex, index)
	}
	return segments, nil
}

// SegmentOf returns the segment of a manifest entry.
func (s *Snapshot) SegmentOf(x *pb.IndexMetadata) (*Segment, error) {
	return newSegment(s, s.place.bases(s.manifest), x)
}

// newSegment returns the segment of an entry. An unresolved base path becomes an error only when a
// file is opened.
func newSegment(s *Snapshot, places *fragment.Bases, x *pb.IndexMetadata) (segment *Segment, err error) {
	segment = &Segment{UUID: x.UUID.String(), Version: indexmeta.VersionOf(x), cache: s.place.Cache, sizes: map[string]int64{}}
	if x.Details != nil {
		segment.Details = x.Details.Value
	}
	segment.at, segment.atErr = places.At(x.BaseID)
	for i := range x.Files {
		segment.sizes[x.Files[i].Path] = int64(x.Files[i].SizeBytes)
	}
	segment.covered, segment.moves, err = s.coverageOf(x)
	return segment, err
}

// coveredBy decodes the covered fragments of an entry. An entry without a bitmap covers none.
func coveredBy(x *pb.IndexMetadata) (*roaring.Bitmap, error) {
	covered := roaring.New()
	if len(x.FragmentBitmap) == 0 {
		return covered, nil
	}
	err := covered.UnmarshalBinary(x.FragmentBitmap)
	if err == nil && !covered.IsEmpty() {
		err = covered.Validate() // the library panics on malformed bitmaps
	}
	if err != nil {
		return nil, fmt.Errorf("%w: coverage of index %s: %w", lance.ErrCorrupt, x.Name, err)
	}
	return covered, nil
}

// Covers reports whether the segment covers a fragment.
func (s *Segment) Covers(fragment uint64) bool {
	return fragment <= 1<<32-1 && s.covered.Contains(uint32(fragment))
}

// IsEmpty reports whether the segment was built from no rows and has no files.
func (s *Segment) IsEmpty() bool { return s.covered.IsEmpty() && len(s.sizes) == 0 }

// Open returns a file of the segment. The first call reads its footer, or the whole of a small
// file. A missing file is objectstore.ErrNotExist.
func (s *Segment) Open(ctx context.Context, name string) (*datafile.File, error) {
	if s.atErr != nil {
		return nil, fmt.Errorf("index segment %s: %w", s.UUID, s.atErr)
	}
	key, part := s.key(name), s.part(name)
	kept, ok := cache.Get[*keptFile](s.cache, s.at.URI, part)
	if !ok {
		file, err := datafile.OpenWhole(ctx, s.at.Store, key, s.sizes[name])
		if err != nil {
			return nil, err
		}
		kept = &keptFile{File: file}
	}
	if n := kept.MemBytes(); !ok || n > kept.counted+cache.RecountBytes {
		cache.Put(s.cache, s.at.URI, part, &keptFile{kept.File, n}, n)
	}
	return kept.File, nil
}

// A keptFile is an open file in the cache, with its size when last reported to the cache.
type keptFile struct {
	*datafile.File
	counted int64
}

// Names returns the file names in the segment's manifest entry.
func (s *Segment) Names() []string { return slices.Collect(maps.Keys(s.sizes)) }

func (s *Segment) key(name string) string { return s.at.Prefix + "/_indices/" + s.UUID + "/" + name }

// part is the cache key of a file, or of a value derived from it.
func (s *Segment) part(name string) string {
	return s.at.Prefix + "/_indices/" + s.UUID + "/" + name + "?" + strconv.FormatInt(s.sizes[name], 10) + "#index"
}

// Keep returns the value cached for the segment under a name. If there is none, it calls read and
// caches the result with its approximate size in bytes. The value must not be changed.
func (s *Segment) Keep(name string, read func() (value any, bytes int64, err error)) (any, error) {
	if s.atErr != nil {
		return nil, fmt.Errorf("index segment %s: %w", s.UUID, s.atErr)
	}
	if kept, ok := cache.Get[any](s.cache, s.at.URI, s.part(name)); ok {
		return kept, nil
	}
	value, bytes, err := read()
	if err != nil {
		return nil, err
	}
	cache.Put(s.cache, s.at.URI, s.part(name), value, bytes)
	return value, nil
}

// Bytes returns the size of the files, as far as the manifest has their sizes.
func (s *Segment) Bytes() (n int64) {
	for _, size := range s.sizes {
		n += size
	}
	return n
}

// CacheBytes returns the capacity of the cache that Keep uses.
func (s *Segment) CacheBytes() int64 { return int64(min(s.cache.MaxBytes(), math.MaxInt64)) }

// RowsOf resolves the row ids stored in a segment to addresses in the covered fragments of this
// version, including deleted rows. If byID is true, ids are stable row ids in a table that has
// them; otherwise they are addresses. RowsOf consumes ids.
func (s *Snapshot) RowsOf(ctx context.Context, segment *Segment, ids *rowset.Set, byID bool) (rows *rowset.Set, err error) {
	if rows = ids; byID && s.manifest.StableRowIDs() {
		rows, err = s.addressesOf(ctx, ids)
	} else if segment.moves != nil {
		rows, err = segment.followed(ctx, ids)
	}
	if err != nil {
		return nil, err
	}
	return rows, rows.Retain(func(id uint64, last uint32) (bool, error) {
		f := s.Fragment(id)
		if f == nil || !segment.Covers(id) {
			return false, nil
		}
		if int64(last) >= f.Rows {
			return false, fmt.Errorf("%w: row %d of fragment %d, which has %d", lance.ErrCorrupt, last, id, f.Rows)
		}
		return true, nil
	})
}

// OthersOf returns the addresses in the covered fragments that are not in rows, including deleted
// rows. Their memory stays charged to the context's budget.
func (s *Snapshot) OthersOf(ctx context.Context, segment *Segment, rows *rowset.Set) (*rowset.Set, error) {
	const perByte = 8 // one bit per row, at worst
	others := rowset.At()
	for _, f := range s.fragments() {
		if !segment.Covers(f.Meta.ID) {
			continue
		}
		if err := memory.FromContext(ctx).Take(ctx, f.Rows/perByte); err != nil {
			return nil, err
		}
		others.AddRange(f.Meta.ID, 0, uint32(f.Rows))
	}
	others.Subtract(rows)
	return others, nil
}

// addressesAtOnce is the number of ids per lookup.
const addressesAtOnce = 1 << 14

// addressesOf returns the addresses of stable row ids that have one.
func (s *Snapshot) addressesOf(ctx context.Context, ids *rowset.Set) (*rowset.Set, error) {
	return placed(ctx, ids, func(some []uint64) ([]uint64, error) { return s.Addresses(ctx, some) })
}

// followed translates addresses from the time the segment was written to current ones.
func (s *Segment) followed(ctx context.Context, before *rowset.Set) (*rowset.Set, error) {
	return placed(ctx, before, func(some []uint64) ([]uint64, error) {
		for i, address := range some {
			now, ok := s.moves.Address(address)
			if !ok {
				now = NoAddress
			}
			some[i] = now
		}
		return some, ctx.Err()
	})
}

// placed applies place to ids in groups of addressesAtOnce and collects the results other than
// NoAddress.
func placed(ctx context.Context, ids *rowset.Set, place func([]uint64) ([]uint64, error)) (*rowset.Set, error) {
	rows, some := rowset.At(), make([]uint64, 0, addressesAtOnce)
	find := func() error {
		found, err := place(some)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(address uint64) bool { return address == NoAddress })
		slices.Sort(found)
		before := rows.Bytes()
		rows.Add(found)
		some = some[:0]
		return memory.FromContext(ctx).Take(ctx, rows.Bytes()-before)
	}
	for id := range ids.All() {
		if some = append(some, id); len(some) == addressesAtOnce {
			if err := find(); err != nil {
				return nil, err
			}
		}
	}
	return rows, find()
}
