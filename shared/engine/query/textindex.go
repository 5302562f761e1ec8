package query

import (
	"context"
	"errors"
	"slices"

	"tiltyard/shared/engine/document"
	"tiltyard/shared/fulltext"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// textIndices returns the text indices of a version by column.
func textIndices(d *dataset.Dataset) (map[string]*snapshot.Index, error) {
	all, err := d.Indices()
	if err != nil {
		return nil, err
	}
	byColumn := map[string]*snapshot.Index{}
	for i := range all {
		if x := &all[i]; x.Kind.Of == indexmeta.Text && len(x.Columns) == 1 && byColumn[x.Columns[0]] == nil {
			byColumn[x.Columns[0]] = x
		}
	}
	return byColumn, nil
}

func coversAny(d *dataset.Dataset, x *snapshot.Index) bool {
	return x != nil && slices.ContainsFunc(d.Manifest().Fragments, func(f *pb.Fragment) bool { return x.Covers(f.ID) })
}

// textField returns how a column is searched.
func textField(ctx context.Context, d *dataset.Dataset, column string, indices map[string]*snapshot.Index) (fulltext.Field, error) {
	text, err := document.Of(d, column)
	if err != nil {
		return fulltext.Field{}, err
	}
	x := indices[column]
	if x == nil {
		return fulltext.Field{Analyzer: fulltext.Plain(false)}, nil
	}
	params, err := textParams(ctx, d, x)
	if err != nil {
		return fulltext.Field{}, err
	}
	if params.LanceTokenizer == "" && text.IsJSON() {
		params.LanceTokenizer = "json"
	}
	analyzer, err := fulltext.NewAnalyzer(params)
	return fulltext.Field{Analyzer: analyzer, Indexed: coversAny(d, x)}, err
}

// textParams reads how an index divides texts into words: from its metadata file or, if that does
// not exist, from its entry in the manifest.
func textParams(ctx context.Context, d *dataset.Dataset, x *snapshot.Index) (fulltext.Params, error) {
	details := x.Kind.Details
	metadata, err := d.IndexMetadata(ctx, x.Name, "metadata.lance")
	switch {
	case err == nil && metadata["params"] != "":
		params, err := fulltext.ParseParams([]byte(metadata["params"]))
		if err != nil {
			return params, err
		}
		entry, err := fulltext.ParseParams([]byte(details))
		params.DocumentGranularity = entry.DocumentGranularity // only the entry has it
		return params, err
	case err != nil && !errors.Is(err, objectstore.ErrNotExist):
		return fulltext.Params{}, err
	}
	return fulltext.ParseParams([]byte(details))
}
