package dataset

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/lance/pb"
)

// IndexMetadata returns the metadata of a file of an index, that of its first segment: the
// parameters of most kinds are there. It must not be changed. A version without the index
// is ErrNoIndex; a file that is not there is objectstore.ErrNotExist.
func (d *Dataset) IndexMetadata(ctx context.Context, index, file string) (map[string]string, error) {
	segment, err := d.firstSegment(index)
	if err != nil {
		return nil, err
	}
	at, err := d.table.bases(d.manifest).At(segment.BaseID)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	size := int64(0)
	for i := range segment.Files {
		if segment.Files[i].Path == file {
			size = int64(segment.Files[i].SizeBytes)
		}
	}
	// Segments do not change and no two have a UUID, so what was read of one is good for ever.
	key := at.Prefix + "/_indices/" + segment.UUID.String() + "/" + file
	kept, part := d.table.session.cache, key+"?"+strconv.FormatInt(size, 10)
	if known, ok := cache.Get[map[string]string](kept, at.URI, part); ok {
		return known, nil
	}
	opened, err := datafile.Open(ctx, at.Store, key, size, map[int32]int32{})
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	s, err := opened.Schema(ctx)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	bytes := int64(0)
	for name, value := range s.Metadata {
		bytes += int64(len(name) + len(value))
	}
	cache.Put(kept, at.URI, part, s.Metadata, bytes)
	return s.Metadata, nil
}

func (d *Dataset) firstSegment(index string) (*pb.IndexMetadata, error) {
	segments, err := d.manifest.Indices()
	if err != nil {
		return nil, fmt.Errorf("%w: indices: %w", lance.ErrCorrupt, err)
	}
	for _, x := range segments {
		if x.Name == index && !strings.HasPrefix(index, systemIndex) {
			return x, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNoIndex, index)
}
