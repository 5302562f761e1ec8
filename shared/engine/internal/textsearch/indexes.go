package textsearch

import (
	"context"
	"fmt"
	"slices"

	"tiltyard/shared/engine/internal/document"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
)

// Indexes are the text indices of a version by column ([snapshot.Index.Named]). In one map each row is a document, in
// the other each list element.
type Indexes struct{ rows, elements map[string]*snapshot.Index }

// of returns the indices whose documents are list elements, or else rows.
func (x Indexes) of(elements bool) map[string]*snapshot.Index {
	if elements {
		return x.elements
	}
	return x.rows
}

// IndexesOf returns the text indices of a version. If a column has several, the first counts.
func IndexesOf(d *dataset.Dataset) (Indexes, error) {
	return snapshot.Once(d.Snapshot, indexesKey{}, func() (Indexes, error) { return readIndexes(d) })
}

type indexesKey struct{}

func readIndexes(d *dataset.Dataset) (Indexes, error) {
	found := Indexes{map[string]*snapshot.Index{}, map[string]*snapshot.Index{}}
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

// Covering returns the index on a column, of list elements or else of rows, if it covers any fragment of a version, and nil
// otherwise.
func (x Indexes) Covering(d *dataset.Dataset, column string, elements bool) *snapshot.Index {
	if index := x.of(elements)[column]; coversAny(d, index) {
		return index
	}
	return nil
}

// coversAny reports whether an index covers any fragment of a version.
func coversAny(d *dataset.Dataset, x *snapshot.Index) bool {
	return x != nil && slices.ContainsFunc(d.Manifest().Fragments, func(f *pb.Fragment) bool { return x.Covers(f.ID) })
}

// fieldOf returns the tokenizer of a column, and whether an index covers rows of it.
func fieldOf(ctx context.Context, d *dataset.Dataset, column string, indices map[string]*snapshot.Index) (fulltext.Field, error) {
	text, err := document.Of(d, column)
	if err != nil {
		return fulltext.Field{}, err
	}
	x := indices[column]
	if x == nil {
		return fulltext.Field{Analyzer: fulltext.Plain(false)}, nil
	}
	analyzer, err := analyzerOf(ctx, d, x, text.IsJSON())
	return fulltext.Field{Analyzer: analyzer, Indexed: coversAny(d, x)}, err
}

// analyzerOf returns the tokenizer of an index, by the parameters in its metadata file. If the file is missing or
// damaged, or has unknown parameters, it uses the parameters in the manifest: a search without the index needs a tokenizer
// too.
func analyzerOf(ctx context.Context, d *dataset.Dataset, x *snapshot.Index, isJSON bool) (*fulltext.Analyzer, error) {
	analyzer, err := snapshot.Once(d.Snapshot, analyzerKey{x.Name, isJSON}, func() (*fulltext.Analyzer, error) {
		return storedAnalyzer(ctx, d, x, isJSON)
	})
	if err == nil || !prefilter.IsUnusable(err) {
		return analyzer, err
	}
	entry, err := fulltext.ParseParams([]byte(x.Kind.Details))
	if err != nil {
		return nil, err
	}
	return newAnalyzer(entry, isJSON)
}

// An analyzerKey is the key of the tokenizer of an index.
type analyzerKey struct {
	index  string
	isJSON bool
}

// storedAnalyzer returns the tokenizer by the metadata file of an index. A file that is missing or damaged, or has unknown
// parameters, is an error of prefilter.IsUnusable.
func storedAnalyzer(ctx context.Context, d *dataset.Dataset, x *snapshot.Index, isJSON bool) (*fulltext.Analyzer, error) {
	entry, err := fulltext.ParseParams([]byte(x.Kind.Details))
	if err != nil {
		return nil, err
	}
	metadata, err := d.IndexMetadata(ctx, x.Name, "metadata.lance")
	if err != nil {
		return nil, err
	}
	params, err := fulltext.ParseParams([]byte(metadata["params"]))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lance.ErrUnsupported, err)
	}
	params.DocumentGranularity = entry.DocumentGranularity // the file lacks it
	analyzer, err := newAnalyzer(params, isJSON)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lance.ErrUnsupported, err)
	}
	return analyzer, nil
}

// newAnalyzer returns the tokenizer with the given parameters. Columns of JSON have a different
// default.
func newAnalyzer(params fulltext.Params, isJSON bool) (*fulltext.Analyzer, error) {
	if params.LanceTokenizer == "" && isJSON {
		params.LanceTokenizer = "json"
	}
	return fulltext.NewAnalyzer(params)
}
