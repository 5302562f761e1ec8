// Package inverted reads and builds indices of the kind FTS: for each term that the texts of a column have,
// the documents that have it, how often, and where. A search reads the lists of its terms, and no
// others.
//
// A segment is a file that describes it and some partitions, of three files each. All are ordinary
// data files:
//
//	metadata.lance         in the metadata of its schema: how texts become terms, the numbers of
//	                       the partitions, and the forms that the other files have
//	part_<n>_tokens.lance  the terms, each with a number
//	part_<n>_docs.lance    _rowid      u64   the row of each document
//	                       _num_tokens u32   how many terms it has
//	                       _doc_index_0 u32  which element of the list in the row it is, if each
//	                                         element of a list is a document
//	part_<n>_invert.lance  a posting list for each term, in the order of their numbers:
//	                       _posting    list  blocks of documents, with frequencies
//	                       _length     u32   how many documents there are
//	                       _max_score  f32   the most that one of them scores
//	                       positions, in one of two forms, if phrases can be looked for
//
// A document is numbered by its place in the docs file, a term by its row in the invert file. Rows
// are stored by their ids: addresses unless the table gives its rows stable ids.
//
// A document is scored by counts over all segments: how many documents there are, how long they
// are together, and how many have a term. Documents of rows that are deleted, or that a later
// segment has anew, count until the index is rebuilt.
//
// Indices of the first years, with one nameless partition, are not read here; nor are those whose
// documents are elements of lists inside of lists. The file that describes a segment also names fragments that
// the table does not have any more. They are not looked at: a segment answers for fragments that
// its entry in the manifest has, and these it does not.
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

	"tiltyard/shared/fulltext"
	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/memory"
)

// metadataFile describes a segment.
const metadataFile = "metadata.lance"

// maxPartitions bounds the partitions of a segment, which a search opens side by side.
const maxPartitions = 1 << 12

// maxReads bounds how many partitions are read side by side.
const maxReads = 16

// A Reader searches one segment. It is safe for concurrent use.
type Reader struct {
	// Params are how texts become terms, as JSON; empty if the segment does not have it.
	Params string

	elements   bool // documents are elements of lists
	partitions []*partition
}

// Open reads which documents a segment has, and its terms. Documents that are rows are
// lance.ErrUnsupported if elements of lists are asked for, and the other way round.
func Open(ctx context.Context, files index.Files, elements bool) (*Reader, error) {
	kept, err := files.Keep(metadataFile+" parsed", func() (any, int64, error) {
		openAhead(ctx, files)
		m, err := readMetadata(ctx, files)
		if err != nil {
			return nil, 0, err
		}
		return m, m.bytes(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metadataFile, err)
	}
	metadata := kept.(*metadata)
	r := &Reader{Params: metadata.params, elements: elements}
	for _, number := range metadata.partitions {
		r.partitions = append(r.partitions, &partition{files: files, number: number, elements: elements, tokenFormat: metadata.tokenFormat, coding: metadata.coding})
	}
	if err := r.each(ctx, func(ctx context.Context, p *partition, _ int) error { return p.open(ctx) }); err != nil {
		return nil, err
	}
	return r, r.check(ctx, files)
}

// maxOpenedAhead is the number of files up to which all of a segment are opened together.
const maxOpenedAhead = 64

// openAhead opens the files that the table lists for a segment, side by side, because the names of most
// are only known when the first has been read. An error comes again when the file is used.
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

// check sees to it that no row, or no element of a list, has several documents. A list had one for each of
// its elements in indices of early versions. In a table with stable row ids native Lance leaves the earlier
// document of an updated row in a segment when it adds the new one.
func (r *Reader) check(ctx context.Context, files index.Files) error {
	_, err := files.Keep(metadataFile+" checked", func() (any, int64, error) {
		count, _ := r.Documents()
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

// checkElements does what check does for documents that are elements of lists.
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

// each calls f for all partitions, some side by side.
func (r *Reader) each(ctx context.Context, f func(ctx context.Context, p *partition, i int) error) error {
	return lance.Each(ctx, len(r.partitions), maxReads, func(ctx context.Context, i int) (err error) {
		defer index.Contain(&err)
		return f(ctx, r.partitions[i], i)
	})
}

// Partitions returns how many partitions the segment has.
func (r *Reader) Partitions() int { return len(r.partitions) }

// Documents returns how many documents the segment has, and how many terms all of them together.
func (r *Reader) Documents() (count, length int64) {
	for _, p := range r.partitions {
		count += int64(len(p.documents.rows))
		length += p.documents.total
	}
	return count, length
}

// Holding returns how many documents have a term, on average, if each has it once.
func (r *Reader) Holding() (documents int64) {
	for _, p := range r.partitions {
		documents += p.documents.total / max(p.postings.rows(), 1)
	}
	return documents
}

// lengthStep is how many documents Lengths passes on at a time.
const lengthStep = 1 << 12

// Lengths calls yield with what the segment stores of the rows of its documents, and with how long
// these are, some at a time. The caller may change rows; both are good until yield returns.
func (r *Reader) Lengths(ctx context.Context, yield func(rows []uint64, lengths []uint32) error) error {
	rows := make([]uint64, lengthStep)
	for _, p := range r.partitions {
		d := p.documents
		for from := 0; from < len(d.rows); from += lengthStep {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			to := min(from+lengthStep, len(d.rows))
			if err := yield(rows[:copy(rows, d.rows[from:to])], d.lengths[from:to]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Terms calls yield with each term of each partition. term is good until yield returns.
func (r *Reader) Terms(ctx context.Context, yield func(term []byte) error) error {
	for _, p := range r.partitions {
		if err := p.terms.each(ctx, yield); err != nil {
			return fmt.Errorf("%s: %w", p.name("tokens"), err)
		}
	}
	return nil
}

// ParamsOf returns how texts become terms in a segment. A segment without the file that describes it,
// as early versions wrote, is objectstore.ErrNotExist.
func ParamsOf(ctx context.Context, files index.Files) (fulltext.Params, error) {
	m, err := readMetadata(ctx, files)
	if err != nil {
		return fulltext.Params{}, fmt.Errorf("%s: %w", metadataFile, err)
	}
	return fulltext.ParseParams([]byte(m.params))
}

// metadata is what the describing file says.
type metadata struct {
	partitions  []uint64
	params      string
	tokenFormat string
	coding      coding
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

func parseMetadata(words map[string]string) (*metadata, error) {
	m := &metadata{params: words["params"], tokenFormat: words["token_set_format"]}
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
