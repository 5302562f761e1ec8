package inverted

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tiltyard/shared/process/memory"
)

// A Bound is the scoring model of a search with its minimal score. A document scores, for each term, the
// weight of the term times the BM25 factor of its frequency and of the length of the document. That factor
// is at most 1 if the weight includes k1 + 1.
type Bound struct {
	Weights       []float32 // by term
	AverageLength float32   // of documents
	// Required are sets of term numbers. A document matches only if it has a term of each set.
	Required [][]int
	// Least returns the minimal score, which may rise during the search.
	Least func() float32
}

// slack is more than the part of a score that rounding changes.
const slack = 1 + 1e-4

// most returns the maximal score that a document can reach for a term, given an entry of its impacts.
func (b *Bound) most(entry []byte, term int) (float64, error) {
	of, best := corpus{average: b.AverageLength}, float32(0)
	err := decodeImpacts(entry, func(i impact) { best = max(best, of.score(i.frequency, i.length)) })
	return slack * float64(best) * float64(b.Weights[term]), err
}

// decodeImpacts calls yield with the impacts of an entry, by rising frequency. A length is the least that has its code.
func decodeImpacts(entry []byte, yield func(impact)) error {
	r, i, length := &reader{data: entry}, impact{}, byte(0)
	r.varint() // the last document
	for n := r.varint(); n > 0 && r.err == nil; n-- {
		head := r.varint()
		i.frequency += head>>1 + 1
		if head&1 == 1 {
			length += r.byte()
		} else {
			length++
		}
		i.length = decodeLength(length)
		yield(i)
	}
	return r.err
}

// score returns an upper bound of the score of a document, close to it.
func (b *Bound) score(d *Document) float64 {
	of, sum := corpus{average: b.AverageLength}, float32(0)
	for term, n := range d.Frequencies {
		if n > 0 {
			sum += b.Weights[term] * of.score(n, d.Length)
		}
	}
	return slack * float64(sum)
}

// decodeLength returns the least length that is encoded as the byte.
func decodeLength(code byte) uint32 {
	if code < 8 {
		return uint32(code)
	}
	return uint32(8|code&7) << (code>>3 - 1)
}

// EachAbove calls yield like Each, but skips documents that lack a required term or score too little for
// the bound. It tests the impacts of a block before it decodes the block.
//
// Without required terms it works in windows within which no essential list begins another block. A list is
// essential if a document needs one of the essential lists to score enough. In a window the same holds for
// blocks: it enumerates the documents of essential blocks, and looks up the other lists only for documents
// that can still score enough. This is MaxScore with block maxima (Turtle, Flood: Query Evaluation, 1995;
// Mallia et al.: Faster BlockMax WAND with Variable-sized Blocks, 2017).
func (m *Matches) EachAbove(ctx context.Context, b Bound, yield func(*Document) error) error {
	room := memory.Hold{}
	defer func() { room.Release() }()
	cursors, err := m.cursors(ctx, &room)
	if err != nil {
		return m.wrong(err)
	}
	for _, c := range cursors {
		if err := c.bind(&b); err != nil {
			return m.wrong(err)
		}
	}
	s := &above{matches: m, bound: &b, cursors: cursors, leading: cursors, yield: yield, document: *m.document(), measure: newMeasure(m.partition)}
	defer s.measure.pages.held.Release()
	if len(b.Required) > 0 {
		return s.searchAll(ctx)
	}
	for s.enough = float64(b.Least()); math.IsInf(s.enough, -1); s.enough = float64(b.Least()) {
		at := least(cursors)
		if at == ended {
			return nil
		}
		if err := s.found(ctx, at); err != nil {
			return err
		}
	}
	for from := least(cursors); from < ended; from = s.until {
		if err := s.enter(from); err != nil {
			return m.wrong(err)
		}
		if err := s.search(ctx, from); err != nil {
			return err
		}
	}
	return nil
}

// above is a search for documents that score enough, in the window at hand.
type above struct {
	matches  *Matches
	bound    *Bound
	yield    func(*Document) error
	cursors  []*cursor
	document Document
	enough   float64   // the minimal score that the bound returned last
	leading  []*cursor // of lists, at least one of which has each document that scores enough
	measure  measure
	steps    int

	until  int64     // the first document after the window
	needed []*cursor // a document without any of these scores less than enough
	others []*cursor
	beside float64 // the maximal score that the other lists add in this window
}

// found yields the document at which all its cursors stand, and advances these cursors.
func (s *above) found(ctx context.Context, at int64) error {
	if s.steps++; s.steps%contextSteps == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	if err := s.matches.load(ctx, &s.document, at, s.cursors, &s.measure, s.upcoming()); err != nil {
		return s.matches.wrong(err)
	}
	if s.bound.score(&s.document) < s.enough {
		return nil
	}
	return s.yield(&s.document)
}

// upcoming returns the documents that the search will look at.
func (s *above) upcoming() *upcoming {
	return &upcoming{cursors: s.leading, all: s.cursors, enough: s.enough}
}

// enter begins the window at a document and selects its essential cursors. There are none if no document of
// the window can score enough.
func (s *above) enter(from int64) error {
	slices.SortFunc(s.cursors, func(a, b *cursor) int { return cmp.Compare(a.bound.most, b.bound.most) })
	sum, first := 0.0, 0
	for ; first < len(s.cursors) && sum+s.cursors[first].bound.most < s.enough; first++ {
		c := s.cursors[first]
		sum, c.bound.inWindow = sum+c.bound.most, c.bound.most
	}
	s.until = ended
	for _, c := range s.cursors[first:] {
		most, end, err := c.ahead(from)
		if err != nil {
			return err
		}
		c.bound.inWindow, s.until = most, min(s.until, end)
	}
	slices.SortFunc(s.cursors, func(a, b *cursor) int { return cmp.Compare(a.bound.inWindow, b.bound.inWindow) })
	s.beside, first = 0, 0
	for ; first < len(s.cursors) && s.beside+s.cursors[first].bound.inWindow < s.enough; first++ {
		s.beside += s.cursors[first].bound.inWindow
	}
	s.others, s.needed = s.cursors[:first], s.cursors[first:]
	s.leading = s.needed
	return nil
}

// search yields the documents of the window that score enough.
func (s *above) search(ctx context.Context, from int64) error {
	for _, c := range s.needed {
		if err := c.seek(from); err != nil {
			return s.matches.wrong(err)
		}
	}
	for at := least(s.needed); at < s.until; at = least(s.needed) {
		if s.steps++; s.steps%contextSteps == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(s.needed) == 1 {
			moved, err := s.pass(ctx, s.needed[0])
			if err != nil {
				return s.matches.wrong(err)
			}
			if moved {
				continue
			}
		}
		enough, err := s.scoresEnough(ctx, at)
		if err != nil {
			return s.matches.wrong(err)
		}
		if enough {
			if err := s.found(ctx, at); err != nil {
				return err
			}
			s.enough = float64(s.bound.Least())
			continue
		}
		for _, c := range s.needed {
			if c.document != at {
				continue
			}
			if err := c.next(); err != nil {
				return s.matches.wrong(err)
			}
		}
	}
	return nil
}

// pass moves the only essential cursor past the documents of its block that score too little even with the
// maximum of the other lists. It reports whether the cursor moved.
//
// A document scores weight · f/(f + norm), with a norm that grows with its length. That is at least y ·
// weight if f is at least norm · y/(1-y), a test without a division per document.
func (s *above) pass(ctx context.Context, c *cursor) (moved bool, err error) {
	if err := c.decode(); err != nil {
		return false, err
	}
	y := (s.enough - s.beside) / (slack * slack * float64(s.bound.Weights[c.term]))
	if !(y > 0) {
		return false, nil
	}
	factor := math.Inf(1) // no document scores enough
	if y < 1 {
		factor = y / (1 - y)
	}
	alone := float32(factor * float64(saturation*(1-shortness)))
	each := float32(factor * float64(saturation*shortness/s.bound.AverageLength))
	if s.matches.partition.documents.paged {
		return s.passPaged(ctx, c, alone, each)
	}
	lengths, documents, frequencies := s.matches.partition.documents.lengths, c.block.documents, c.block.frequencies
	at := c.at
	for at < len(documents) && int64(documents[at]) < s.until {
		if int(documents[at]) >= len(lengths) || float32(frequencies[at]) >= alone+each*float32(lengths[documents[at]]) {
			break
		}
		at++
	}
	return c.passTo(at)
}

// passPaged is pass for documents whose lengths are paged. It reads a length only if the document would score enough
// with the shortest length that the impacts permit.
func (s *above) passPaged(ctx context.Context, c *cursor, alone, each float32) (moved bool, err error) {
	documents, frequencies, at := c.block.documents, c.block.frequencies, c.at
	for ; at < len(documents) && int64(documents[at]) < s.until; at++ {
		length, known, err := s.measure.known(ctx, int64(documents[at]))
		if err != nil {
			return false, err
		}
		if !known {
			most, err := c.most(frequencies[at])
			if err != nil {
				return false, err
			}
			if s.beside+most < s.enough {
				continue
			}
			if length, err = s.measure.length(ctx, int64(documents[at]), s.upcoming()); err != nil {
				return false, err
			}
		}
		if float32(frequencies[at]) >= alone+each*float32(length) {
			break
		}
	}
	return c.passTo(at)
}

// passTo moves on to a document of the block, or to the end of the block. It reports whether that is a move.
func (c *cursor) passTo(at int) (moved bool, err error) {
	if at == c.at {
		return false, nil
	}
	c.at = at - 1 // next moves on to the document found
	return true, c.next()
}

// length returns the length of a document, of which some cursors at it and others add at most beside to the score. It
// returns false, and reads nothing, if the document cannot score enough.
func (s *above) length(ctx context.Context, at int64, cursors []*cursor, beside float64) (length uint32, could bool, err error) {
	length, known, err := s.measure.known(ctx, at)
	if known || err != nil {
		return length, true, err
	}
	most := beside
	for _, c := range cursors {
		if c.document != at {
			continue
		}
		if err := c.decode(); err != nil {
			return 0, false, err
		}
		alone, err := c.most(c.block.frequencies[c.at])
		if err != nil {
			return 0, false, err
		}
		most += alone
	}
	if most < s.enough {
		return 0, false, nil
	}
	length, err = s.measure.length(ctx, at, s.upcoming())
	return length, true, err
}

// scoresEnough reports whether the document of an essential cursor scores enough. If so, it has moved all
// cursors of the document to it.
func (s *above) scoresEnough(ctx context.Context, at int64) (bool, error) {
	length, could, err := s.length(ctx, at, s.needed, s.beside)
	if err != nil || !could {
		return false, err
	}
	score := s.beside
	for _, c := range s.needed {
		if c.document == at {
			exact, err := c.score(length)
			if err != nil {
				return false, err
			}
			score += exact
		}
	}
	for i := len(s.others) - 1; i >= 0 && score >= s.enough; i-- {
		c := s.others[i]
		score -= c.bound.inWindow
		if c.document < at {
			most, _, err := c.ahead(at)
			if err != nil || score+most < s.enough {
				return false, err
			}
			if err := c.seek(at); err != nil {
				return false, err
			}
		}
		if c.document == at {
			exact, err := c.score(length)
			if err != nil {
				return false, err
			}
			score += exact
		}
	}
	return score >= s.enough, nil
}

// score returns an upper bound of the current document's score for the cursor's term, close to it.
func (c *cursor) score(length uint32) (float64, error) {
	if err := c.decode(); err != nil {
		return 0, err
	}
	b := c.bound.of
	return slack * float64(b.Weights[c.term]*corpus{average: b.AverageLength}.score(c.block.frequencies[c.at], length)), nil
}
