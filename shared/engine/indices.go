package engine

import (
	"context"
	"encoding/json"
	"slices"

	"tiltyard/shared/engine/narrow"
	"tiltyard/shared/fulltext"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
)

// Indices returns the indices of a version, ordered by name. The details of those of texts have the
// parameters that only their files hold.
func (t *Table) Indices(ctx context.Context, version *int64) ([]snapshot.Index, error) {
	return Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) ([]snapshot.Index, error) {
		shared, err := d.Indices()
		all := slices.Clone(shared)
		for i := range all {
			if all[i].Kind.Of == indexmeta.Text && err == nil {
				all[i].Kind.Details, err = textDetails(ctx, d, all[i])
			}
		}
		return all, err
	})
}

// textDetails returns the details of an index of texts with what clients need to make the same words of a
// text: the entry in the manifest has no stop words, and does not tell texts from JSON. If the file with
// the parameters cannot be used, the entry counts, as in searches.
func textDetails(ctx context.Context, d *dataset.Dataset, x snapshot.Index) (string, error) {
	metadata, err := d.IndexMetadata(ctx, x.Name, "metadata.lance")
	if err != nil && !narrow.IsUnusable(err) {
		return "", err
	}
	params, err := fulltext.ParseParams([]byte(metadata["params"]))
	if err != nil {
		return x.Kind.Details, nil //nolint:nilerr // the entry counts
	}
	var details map[string]any
	if err := json.Unmarshal([]byte(x.Kind.Details), &details); err != nil {
		return "", err
	}
	if params.LanceTokenizer != "" {
		details["lance_tokenizer"] = params.LanceTokenizer
	}
	if params.CustomStopWords != nil {
		details["custom_stop_words"] = params.CustomStopWords
	}
	text, err := json.Marshal(details)
	return string(text), err
}

// Index returns one index of a version.
func (t *Table) Index(ctx context.Context, version *int64, name string) (snapshot.Index, error) {
	return Read(ctx, t, version, func(_ context.Context, d *dataset.Dataset) (snapshot.Index, error) {
		return d.Index(name)
	})
}

// DropIndex removes an index.
func (t *Table) DropIndex(ctx context.Context, name string) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		return d.DropIndex(ctx, name)
	})
}
