package snapshot

import (
	"context"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
)

// IndexMetadata returns the schema metadata of a file in the first segment of an index, where most
// index kinds store their parameters. The map must not be changed. Errors are ErrNoIndex, and
// objectstore.ErrNotExist for a missing file.
func (s *Snapshot) IndexMetadata(ctx context.Context, index, file string) (map[string]string, error) {
	entry, err := s.firstSegment(index)
	if err != nil {
		return nil, err
	}
	segment, err := s.SegmentOf(entry)
	if err != nil {
		return nil, err
	}
	kept, err := segment.Keep(file+" metadata", func() (any, int64, error) {
		opened, err := segment.Open(ctx, file)
		if err != nil {
			return nil, 0, err
		}
		schema, err := opened.Schema(ctx)
		if err != nil {
			return nil, 0, err
		}
		bytes := int64(0)
		for name, value := range schema.Metadata {
			bytes += int64(len(name) + len(value))
		}
		return schema.Metadata, bytes, nil
	})
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	return kept.(map[string]string), nil
}

// firstSegment returns the first manifest entry of an index, or ErrNoIndex.
func (s *Snapshot) firstSegment(index string) (*pb.IndexMetadata, error) {
	segments, err := s.manifest.Indices()
	if err != nil {
		return nil, fmt.Errorf("%w: indices: %w", lance.ErrCorrupt, err)
	}
	for _, x := range segments {
		if x.Name == index && !indexmeta.IsSystem(index) {
			return x, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNoIndex, index)
}
