package fts

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/process/memory"
)

// isDocument reports whether texts can have an index.
func isDocument(b index.Build) bool {
	return b.Texts.IsJSON() || b.Texts.Leaf().ID() == arrow.STRING || b.Texts.Leaf().ID() == arrow.LARGE_STRING
}

// plan prepares a build. Its parameters are [fulltext.Params].
func plan(b index.Build) (index.Plan, error) {
	params, ok := b.Params.(fulltext.Params)
	if !ok {
		params = fulltext.DefaultParams()
	}
	fits := "text"
	if b.Texts.IsJSON() {
		fits = "json"
	}
	if params.LanceTokenizer != "" && params.LanceTokenizer != fits {
		return index.Plan{}, &index.Refusal{Message: fmt.Sprintf("lance_tokenizer is %.40q; it is %s for a column of type %s", params.LanceTokenizer, fits, b.Field.Type)}
	}
	params.LanceTokenizer = fits
	switch lists := b.Texts.Lists(); {
	case !params.OfElements() || lists == 1:
	case lists == 0:
		return index.Plan{}, &index.Refusal{Message: fmt.Sprintf("document_granularity is %s, which needs a list of texts; column %q is of type %s", fulltext.ListElements, b.Column, b.Field.Type)}
	default:
		return index.Plan{}, &index.Refusal{
			Message: fmt.Sprintf("column %q has lists in lists, whose elements cannot be documents", b.Column),
			WayOut:  "build an index of rows: leave out document_granularity", Unbuilt: true,
		}
	}
	analyzer, err := fulltext.NewAnalyzer(params)
	if err != nil {
		return index.Plan{}, err
	}
	details, err := detailsOf(&params)
	return index.Plan{Version: inverted.Version(&params), Details: details, Parts: texts{b, analyzer}}, err
}

// detailsOf encodes parameters for the entry of an index in a manifest.
func detailsOf(p *fulltext.Params) ([]byte, error) {
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
	if p.OfElements() {
		details.DocumentGranularity = 1
	}
	if p.MaxTokenLength != nil {
		longest := uint32(*p.MaxTokenLength)
		details.MaxTokenLength = &longest
	}
	var e pb.Encoder
	details.Marshal(&e)
	return e.B, nil
}

// texts builds an index of texts, and tokenizes them on all cores.
type texts struct {
	index.Build
	analyzer *fulltext.Analyzer
}

// Write implements index.Parts.
func (x texts) Write(ctx context.Context, out index.Output) error {
	b := inverted.NewBuilder(ctx, x.analyzer, out)
	defer b.Release()
	if _, err := x.add(ctx, b, nil); err != nil {
		return err
	}
	return b.Close(ctx)
}

// add adds the documents of a span of rows and returns the number of rows. A nil span selects all rows.
func (x texts) add(ctx context.Context, b *inverted.Builder, span index.Span) (rows int64, err error) {
	added := index.Map(ctx, x.Rows, span, func(ctx context.Context, batch arrow.RecordBatch) (int64, error) {
		documents, err := x.documents(ctx, batch)
		if err != nil {
			return 0, err
		}
		return batch.NumRows(), b.Add(ctx, documents)
	})
	for n, err := range added {
		if err != nil {
			return rows, err
		}
		if rows += n; x.Watch != nil {
			x.Watch(n)
		}
	}
	return rows, nil
}

// documents returns the documents of a batch.
func (x texts) documents(ctx context.Context, batch arrow.RecordBatch) (inverted.Documents, error) {
	rows := batch.Column(1).(*array.Uint64).Uint64Values()
	if !x.analyzer.Params().OfElements() {
		text, err := x.Texts.Reader(ctx, batch.Column(0))
		return inverted.Documents{Rows: rows, Text: text}, err
	}
	lists, err := x.Texts.Elements(batch.Column(0))
	if err != nil {
		return inverted.Documents{}, err
	}
	count := 0
	for i := range rows {
		count += lists.Len(i)
	}
	const documentBytes = 8 + 4 + 4
	if err := memory.FromContext(ctx).Take(ctx, documentBytes*int64(count)); err != nil {
		return inverted.Documents{}, err
	}
	d, at := inverted.Documents{Rows: make([]uint64, 0, count), Elements: make([]uint32, 0, count)}, make([]int32, 0, count)
	for i, row := range rows {
		for element := range lists.Len(i) {
			d.Rows, d.Elements, at = append(d.Rows, row), append(d.Elements, uint32(element)), append(at, int32(i))
		}
	}
	d.Text = func(i int) (string, bool) { return lists.Text(int(at[i]), int(d.Elements[i])), false }
	return d, nil
}

// Train implements index.Parts.
func (x texts) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements index.Parts.
func (x texts) Effort() index.Effort {
	const (
		byteNanos, heldBytes = 300, 1 // to index a byte of text; memory per byte until it is written
		postingNanos         = 30     // for a document of a posting list
	)
	bytes := x.Rows.RowBytes()
	return index.Effort{RowNanos: byteNanos * bytes, RowBytes: bytes, Held: heldBytes * bytes, KeyNanos: postingNanos}
}

// numberBits bounds partition numbers, because other readers may hold them in 64-bit floats.
const numberBits = 53

// newNumbers returns the first of a block of 2^16 partition numbers. It is random, because the numbers must
// be unique in a segment and its builders do not communicate.
func newNumbers() uint64 { return rand.Uint64N(1<<numberBits - 1<<16) }

// Shard implements index.Parts.
func (x texts) Shard(ctx context.Context, span index.Span, name string, _ index.Staged, out index.Output) (index.Shard, error) {
	b := inverted.NewBuilder(ctx, x.analyzer, out)
	defer b.Release()
	b.NumberFrom(newNumbers())
	rows, err := x.add(ctx, b, span)
	if err != nil {
		return index.Shard{}, err
	}
	partitions, sizes, err := b.Flush(ctx)
	return index.Shard{
		Name: name, Rows: rows, Keys: sizes.Postings, Bytes: sizes.Bytes, Held: sizes.MergedBytes(), Partitions: partitions,
	}, err
}

// Join implements index.Parts: it merges the partitions of the shards into one.
func (x texts) Join(ctx context.Context, shards []index.Shard, staged index.Staged, out index.Output) (index.Joined, error) {
	from := inverted.Parts{Open: staged.Shards}
	for _, s := range shards {
		from.Numbers = append(from.Numbers, s.Partitions...)
	}
	if len(from.Numbers) == 0 {
		return index.Joined{}, nil
	}
	number := newNumbers()
	return index.Joined{Partitions: []uint64{number}}, inverted.Merge(ctx, x.analyzer.Params(), from, number, x.Watch, out)
}

// Complete implements index.Whole.
func (x texts) Complete(ctx context.Context, parts []index.Joined, out index.Output) error {
	var partitions []uint64
	for _, p := range parts {
		partitions = append(partitions, p.Partitions...)
	}
	slices.Sort(partitions)
	return inverted.Describe(ctx, x.analyzer.Params(), partitions, out)
}
