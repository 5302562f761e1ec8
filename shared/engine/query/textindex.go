package query

import (
	"context"
	"slices"

	"tiltyard/shared/engine/internal/document"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
)

// textIndexes are the text indices of a version by column ([snapshot.Index.Named]): those in which rows are documents, and those
// in which elements of lists are.
type textIndexes struct{ rows, elements map[string]*snapshot.Index }

// of returns the indices with one kind of documents.
func (x textIndexes) of(elements bool) map[string]*snapshot.Index {
	if elements {
		return x.elements
	}
	return x.rows
}

func textIndices(d *dataset.Dataset) (textIndexes, error) {
	found := textIndexes{map[string]*snapshot.Index{}, map[string]*snapshot.Index{}}
	all, err := d.Indices()
	if err != nil {
		return found, err
	}
	for i := range all {
		x := &all[i]
		if x.Kind.Of != indexmeta.Text || len(x.Named) != 1 {
			continue
		}
		params, err := fulltext.ParseParams([]byte(x.Kind.Details))
		if err != nil {
			return found, err
		}
		if byColumn := found.of(params.OfElements()); byColumn[x.Named[0]] == nil {
			byColumn[x.Named[0]] = x
		}
	}
	return found, nil
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
	analyzer, err := textAnalyzer(ctx, d, x, text.IsJSON())
	return fulltext.Field{Analyzer: analyzer, Indexed: coversAny(d, x)}, err
}

// textAnalyzer returns how an index divides texts into words, by the parameters in its metadata file. If the
// file is not there or is damaged, or has parameters that are not known, those in the entry of the manifest
// count: a search without the index needs them too.
func textAnalyzer(ctx context.Context, d *dataset.Dataset, x *snapshot.Index, isJSON bool) (*fulltext.Analyzer, error) {
	entry, err := fulltext.ParseParams([]byte(x.Kind.Details))
	if err != nil {
		return nil, err
	}
	metadata, err := d.IndexMetadata(ctx, x.Name, "metadata.lance")
	if err != nil && !prefilter.IsUnusable(err) {
		return nil, err
	}
	if params, err := fulltext.ParseParams([]byte(metadata["params"])); err == nil {
		params.DocumentGranularity = entry.DocumentGranularity // only the entry has it
		if analyzer, err := newAnalyzer(params, isJSON); err == nil {
			return analyzer, nil
		}
	}
	return newAnalyzer(entry, isJSON)
}

// newAnalyzer returns how a column is divided into words; documents of JSON have a tokenizer of their own.
func newAnalyzer(params fulltext.Params, isJSON bool) (*fulltext.Analyzer, error) {
	if params.LanceTokenizer == "" && isJSON {
		params.LanceTokenizer = "json"
	}
	return fulltext.NewAnalyzer(params)
}
