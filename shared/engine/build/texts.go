package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/document"
	"tiltyard/shared/fulltext"
	"tiltyard/shared/fulltext/textcolumn"
	"tiltyard/shared/index"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

// CheckTexts refuses parameters of an index of texts that make no sense.
func CheckTexts(p fulltext.Params) error { return textParamsError(p.Check()) }

// textParamsError returns an error in parameters as that of a request.
func textParamsError(err error) error {
	var bad *fulltext.Error
	if errors.As(err, &bad) {
		return &protocol.Error{Code: protocol.InvalidInput, Message: bad.Error(), Err: err}
	}
	return err
}

// isDocument reports whether texts can have an index.
func isDocument(column textcolumn.Column) bool {
	return column.IsJSON() || column.Leaf().ID() == arrow.STRING || column.Leaf().ID() == arrow.LARGE_STRING
}

// planText prepares the build of an index of texts, which may be in the structs of lists.
func planText(d *dataset.Dataset, n Index) (plan, error) {
	column, err := document.Find(d, n.Column)
	if err != nil {
		return plan{}, err
	}
	if !isDocument(column) {
		return plan{}, n.misfit(column.Leaf(), "texts, lists of texts, texts in the structs of lists, and JSON")
	}
	params, fits := n.Text, "text"
	if column.IsJSON() {
		fits = "json"
	}
	if params.LanceTokenizer != "" && params.LanceTokenizer != fits {
		return plan{}, protocol.Errorf(protocol.InvalidInput, "lance_tokenizer is %.40q; it is %s for a column of type %s", params.LanceTokenizer, fits, column.Field.Type)
	}
	params.LanceTokenizer = fits
	switch lists := column.Lists(); {
	case !params.OfElements() || lists == 1:
	case lists == 0:
		return plan{}, protocol.Errorf(protocol.InvalidInput, "document_granularity is %s, which needs a list of texts; column %q is of type %s", fulltext.ListElements, n.Column, column.Field.Type)
	default:
		return plan{}, &protocol.Error{
			Code: protocol.Unsupported, Message: fmt.Sprintf("column %q has lists in lists, whose elements cannot be documents", n.Column),
			Detail: "build an index of rows: leave out document_granularity",
		}
	}
	analyzer, err := fulltext.NewAnalyzer(params)
	if err != nil {
		return plan{}, textParamsError(err)
	}
	details, err := textDetails(&params)
	x := texts{source: source{dataset: d, column: column.Read, stores: snapshot.RowID, kind: column.Field.Type, watch: n.Watch}, reader: column, analyzer: analyzer}
	return plan{version: inverted.Version(&params), details: details, write: x.write, parts: x}, err
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

// texts builds an index of texts, whose terms it finds on all cores.
type texts struct {
	source
	reader   textcolumn.Column
	analyzer *fulltext.Analyzer
}

// write builds a segment of all rows.
func (x texts) write(ctx context.Context, out index.Output) error {
	b := inverted.NewBuilder(ctx, x.analyzer, out)
	defer b.Release()
	if _, err := x.add(ctx, b, nil); err != nil {
		return err
	}
	return b.Close(ctx)
}

// add adds the documents of rows, and returns how many rows there are. All are added if span is nil.
func (x texts) add(ctx context.Context, b *inverted.Builder, span Span) (rows int64, err error) {
	added, err := snapshot.Map(ctx, x.dataset.Snapshot, snapshot.ScanOptions{Columns: []string{x.column, x.stores}, Span: span},
		func(ctx context.Context, batch arrow.RecordBatch) (int64, error) {
			documents, err := x.documents(ctx, batch)
			if err != nil {
				return 0, err
			}
			return batch.NumRows(), b.Add(ctx, documents)
		})
	if err != nil {
		return 0, err
	}
	for n, err := range added {
		if err != nil {
			return rows, err
		}
		if rows += n; x.watch != nil {
			x.watch(n)
		}
	}
	return rows, nil
}

// documents returns the documents of a batch.
func (x texts) documents(ctx context.Context, batch arrow.RecordBatch) (inverted.Documents, error) {
	rows := batch.Column(1).(*array.Uint64).Uint64Values()
	if !x.analyzer.Params().OfElements() {
		text, err := x.reader.Reader(ctx, batch.Column(0))
		return inverted.Documents{Rows: rows, Text: text}, err
	}
	lists, err := x.reader.Elements(batch.Column(0))
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

// Train implements Parts.
func (x texts) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements Parts.
func (x texts) Effort() Effort {
	const (
		byteNanos, heldBytes = 300, 1 // for a byte of text; that a byte takes until it is written
		postingNanos         = 30     // for a document of a posting list
	)
	bytes := x.rowBytes()
	return Effort{RowNanos: byteNanos * bytes, RowBytes: bytes, Held: heldBytes * bytes, KeyNanos: postingNanos}
}

// numberBits bounds the numbers of partitions, which other readers may hold in floats.
const numberBits = 53

// newNumbers returns the first of some numbers of partitions, which are random, as no others of the same segment must
// have the same.
func newNumbers() uint64 { return rand.Uint64N(1<<numberBits - 1<<16) }

// Shard implements Parts.
func (x texts) Shard(ctx context.Context, span Span, name string, _ Staged, out index.Output) (Shard, error) {
	b := inverted.NewBuilder(ctx, x.analyzer, out)
	defer b.Release()
	b.NumberFrom(newNumbers())
	rows, err := x.add(ctx, b, span)
	if err != nil {
		return Shard{}, err
	}
	partitions, sizes, err := b.Flush(ctx)
	return Shard{
		Name: name, Rows: rows, Keys: sizes.Postings, Bytes: sizes.Bytes, Held: sizes.MergedBytes(), Partitions: partitions,
	}, err
}

// Join implements Parts: it makes one partition of those of the shards.
func (x texts) Join(ctx context.Context, shards []Shard, staged Staged, out index.Output) (Joined, error) {
	from := inverted.Parts{Open: staged.Shards}
	for _, s := range shards {
		from.Numbers = append(from.Numbers, s.Partitions...)
	}
	if len(from.Numbers) == 0 {
		return Joined{}, nil
	}
	number := newNumbers()
	return Joined{Partitions: []uint64{number}}, inverted.Merge(ctx, x.analyzer.Params(), from, number, x.watch, out)
}

// Complete implements Whole.
func (x texts) Complete(ctx context.Context, parts []Joined, out index.Output) error {
	var partitions []uint64
	for _, p := range parts {
		partitions = append(partitions, p.Partitions...)
	}
	slices.Sort(partitions)
	return inverted.Describe(ctx, x.analyzer.Params(), partitions, out)
}
