package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/document"
	"tiltyard/shared/fulltext"
	"tiltyard/shared/index"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
)

// TextParams returns the parameters of an index of texts that a request asks for.
func TextParams(asked *protocol.TextIndexParameters) (fulltext.Params, error) {
	p := fulltext.DefaultsOf(asked.BaseTokenizer)
	p.LanceTokenizer, p.CustomStopWords = asked.LanceTokenizer, asked.CustomStopWords
	p.Language = cmp.Or(asked.Language, p.Language)
	p.DocumentGranularity = asked.DocumentGranularity
	if asked.MaxTokenLength.Given {
		p.MaxTokenLength = asked.MaxTokenLength.Value
	}
	set(&p.WithPosition, asked.WithPosition)
	set(&p.LowerCase, asked.LowerCase)
	set(&p.Stem, asked.Stem)
	set(&p.RemoveStopWords, asked.RemoveStopWords)
	set(&p.ASCIIFolding, asked.ASCIIFolding)
	set(&p.MinNgramLength, asked.MinNgramLength)
	set(&p.MaxNgramLength, asked.MaxNgramLength)
	set(&p.PrefixOnly, asked.PrefixOnly)
	set(&p.BlockSize, asked.BlockSize)
	set(&p.SplitIdentifiers, asked.SplitIdentifiers)
	set(&p.SplitOnNumerics, asked.SplitOnNumerics)
	set(&p.PreserveOriginal, asked.PreserveOriginal)
	set(&p.IndexOperators, asked.IndexOperators)
	return p, textParamsError(p.Check())
}

// set sets a parameter that is asked for.
func set[T any](parameter, asked *T) {
	if asked != nil {
		*parameter = *asked
	}
}

// textParamsError returns an error in parameters as that of a request.
func textParamsError(err error) error {
	var bad *fulltext.Error
	if errors.As(err, &bad) {
		return &protocol.Error{Code: protocol.InvalidInput, Message: bad.Error(), Err: err}
	}
	return err
}

// isDocument reports whether a column can have an index of texts.
func isDocument(column arrow.Field) bool {
	isPlain := func(t arrow.DataType) bool {
		return t != nil && (t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING)
	}
	return document.Column{Field: column}.IsJSON() || isPlain(column.Type) || isPlain(document.ElementOf(column.Type))
}

// planText prepares the build of an index of texts.
func planText(d *dataset.Dataset, n Index, field arrow.Field) (plan, error) {
	column, params := document.Column{Name: n.Column, Field: field}, n.Text
	fits := "text"
	if column.IsJSON() {
		fits = "json"
	}
	if params.LanceTokenizer != "" && params.LanceTokenizer != fits {
		return plan{}, protocol.Errorf(protocol.InvalidInput, "lance_tokenizer is %.40q; it is %s for a column of type %s", params.LanceTokenizer, fits, field.Type)
	}
	params.LanceTokenizer = fits
	params.DocumentGranularity = "" // only the entry in the manifest has it, and there row is absent
	analyzer, err := fulltext.NewAnalyzer(params)
	if err != nil {
		return plan{}, textParamsError(err)
	}
	details, err := textDetails(&params)
	return plan{
		version: inverted.Version(&params), details: details,
		write: func(ctx context.Context, out index.Output) error { return writeText(ctx, d, column, analyzer, out) },
	}, err
}

// textDetails encodes parameters for the entry of an index in a manifest.
func textDetails(p *fulltext.Params) ([]byte, error) {
	language, err := json.Marshal(p.Language)
	if err != nil {
		return nil, err
	}
	blockSize, version := uint32(p.BlockSize), uint32(inverted.Version(p))
	details := pb.InvertedIndexDetails{
		BaseTokenizer: &p.BaseTokenizer, Language: string(language), WithPosition: p.WithPosition,
		LowerCase: p.LowerCase, Stem: p.Stem, RemoveStopWords: p.RemoveStopWords, ASCIIFolding: p.ASCIIFolding,
		MinNgramLength: uint32(p.MinNgramLength), MaxNgramLength: uint32(p.MaxNgramLength), PrefixOnly: p.PrefixOnly,
		BlockSize: &blockSize, FormatVersion: &version, Code: p.BaseTokenizer == fulltext.CodeTokenizer,
		SplitIdentifiers: p.SplitIdentifiers, SplitOnNumerics: p.SplitOnNumerics,
		PreserveOriginal: p.PreserveOriginal, IndexOperators: p.IndexOperators,
	}
	if p.MaxTokenLength != nil {
		longest := uint32(*p.MaxTokenLength)
		details.MaxTokenLength = &longest
	}
	var e pb.Encoder
	details.Marshal(&e)
	return e.B, nil
}

// writeText writes the files of an index of texts, whose terms it finds on all cores.
func writeText(ctx context.Context, d *dataset.Dataset, column document.Column, analyzer *fulltext.Analyzer, out index.Output) error {
	b := inverted.NewBuilder(ctx, analyzer, out)
	defer b.Release()
	added, err := dataset.Map(ctx, d, dataset.ScanOptions{Columns: []string{column.Name, dataset.RowID}},
		func(ctx context.Context, batch arrow.RecordBatch) (struct{}, error) {
			text, err := column.Reader(ctx, batch.Column(0))
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, b.Add(ctx, batch.Column(1).(*array.Uint64).Uint64Values(), text)
		})
	if err != nil {
		return err
	}
	for _, err := range added {
		if err != nil {
			return err
		}
	}
	return b.Close(ctx)
}
