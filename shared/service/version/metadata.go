package version

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol"
)

// Metadata of a version is a note in its manifest, so that there is no moment at which the
// version is there without it, and none at which it is there without the version. Which tables
// have such versions is told by their records: of others no manifest is read for a list.

// withMetadata returns a manifest file with the metadata of its version.
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

// annotate notes that a table, nil for one that is yet to be, will have a version with
// metadata, if that is so.
func (s *Service) annotate(ctx context.Context, t *catalog.Table, m *staged) error {
	if len(m.metadata) == 0 || t == nil {
		return nil
	}
	return s.tables.Names.Annotate(ctx, t)
}

// addMetadata reads the metadata of versions whose keys are given.
func addMetadata(ctx context.Context, t *catalog.Table, keys []string, entries []protocol.TableVersion) error {
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
