package version

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol/versionapi"
)

// The metadata of a version is stored inside its manifest, so both become visible in the same put.
// Records mark the tables that have such versions, so that lists read no manifests of other tables.

// withMetadata returns a manifest file with the metadata of its version added.
func withMetadata(file []byte, metadata map[string]string) ([]byte, error) {
	if len(metadata) == 0 {
		return file, nil
	}
	note, err := json.Marshal(metadata)
	if err == nil {
		file, err = manifest.WithNote(file, note)
	}
	if err != nil {
		return nil, fmt.Errorf("add metadata to a manifest: %w", err)
	}
	return file, nil
}

// annotate marks the table in its record if the staged manifest contains metadata. t is nil if the
// table does not exist yet.
func (s *Service) annotate(ctx context.Context, t *catalog.Table, m *staged) error {
	if len(m.metadata) == 0 {
		return nil
	}
	return s.tables.Names.Annotate(ctx, t)
}

// addMetadata reads the metadata of versions into their entries. keys are the keys of the
// manifests.
func addMetadata(ctx context.Context, t *catalog.Table, keys []string, entries []versionapi.Version) error {
	if !t.Annotated {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(batchFanOut)
	for i := range entries {
		group.Go(func() error {
			note, err := manifest.ReadNote(ctx, t.Location.Store, keys[i], entries[i].ManifestSize)
			if err != nil || note == nil {
				return err
			}
			return json.Unmarshal(note, (*map[string]string)(&entries[i].Metadata))
		})
	}
	return group.Wait()
}
