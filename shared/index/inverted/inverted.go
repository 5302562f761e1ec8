// Package inverted reads and builds inverted indices, the files of the FTS kind. Each term of the texts of
// a column has a posting list: the documents that contain it, its frequency in each, and its positions. A
// search reads only the posting lists of its terms.
//
// A segment has a metadata file and some partitions of three files each. All are ordinary data files:
//
//	metadata.lance         in the metadata of its schema: the parameters of the tokenizer, the
//	                       numbers of the partitions, the formats of the other files, and ours adds
//	                       that documents are distinct
//	part_<n>_tokens.lance  the terms, each with a number
//	part_<n>_docs.lance    _rowid      u64   the row of each document
//	                       _num_tokens u32   the number of its terms
//	                       _doc_index_0 u32  the element of the row's list, if each list element is a
//	                                         document
//	part_<n>_invert.lance  a posting list for each term, in the order of their numbers:
//	                       _posting    list  blocks of documents, with frequencies
//	                       _length     u32   the document frequency of the term
//	                       _max_score  f32   the maximal score of one document
//	                       positions, in one of two formats, if the index supports phrases
//
// A document is numbered by its row in the docs file, a term by its row in the invert file. Rows of the
// table are stored as addresses or, if the table has stable row ids, as ids. Many documents are read by page, as
// searches need them: pages.go.
//
// BM25 uses counts over all segments: the number of documents, their total length, and the document
// frequency of each term. Documents of deleted rows, and older versions of updated rows, count until the
// index is rebuilt.
//
// Not supported: early indices with one unnamed partition, and documents that are elements of nested lists.
// The metadata file may also list fragments that the table has dropped. They are ignored, because the
// manifest entry defines the fragments that a segment covers.
//
// Source: scalar/inverted/index of crate lance-index.
package inverted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// metadataFile describes a segment.
const metadataFile = "metadata.lance"

// maxPartitions bounds the partitions of a segment, which a search opens in parallel.
const maxPartitions = 1 << 12

// maxReads bounds the partitions that are read in parallel.
const maxReads = 16

// contextSteps is the number of steps between checks of the context.
const contextSteps = 1 << 12

// A Reader searches one segment. It is safe for concurrent use.
type Reader struct {
	// Params are the parameters of the tokenizer, as JSON; empty if the segment has none.
	Params string

	elements   bool // documents are elements of lists
	distinct   bool // no row, and no list element, has several documents
	partitions []*partition
}

// Expected is what the caller knows about the documents of a segment.
type Expected struct {
	Elements bool // documents are list elements instead of rows
	// Distinct promises that no row, and no list element, has several documents.
	Distinct bool
}

// Open reads the terms of a segment, and its documents unless they are many. A segment of the other granularity
// than expected is lance.ErrUnsupported.
func Open(ctx context.Context, files index.Files, expected Expected) (*Reader, error) {
	return open(ctx, files, expected, wholeUpTo{documents: wholeDocuments, termBytes: wholeTermBytes})
}

// A wholeUpTo bounds what is read of a partition as a whole. Of more, a search reads pages.
type wholeUpTo struct {
	documents int64
	termBytes int64 // of the file of terms
}

// open opens a segment.
func open(ctx context.Context, files index.Files, expected Expected, upTo wholeUpTo) (*Reader, error) {
	metadata, err := keptMetadata(ctx, files, openAhead)
	if err != nil {
		return nil, err
	}
	r := newReader(files, metadata, expected, upTo)
	if err := r.each(ctx, func(ctx context.Context, p *partition, _ int) error { return p.open(ctx) }); err != nil {
		return nil, err
	}
	return r, r.check(ctx, files)
}

// OpenPartitions is Open for some partitions of a segment, given by their places among all of them. It leaves out the
// check that documents are distinct, which needs all partitions. A place that does not exist is lance.ErrUnsupported.
func OpenPartitions(ctx context.Context, files index.Files, expected Expected, places []int) (*Reader, error) {
	metadata, err := keptMetadata(ctx, files, func(context.Context, index.Files) {})
	if err != nil {
		return nil, err
	}
	r := newReader(files, metadata, expected, wholeUpTo{documents: wholeDocuments, termBytes: wholeTermBytes})
	all := r.partitions
	r.partitions = nil
	for _, place := range places {
		if place < 0 || place >= len(all) {
			return nil, fmt.Errorf("%w: partition %d of %d", lance.ErrUnsupported, place, len(all))
		}
		r.partitions = append(r.partitions, all[place])
	}
	return r, r.each(ctx, func(ctx context.Context, p *partition, _ int) error { return p.open(ctx) })
}

// newReader returns a reader whose partitions are not open.
func newReader(files index.Files, m *metadata, expected Expected, upTo wholeUpTo) *Reader {
	r := &Reader{Params: m.params, elements: expected.Elements, distinct: expected.Distinct || m.distinct}
	for _, number := range m.partitions {
		r.partitions = append(r.partitions, &partition{
			files: files, number: number, elements: r.elements, tokenFormat: m.tokenFormat, coding: m.coding,
			distinct: r.distinct, upTo: upTo,
		})
	}
	return r
}

// keptMetadata returns the metadata of a segment, cached or read from storage. It calls ahead before it reads.
func keptMetadata(ctx context.Context, files index.Files, ahead func(context.Context, index.Files)) (*metadata, error) {
	kept, err := files.Keep(metadataFile+" parsed", func() (any, int64, error) {
		ahead(ctx, files)
		m, err := readMetadata(ctx, files)
		if err != nil {
			return nil, 0, err
		}
		return m, m.bytes(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metadataFile, err)
	}
	return kept.(*metadata), nil
}

// maxOpenedAhead is the maximal number of files of a segment that are all opened together.
const maxOpenedAhead = 64

// openAhead opens the listed files of a segment in parallel. Otherwise most names would be known only after
// the metadata file has been read. An error is ignored here, since it recurs when the file is used.
func openAhead(ctx context.Context, files index.Files) {
	names := files.Names()
	if len(names) > maxOpenedAhead {
		return
	}
	var group errgroup.Group
	group.SetLimit(maxReads)
	for _, name := range names {
		group.Go(func() (err error) {
			defer index.Contain(&err)
			_, err = files.Open(ctx, name)
			return err
		})
	}
	_ = group.Wait()
}

// check verifies that no row, and no list element, has several documents. Early index versions stored one
// document per element of a list. In a table with stable row ids, native Lance keeps the old document of an
// updated row when it adds the new one. Paged documents that are distinct are not read for it.
func (r *Reader) check(ctx context.Context, files index.Files) error {
	if r.distinct && r.isPaged() {
		return nil
	}
	_, err := files.Keep(metadataFile+" checked", func() (any, int64, error) {
		count, _ := r.Documents()
		if r.isPaged() {
			return true, 1, r.checkPaged(ctx, count)
		}
		perDocument := int64(idBytes)
		if r.elements {
			perDocument += idBytes // with padding
		}
		room, err := memory.Take(ctx, perDocument*count)
		if err != nil {
			return nil, 0, err
		}
		defer room.Release()
		if r.elements {
			return true, 1, r.checkElements(count)
		}
		rows := make([]uint64, 0, count)
		for _, p := range r.partitions {
			rows = append(rows, p.documents.rows...)
		}
		if !slices.IsSorted(rows) {
			slices.Sort(rows)
		}
		for i := 1; i < len(rows); i++ {
			if rows[i-1] == rows[i] {
				return nil, 0, fmt.Errorf("%w: several documents of row %d", lance.ErrUnsupported, rows[i])
			}
		}
		return true, 1, nil
	})
	return err
}

// isPaged reports whether the documents of any partition are paged.
func (r *Reader) isPaged() bool {
	return slices.ContainsFunc(r.partitions, func(p *partition) bool { return p.documents.paged })
}

// checkPaged is the check for documents that are not in memory. It collects their rows in a set, which takes a bit
// for each row of a dense table.
func (r *Reader) checkPaged(ctx context.Context, count int64) error {
	set, room := rowset.At(), memory.Hold{}
	defer func() { room.Release() }()
	err := r.Lengths(ctx, func(rows []uint64, _ []uint32) error {
		if !slices.IsSorted(rows) {
			slices.Sort(rows)
		}
		return set.AddHeld(ctx, &room, rows)
	})
	if err == nil && set.Len() != count {
		err = fmt.Errorf("%w: %d documents of %d rows", lance.ErrUnsupported, count, set.Len())
	}
	return err
}

// checkElements is the check for documents that are list elements.
func (r *Reader) checkElements(count int64) error {
	type place struct {
		row     uint64
		element uint32
	}
	places := make([]place, 0, count)
	for _, p := range r.partitions {
		for i, row := range p.documents.rows {
			places = append(places, place{row, p.documents.elements[i]})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.element, b.element)) })
	for i := 1; i < len(places); i++ {
		if places[i-1] == places[i] {
			return fmt.Errorf("%w: several documents of element %d of row %d", lance.ErrUnsupported, places[i].element, places[i].row)
		}
	}
	return nil
}

// each calls f for all partitions, up to maxReads of them in parallel.
func (r *Reader) each(ctx context.Context, f func(ctx context.Context, p *partition, i int) error) error {
	return lance.Each(ctx, len(r.partitions), maxReads, func(ctx context.Context, i int) (err error) {
		defer index.Contain(&err)
		return f(ctx, r.partitions[i], i)
	})
}

// Partitions returns the number of partitions of the segment.
func (r *Reader) Partitions() int { return len(r.partitions) }

// Documents returns the number of documents of the segment, and the total number of their terms.
func (r *Reader) Documents() (count, length int64) {
	for _, p := range r.partitions {
		count += p.documents.count
		length += p.documents.total
	}
	return count, length
}

// Holding estimates the average document frequency of a term, as if each document had each of its terms
// once.
func (r *Reader) Holding() (documents int64) {
	for _, p := range r.partitions {
		documents += p.documents.total / max(p.postings.rows(), 1)
	}
	return documents
}

// lengthStep is the number of documents per call of yield in Lengths.
const lengthStep = 1 << 12

// Lengths calls yield with the row addresses or ids of some documents and their lengths, until all are
// done. The caller may modify rows. Both slices are valid until yield returns.
func (r *Reader) Lengths(ctx context.Context, yield func(rows []uint64, lengths []uint32) error) error {
	rows := make([]uint64, lengthStep)
	for _, p := range r.partitions {
		err := p.eachDocuments(ctx, func(d *documents) error {
			for from := 0; from < len(d.rows); from += lengthStep {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				to := min(from+lengthStep, len(d.rows))
				if err := yield(rows[:copy(rows, d.rows[from:to])], d.lengths[from:to]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Terms calls yield with each term of each partition. term is good until yield returns.
func (r *Reader) Terms(ctx context.Context, yield func(term []byte) error) error {
	for _, p := range r.partitions {
		if err := p.terms.Each(ctx, yield); err != nil {
			return fmt.Errorf("%s: %w", p.name("tokens"), err)
		}
	}
	return nil
}

// ParamsOf returns how texts become terms in a segment. Early versions wrote no metadata file; for
// their segments the error is objectstore.ErrNotExist.
func ParamsOf(ctx context.Context, files index.Files) (fulltext.Params, error) {
	m, err := readMetadata(ctx, files)
	if err != nil {
		return fulltext.Params{}, fmt.Errorf("%s: %w", metadataFile, err)
	}
	return fulltext.ParseParams([]byte(m.params))
}

// distinctKey is the key in the metadata file by which Describe promises distinct documents. Native Lance ignores it,
// and omits it from segments that it derives.
const distinctKey = "tiltyard:distinct"

// metadata is the content of the metadata file.
type metadata struct {
	partitions  []uint64
	params      string
	tokenFormat string
	coding      coding
	distinct    bool // no row, and no list element, has several documents
}

func (m *metadata) bytes() int64 {
	return int64(len(m.params)+len(m.tokenFormat)) + 8*int64(len(m.partitions))
}

func readMetadata(ctx context.Context, files index.Files) (*metadata, error) {
	file, err := files.Open(ctx, metadataFile)
	if err != nil {
		return nil, err
	}
	s, err := file.Schema(ctx)
	if err != nil {
		return nil, err
	}
	return parseMetadata(s.Metadata)
}

// parseMetadata parses the schema metadata of metadata.lance. A later format_version than 3 is
// lance.ErrUnsupported.
func parseMetadata(words map[string]string) (*metadata, error) {
	m := &metadata{params: words["params"], tokenFormat: words["token_set_format"], distinct: words[distinctKey] == "true"}
	if err := json.Unmarshal([]byte(words["partitions"]), &m.partitions); err != nil {
		return nil, fmt.Errorf("%w: partitions %q: %w", lance.ErrCorrupt, words["partitions"], err)
	}
	if len(m.partitions) > maxPartitions {
		return nil, fmt.Errorf("%w: %d partitions, more than %d", lance.ErrUnsupported, len(m.partitions), maxPartitions)
	}
	if version := words["format_version"]; version != "" && version != "1" && version != "2" && version != "3" {
		return nil, fmt.Errorf("%w: version %q of the format", lance.ErrUnsupported, version)
	}
	var err error
	m.coding, err = codingOf(words)
	return m, err
}

// codingOf reads how posting lists are written.
func codingOf(words map[string]string) (coding, error) {
	c := coding{block: 128}
	switch words["posting_tail_codec"] {
	case "", "fixed32_v1":
	case "varint_delta_v1":
		c.varint = true
	default:
		return c, fmt.Errorf("%w: posting lists that end in the form %q", lance.ErrUnsupported, words["posting_tail_codec"])
	}
	if size := words["posting_block_size"]; size != "" {
		c.block, _ = strconv.Atoi(size)
	}
	if c.block != 128 && c.block != maxBlock {
		return c, fmt.Errorf("%w: posting lists in blocks of %q", lance.ErrUnsupported, words["posting_block_size"])
	}
	return c, nil
}
