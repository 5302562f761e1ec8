// Package textsearch finds the rows of a table that contain words, or the elements of lists that do.
//
// Rows in fragments that have text indices on all searched columns are found by posting lists ([inverted]). The texts of
// other rows are read, and their words counted. All are scored together (package fulltext), with the counts of documents
// of the indices, so that a score does not depend on which rows an index covers.
package textsearch

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/document"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/fulltext/textcolumn"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// A Search finds the documents that contain words.
type Search struct {
	dataset  *dataset.Dataset
	search   *fulltext.Search
	columns  []string                // the searched columns, in the order of the search
	texts    []textcolumn.Column     // the same columns, for reading
	reads    []string                // the names of the columns in scans
	elements bool                    // documents are list elements
	coverage []coverage              // per column; nil when no index covers any fragment
	among    condition.Rows          // rows to search
	fast     bool                    // read only texts that an index covers
	lists    *lists                  // finds rows in fragments that it covers; nil: all texts are read
	part     *Part                   // what a part searches; nil: all
	budget   int64                   // maximum bytes of counts to keep
	made     func(arrow.RecordBatch) // called with each batch of texts

	elsewhere *Elsewhere // nil: nothing is searched elsewhere
	work      *Work      // to be searched elsewhere; nil: the posting lists are read here
}

// coverage reports whether an index covers a fragment.
type coverage func(fragment uint64) bool

// maxKeptCounts bounds the memory for the counts of candidate rows. Beyond it, all texts are read a
// second time to score the rows.
const maxKeptCounts = 128 << 20

// vocabularyStep is the amount of memory that a vocabulary takes at a time.
const vocabularyStep = 64 << 10

// Options are those of a search.
type Options struct {
	Among    condition.Rows          // the rows to search
	Elements bool                    // documents are list elements
	Indexed  bool                    // read posting lists, which at least one column must have
	Fast     bool                    // find only rows that an index covers
	Made     func(arrow.RecordBatch) // is called with each batch of texts that was read
	// Part restricts the search to some partitions of an index on the only column. It then reads no texts. Nil: all.
	Part *Part
	// Elsewhere may search the index on the only column. Nil: it is searched here.
	Elsewhere *Elsewhere
}

// New prepares a search.
func New(ctx context.Context, d *dataset.Dataset, query fulltext.Query, o Options) (*Search, error) {
	all, err := IndexesOf(d)
	if err != nil {
		return nil, err
	}
	indices := all.of(o.Elements)
	s := &Search{dataset: d, elements: o.Elements, among: o.Among, fast: o.Fast, made: o.Made, budget: maxKeptCounts}
	s.part, s.elsewhere = o.Part, o.Elsewhere
	opened := fulltext.Columns(query)
	if o.Indexed {
		if s.lists, err = openLists(ctx, d, opened, indices, o); err != nil {
			return nil, err
		}
	}
	s.search, err = fulltext.NewSearch(query, func(column string) (fulltext.Field, error) {
		field, err := fieldOf(ctx, d, column, indices)
		field.Elements = o.Elements
		return field, err
	})
	if err != nil {
		return nil, err
	}
	s.columns = s.search.Columns()
	for i, column := range s.columns {
		text, err := document.Of(d, column)
		if err != nil {
			return nil, err
		}
		s.texts, s.reads = append(s.texts, text), append(s.reads, text.Read)
		if x := indices[column]; coversAny(d, x) {
			s.cover(i, x.Covers)
		}
	}
	if o.Indexed {
		s.lists.use(s.search, opened)
	}
	return s, nil
}

// cover sets the index coverage of a column.
func (s *Search) cover(column int, covers coverage) {
	if s.coverage == nil {
		s.coverage = make([]coverage, len(s.columns))
	}
	s.coverage[column] = covers
}

// covered reports whether the index on a column covers a fragment.
func (s *Search) covered(column int, fragment uint64) bool {
	return s.coverage != nil && s.coverage[column] != nil && s.coverage[column](fragment)
}

func (s *Search) anyCovered(fragment uint64) bool {
	for i := range s.columns {
		if s.covered(i, fragment) {
			return true
		}
	}
	return false
}

// A textBatch holds the documents of a batch of rows.
type textBatch struct {
	addresses []uint64
	texts     []textcolumn.Reader
	lists     []textcolumn.Lists // used instead of texts if documents are list elements
	found     []bool             // whether a row matches the filter; nil: all rows match
}

// scanned returns the columns to read: the texts, the addresses, and the columns of a filter. left
// is the filter if the scan applies it. own is the filter if the search applies it, because it must
// count all rows.
func (s *Search) scanned() (columns []string, left *snapshot.Where, own *snapshot.Where) {
	columns = append(slices.Clone(s.reads), snapshot.RowAddr)
	if s.among.Filter.Where == nil {
		return columns, nil, nil
	}
	if !s.search.Unfiltered() {
		return columns, s.among.Filter.Where, nil
	}
	return append(columns, s.among.Filter.Columns...), nil, s.among.Filter.Where
}

// batch returns the documents of a batch, with the result of a filter.
func (s *Search) batch(ctx context.Context, batch arrow.RecordBatch, filter *snapshot.Where) (*textBatch, error) {
	s.made(batch)
	n := len(s.columns)
	b := &textBatch{addresses: batch.Column(n).(*array.Uint64).Uint64Values()}
	for i, text := range s.texts {
		if s.elements {
			if text.Lists() == 0 {
				return nil, protocol.Errorf(protocol.InvalidInput, "column %s is of %s; only the elements of lists can be documents", text.Name, batch.Column(i).DataType())
			}
			lists, err := text.Elements(batch.Column(i))
			if err != nil {
				return nil, err
			}
			b.lists = append(b.lists, lists)
			continue
		}
		reader, err := text.Reader(ctx, batch.Column(i))
		if err != nil {
			return nil, err
		}
		b.texts = append(b.texts, reader)
	}
	if filter == nil {
		return b, nil
	}
	// The columns of the filter follow the texts and the addresses.
	tested := array.NewRecordBatch(
		arrow.NewSchema(batch.Schema().Fields()[n+1:], nil), batch.Columns()[n+1:], batch.NumRows())
	rows, err := filter.Select(ctx, tested, nil)
	if err != nil {
		return nil, err
	}
	b.found = make([]bool, batch.NumRows())
	for _, r := range rows {
		b.found[r] = s.among.Only == nil || s.among.Only(b.addresses[r]>>32)
	}
	return b, nil
}

// lookBytes is the approximate number of bytes of texts between two checks of the context. A few texts of a dictionary can
// be repeated in many rows.
const lookBytes = 1 << 20

// eachDocument calls f with the documents of each row, one per column. element is the position in
// the list if documents are list elements.
func (s *Search) eachDocument(ctx context.Context, b *textBatch, f func(row int, element uint32, documents []fulltext.Document) error) error {
	documents := make([]fulltext.Document, len(s.columns))
	fragment, read := uint64(0), 0
	for row, address := range b.addresses {
		// Rows are in the order of fragments, so the coverage changes rarely.
		if row == 0 || address>>32 != fragment {
			fragment = address >> 32
			for i := range documents {
				documents[i].Covered = s.covered(i, fragment)
			}
		}
		for element := range b.elements(row) {
			for i := range documents {
				documents[i].Text, documents[i].Null = b.text(i, row, element)
				// A fast search ignores documents outside of the index.
				if s.fast && !documents[i].Covered {
					documents[i].Null = true
				}
				read += len(documents[i].Text)
			}
			if read > lookBytes {
				if err := ctx.Err(); err != nil {
					return err
				}
				read = 0
			}
			if err := f(row, uint32(element), documents); err != nil {
				return err
			}
		}
	}
	return nil
}

// elements returns the number of documents that a row has in each column.
func (b *textBatch) elements(row int) int {
	if b.lists == nil {
		return 1
	}
	return b.lists[0].Len(row) // all columns have the same
}

// text returns a document of a row.
func (b *textBatch) text(column, row, element int) (text string, null bool) {
	if b.lists == nil {
		return b.texts[column](row)
	}
	return b.lists[column].Text(row, element), false
}

// counts holds the word counts of all rows.
type counts struct {
	total    *fulltext.Tally
	rows     []*fulltext.Tally // of candidate rows
	room     memory.Spare      // memory of rows
	known    memory.Hold       // memory of the words in tallies
	overflow bool              // the counts of the rows exceeded the budget
}

func (c *counts) release() {
	c.room.Release()
	c.known.Release()
}

// count counts the words of all texts: of the candidate rows, and of other rows that contribute to
// the statistics of an index. The caller releases the counts.
func (s *Search) count(ctx context.Context) (*counts, error) {
	c := &counts{total: s.search.NewTally(), room: memory.NewSpare(memory.FromContext(ctx))}
	defer c.total.Done()
	kept, full := int64(0), atomic.Bool{}
	parts, err := s.tallies(ctx, func() bool { return !full.Load() })
	if err != nil {
		return c, err
	}
	for part, err := range parts {
		if err == nil {
			err = c.known.Resize(ctx, s.search.KnownBytes())
		}
		if err != nil {
			return c, err
		}
		c.total.Merge(part)
		if len(part.Addresses) == 0 || c.overflow {
			continue
		}
		// Beyond the budget, rows are counted a second time when they are scored.
		if kept += part.Bytes(); kept > s.budget || !c.room.Take(part.Bytes()) {
			c.overflow, c.rows = true, nil
			full.Store(true)
			c.room.Release()
			continue
		}
		c.rows = append(c.rows, part)
	}
	return c, s.countDeleted(ctx, c.total)
}

// tallies counts the texts of rows that are not deleted. It calls keep for each batch; keep reports
// whether to keep the counts of single rows.
func (s *Search) tallies(ctx context.Context, keep func() bool) (iter.Seq2[*fulltext.Tally, error], error) {
	columns, left, own := s.scanned()
	opts := snapshot.ScanOptions{Columns: columns, Where: left}
	if s.fast {
		opts.Only = s.anyCovered
	}
	if s.lists != nil {
		opts.Only = condition.InBoth(opts.Only, func(fragment uint64) bool { return !s.lists.covers(fragment) })
	}
	if left != nil {
		opts.Only = condition.InBoth(opts.Only, s.among.Only)
	}
	return snapshot.Map(ctx, s.dataset.Snapshot, opts, func(ctx context.Context, batch arrow.RecordBatch) (*fulltext.Tally, error) {
		b, err := s.batch(ctx, batch, own)
		if err != nil {
			return nil, err
		}
		room, err := memory.Take(ctx, s.search.TallyBytes())
		if err != nil {
			return nil, err
		}
		tally, kept := s.search.NewTally(), keep()
		defer tally.Done()
		return tally, s.eachDocument(ctx, b, func(row int, element uint32, documents []fulltext.Document) error {
			if bytes := tally.Bytes() + s.search.TallyBytes(); kept && bytes > room.Bytes() {
				if err := room.Resize(ctx, 2*bytes); err != nil { // the slice grows by doubling
					return err
				}
			}
			return tally.AddElement(b.addresses[row], element, documents, b.found == nil || b.found[row], kept)
		})
	})
}

// countDeleted counts the deleted rows in indexed fragments. The index contains them until it is
// rebuilt.
func (s *Search) countDeleted(ctx context.Context, total *fulltext.Tally) error {
	if s.coverage == nil || s.lists != nil {
		return nil
	}
	columns := append(slices.Clone(s.reads), snapshot.RowAddr)
	parts, err := snapshot.MapDeleted(ctx, s.dataset.Snapshot, columns, s.anyCovered, func(ctx context.Context, batch arrow.RecordBatch) (*fulltext.Tally, error) {
		b, err := s.batch(ctx, batch, nil)
		if err != nil {
			return nil, err
		}
		tally := s.search.NewTally()
		defer tally.Done()
		return tally, s.eachDocument(ctx, b, func(row int, element uint32, documents []fulltext.Document) error {
			s.forget(documents)
			return tally.AddElement(b.addresses[row], element, documents, false, false)
		})
	})
	if err != nil {
		return err
	}
	for part, err := range parts {
		if err != nil {
			return err
		}
		total.Merge(part)
	}
	return nil
}

// forget empties the documents of a deleted row that are not in an index.
func (s *Search) forget(documents []fulltext.Document) {
	for i := range documents {
		if !documents[i].Covered {
			documents[i].Null = true
		}
	}
}

// scoreAgain counts all texts a second time, and scores each row at once, which needs no memory for
// counts.
func (s *Search) scoreAgain(ctx context.Context, scorer *fulltext.Scorer, top *vector.TopK) error {
	parts, err := s.tallies(ctx, func() bool { return true })
	if err != nil {
		return err
	}
	for part, err := range parts {
		if err != nil {
			return err
		}
		addScores(top, scorer, part)
	}
	return nil
}

// expand finds the indexed terms that are similar to the terms of a fuzzy query.
func (s *Search) expand(ctx context.Context) error {
	if s.lists != nil {
		return s.lists.expand(ctx)
	}
	if !s.search.Fuzzy() || s.coverage == nil {
		return nil
	}
	columns := append(slices.Clone(s.reads), snapshot.RowAddr)
	collect := func(ctx context.Context, batch arrow.RecordBatch) (*fulltext.Vocabulary, error) {
		b, err := s.batch(ctx, batch, nil)
		if err != nil {
			return nil, err
		}
		v, room := s.search.NewVocabulary(), memory.Hold{}
		defer v.Done()
		return v, s.eachDocument(ctx, b, func(_ int, _ uint32, documents []fulltext.Document) error {
			if bytes := v.Bytes(); bytes > room.Bytes() {
				if err := room.Resize(ctx, bytes+vocabularyStep); err != nil {
					return err
				}
			}
			return v.Add(documents)
		})
	}
	// The vocabulary of an index includes deleted rows.
	live, err := snapshot.Map(ctx, s.dataset.Snapshot, snapshot.ScanOptions{Columns: columns, Only: s.anyCovered}, collect)
	if err != nil {
		return err
	}
	deleted, err := snapshot.MapDeleted(ctx, s.dataset.Snapshot, columns, s.anyCovered, collect)
	if err != nil {
		return err
	}
	all, room := s.search.NewVocabulary(), memory.Hold{}
	defer func() { room.Release() }()
	for _, parts := range []iter.Seq2[*fulltext.Vocabulary, error]{live, deleted} {
		for part, err := range parts {
			if err != nil {
				return err
			}
			all.Merge(part)
			if err := room.Resize(ctx, all.Bytes()); err != nil {
				return err
			}
		}
	}
	return s.search.Expand(all)
}
