package engine

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
	"tiltyard/shared/vector"
)

// A textScan reads the texts of a table for a search.
type textScan struct {
	dataset  *dataset.Dataset
	search   *fulltext.Search
	columns  []string                // that are searched, as the search has them
	texts    []textColumn            // the same
	coverage []coverage              // the same; nil when no index covers anything
	filter   *dataset.Where          // of rows that may be found; nil is all
	only     func(uint64) bool       // of fragments with such rows; nil is all; goes with a filter
	fast     bool                    // only texts that an index covers are looked at
	budget   int64                   // bytes of counts to keep
	made     func(arrow.RecordBatch) // is told of each batch that was read
}

// coverage says which fragments an index covers.
type coverage func(fragment uint64) bool

// maxKeptCounts bounds the memory for the counts of rows that may be found. When there
// are more, all texts are read a second time to score them.
const maxKeptCounts = 128 << 20

// vocabularyStep is for how much a vocabulary takes memory beforehand.
const vocabularyStep = 64 << 10

func newTextScan(ctx context.Context, d *dataset.Dataset, query fulltext.Query) (*textScan, error) {
	indices, err := textIndices(d)
	if err != nil {
		return nil, err
	}
	s := &textScan{dataset: d, budget: maxKeptCounts, made: func(arrow.RecordBatch) {}}
	s.search, err = fulltext.NewSearch(query, func(column string) (fulltext.Field, error) {
		return textField(ctx, d, column, indices)
	})
	if err != nil {
		return nil, err
	}
	s.columns = s.search.Columns()
	for i, column := range s.columns {
		text, err := newTextColumn(d, column)
		if err != nil {
			return nil, err
		}
		s.texts = append(s.texts, text)
		if x := indices[column]; coversAny(d, x) {
			s.cover(i, x.Covers)
		}
	}
	return s, nil
}

func (s *textScan) cover(column int, covers coverage) {
	if s.coverage == nil {
		s.coverage = make([]coverage, len(s.columns))
	}
	s.coverage[column] = covers
}

// covered says whether the index on a column covers a fragment.
func (s *textScan) covered(column int, fragment uint64) bool {
	return s.coverage != nil && s.coverage[column] != nil && s.coverage[column](fragment)
}

func (s *textScan) anyCovered(fragment uint64) bool {
	for i := range s.columns {
		if s.covered(i, fragment) {
			return true
		}
	}
	return false
}

// textBatch are the rows of a batch as the search wants them.
type textBatch struct {
	addresses []uint64
	texts     []textReader
	found     []bool // that the filter passes; nil is all
}

// scanned are the columns to be read: texts, addresses, and those of a filter that is not
// left to the scan.
func (s *textScan) scanned() (columns []string, left *dataset.Where, own *dataset.Where) {
	columns = append(slices.Clone(s.columns), dataset.RowAddr)
	if s.filter == nil {
		return columns, nil, nil
	}
	if !s.search.Unfiltered() {
		return columns, s.filter, nil
	}
	return append(columns, s.filter.Columns...), nil, s.filter
}

func (s *textScan) batch(ctx context.Context, batch arrow.RecordBatch, filter *dataset.Where) (*textBatch, error) {
	s.made(batch)
	n := len(s.columns)
	b := &textBatch{addresses: batch.Column(n).(*array.Uint64).Uint64Values()}
	for i, text := range s.texts {
		reader, err := text.reader(ctx, batch.Column(i))
		if err != nil {
			return nil, err
		}
		b.texts = append(b.texts, reader)
	}
	if filter == nil {
		return b, nil
	}
	tested := array.NewRecordBatch(
		arrow.NewSchema(batch.Schema().Fields()[n+1:], nil), batch.Columns()[n+1:], batch.NumRows())
	rows, err := filter.Select(ctx, tested, nil)
	if err != nil {
		return nil, err
	}
	b.found = make([]bool, batch.NumRows())
	for _, r := range rows {
		b.found[r] = s.only == nil || s.only(b.addresses[r]>>32)
	}
	return b, nil
}

// eachRow calls f with the documents of each row.
func (s *textScan) eachRow(b *textBatch, f func(row int, documents []fulltext.Document) error) error {
	documents := make([]fulltext.Document, len(s.columns))
	fragment := uint64(0)
	for row, address := range b.addresses {
		if row == 0 || address>>32 != fragment {
			fragment = address >> 32
			for i := range documents {
				documents[i].Covered = s.covered(i, fragment)
			}
		}
		for i, text := range b.texts {
			documents[i].Text, documents[i].Null = text(row)
			if s.fast && !documents[i].Covered {
				documents[i].Null = true
			}
		}
		if err := f(row, documents); err != nil {
			return err
		}
	}
	return nil
}

// counts are what was counted of all rows.
type counts struct {
	total    *fulltext.Tally
	rows     []*fulltext.Tally // with the counts of rows that may be found
	room     spare             // of rows
	known    memory.Hold       // of the words that tallies remember
	overflow bool              // the rows were too many to keep
}

func (c *counts) release() {
	c.room.release()
	c.known.Release()
}

// count counts all texts: of the rows that may be found, and of those that the index
// knows besides. The caller releases the counts.
func (s *textScan) count(ctx context.Context) (*counts, error) {
	c := &counts{total: s.search.NewTally(), room: spare{share: memory.FromContext(ctx)}}
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
		if kept += part.Bytes(); kept > s.budget || !c.room.take(part.Bytes()) {
			c.overflow, c.rows = true, nil
			full.Store(true)
			c.room.release()
			continue
		}
		c.rows = append(c.rows, part)
	}
	return c, s.countDeleted(ctx, c.total)
}

// tallies reads the rows that are not deleted, and counts their texts. keep is asked for
// each batch whether the counts of its rows are to be kept.
func (s *textScan) tallies(ctx context.Context, keep func() bool) (iter.Seq2[*fulltext.Tally, error], error) {
	columns, left, own := s.scanned()
	opts := dataset.ScanOptions{Columns: columns, Where: left}
	if s.fast {
		opts.Only = s.anyCovered
	}
	if left != nil {
		opts.Only = inBoth(opts.Only, s.only)
	}
	return dataset.Map(ctx, s.dataset, opts, func(ctx context.Context, batch arrow.RecordBatch) (*fulltext.Tally, error) {
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
		return tally, s.eachRow(b, func(row int, documents []fulltext.Document) error {
			if bytes := tally.Bytes() + s.search.TallyBytes(); kept && bytes > room.Bytes() {
				if err := room.Resize(ctx, 2*bytes); err != nil { // it grows by doubling
					return err
				}
			}
			return tally.Add(b.addresses[row], documents, b.found == nil || b.found[row], kept)
		})
	})
}

// countDeleted counts the deleted rows of the fragments that an index covers: it knows
// them until it is made anew.
func (s *textScan) countDeleted(ctx context.Context, total *fulltext.Tally) error {
	if s.coverage == nil {
		return nil
	}
	columns := append(slices.Clone(s.columns), dataset.RowAddr)
	parts, err := dataset.MapDeleted(ctx, s.dataset, columns, s.anyCovered, func(ctx context.Context, batch arrow.RecordBatch) (*fulltext.Tally, error) {
		b, err := s.batch(ctx, batch, nil)
		if err != nil {
			return nil, err
		}
		tally := s.search.NewTally()
		defer tally.Done()
		return tally, s.eachRow(b, func(row int, documents []fulltext.Document) error {
			s.forget(documents)
			return tally.Add(b.addresses[row], documents, false, false)
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

// forget empties the documents of a deleted row that no index knows.
func (s *textScan) forget(documents []fulltext.Document) {
	for i := range documents {
		if !documents[i].Covered {
			documents[i].Null = true
		}
	}
}

// scoreAgain counts all texts once more, to score the rows at once.
func (s *textScan) scoreAgain(ctx context.Context, scorer *fulltext.Scorer, top *vector.TopK) error {
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

// expand finds the words in the indexed texts that are like those of the query, if it
// looks for such.
func (s *textScan) expand(ctx context.Context) error {
	if !s.search.Fuzzy() || s.coverage == nil {
		return nil
	}
	columns := append(slices.Clone(s.columns), dataset.RowAddr)
	collect := func(ctx context.Context, batch arrow.RecordBatch) (*fulltext.Vocabulary, error) {
		b, err := s.batch(ctx, batch, nil)
		if err != nil {
			return nil, err
		}
		v, room := s.search.NewVocabulary(), memory.Hold{}
		defer v.Done()
		return v, s.eachRow(b, func(_ int, documents []fulltext.Document) error {
			if bytes := v.Bytes(); bytes > room.Bytes() {
				if err := room.Resize(ctx, bytes+vocabularyStep); err != nil {
					return err
				}
			}
			return v.Add(documents)
		})
	}
	live, err := dataset.Map(ctx, s.dataset, dataset.ScanOptions{Columns: columns, Only: s.anyCovered}, collect)
	if err != nil {
		return err
	}
	deleted, err := dataset.MapDeleted(ctx, s.dataset, columns, s.anyCovered, collect)
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
