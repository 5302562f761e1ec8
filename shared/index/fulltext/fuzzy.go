package fulltext

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// fuzzyLeaf is a match whose terms come from the vocabulary of the index: the terms similar to those of the
// query.
type fuzzyLeaf struct {
	leaf      *matchLeaf
	positions []int        // of the words of the query, ascending
	words     []int        // by position: the number of its word
	like      [][]likeness // accepted similarities, by word
	most      int          // terms in all
}

// fuzzy registers the terms of a match query for a search of the vocabulary.
func (s *Search) fuzzy(leaf *matchLeaf, q *Match) error {
	if q.MaxExpansions < 0 || q.MaxExpansions > maxExpansions {
		return invalid("max_expansions is %d; it must be from 0 to %d", q.MaxExpansions, maxExpansions)
	}
	if q.PrefixLength < 0 || q.Fuzziness > maxFuzziness {
		return invalid("fuzziness is %d and prefix_length %d", q.Fuzziness, q.PrefixLength)
	}
	terms, err := leaf.column.analyzer.fuzzyQuery(q.Terms)
	if err != nil {
		return invalid("column %s: %v", q.Column, err)
	}
	f := &fuzzyLeaf{leaf: leaf, most: q.MaxExpansions}
	number := map[string]int{}
	for from, to := 0, 0; from < len(terms); from = to {
		word := "" // the terms of a position
		for to = from; to < len(terms) && terms[to].Position == terms[from].Position; to++ {
			word += terms[to].Text + "\x00"
		}
		at, ok := number[word]
		if !ok {
			at = len(f.like)
			number[word] = at
			like := make([]likeness, 0, to-from)
			for _, t := range terms[from:to] {
				like = append(like, likenessOf(t.Text, leaf.column.analyzer.json, q))
			}
			f.like = append(f.like, like)
			s.likenesses += len(like)
		}
		f.positions, f.words = append(f.positions, terms[from].Position), append(f.words, at)
	}
	s.expansions += len(f.like) * q.MaxExpansions
	if s.likenesses > MaxFuzzyWords {
		return invalid("the query looks for words like more than %d different ones; search for some of them without fuzziness", MaxFuzzyWords)
	}
	if s.expansions > MaxFuzzyExpansions {
		return invalid("the fuzzy words of the query times their max_expansions are %d; they must be at most %d", s.expansions, MaxFuzzyExpansions)
	}
	s.fuzzies = append(s.fuzzies, f)
	return nil
}

// A likeness describes the terms that match a term of the query.
type likeness struct {
	prefix string // which they begin with
	shared int    // characters of the prefix
	suffix []rune // the remainder, compared with edits
	edits  int    // … by this number of insertions, deletions and substitutions
}

// likenessOf splits a term. Path and type of a term of JSON must match exactly.
func likenessOf(term string, json bool, q *Match) likeness {
	start := 0
	if json {
		first := strings.IndexByte(term, ',') + 1
		start = first + strings.IndexByte(term[first:], ',') + 1
	}
	for i := 0; i < q.PrefixLength && start < len(term); i++ {
		_, size := utf8.DecodeRuneInString(term[start:])
		start += size
	}
	return likeness{prefix: term[:start], shared: utf8.RuneCountInString(term[:start]), suffix: []rune(term[start:]), edits: q.Fuzziness}
}

// A comparison compares a term with the terms of a query, and reuses its buffers.
type comparison struct {
	term  string
	runes []rune
	row   []int
}

// of begins to compare another term.
func (c *comparison) of(term string) {
	c.term, c.runes = term, c.runes[:0]
	for _, r := range term {
		c.runes = append(c.runes, r)
	}
}

func (c *comparison) matches(l likeness) bool {
	return strings.HasPrefix(c.term, l.prefix) && c.within(l.suffix, c.runes[l.shared:], l.edits)
}

// within reports whether the edit distance of a and b is at most edits. It computes the rows of the
// distance matrix, but only near the diagonal: prefixes whose lengths differ by more cannot be within the
// limit.
func (c *comparison) within(a, b []rune, edits int) bool {
	if len(a)-len(b) > edits || len(b)-len(a) > edits {
		return false
	}
	c.row = c.row[:0]
	for j := range len(b) + 1 {
		c.row = append(c.row, j)
	}
	row := c.row // edit distance of a[:i] and b[:j]; more than the limit where it is not computed
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-edits), min(len(b), i+edits)
		diagonal := row[from-1]
		row[from-1] = edits + 1
		if from == 1 {
			row[0] = i
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j-1], row[j])
			}
			diagonal, row[j] = row[j], cost
			least = min(least, cost)
		}
		if least > edits {
			return false
		}
	}
	return row[len(b)] <= edits
}

// Fuzzy reports whether the search needs a [Vocabulary] before it can count.
func (s *Search) Fuzzy() bool { return len(s.fuzzies) > 0 }

// A Vocabulary collects the terms that match the words of fuzzy queries. It belongs to one goroutine.
type Vocabulary struct {
	search  *Search
	seen    []map[string]bool // words by column
	found   [][][]string      // by fuzzy leaf and word: terms, sorted, no more than can be used
	compare comparison

	seenBytes, foundBytes int64
}

// NewVocabulary returns an empty vocabulary.
func (s *Search) NewVocabulary() *Vocabulary {
	v := &Vocabulary{search: s, seen: make([]map[string]bool, len(s.columns)), found: make([][][]string, len(s.fuzzies))}
	for i, f := range s.fuzzies {
		v.found[i] = make([][]string, len(f.like))
	}
	for i := range v.seen {
		v.seen[i] = map[string]bool{}
	}
	return v
}

// Add collects terms of the documents of a row that the index covers.
func (v *Vocabulary) Add(documents []Document) error {
	for i, d := range documents {
		if !d.Covered || d.Null || !slices.ContainsFunc(v.search.fuzzies, func(f *fuzzyLeaf) bool { return f.leaf.column.number == i }) {
			continue
		}
		analyzer := v.search.columns[i].analyzer
		if analyzer.json {
			if err := analyzer.jsonTerms(d.Text, func(term string, _ int) { v.term(i, term) }); err != nil {
				return err
			}
			continue
		}
		analyzer.split(d.Text, func(word string, _ int) bool {
			if !v.seen[i][word] {
				v.word(i, word)
			}
			return true
		})
	}
	return nil
}

// word analyzes a word and tests its term, unless the word is in the cache. A full cache is emptied.
func (v *Vocabulary) word(column int, word string) {
	if len(v.seen[column]) >= maxKnown {
		v.seen[column] = map[string]bool{}
		v.seenBytes = 0
	}
	if len(word) <= maxKnownBytes {
		v.seen[column][strings.Clone(word)] = true
		v.seenBytes += wordBytes(word)
	}
	if term, ok := v.search.columns[column].analyzer.term(word); ok {
		v.term(column, term)
	}
}

// term adds a term to each fuzzy word that it is similar to.
func (v *Vocabulary) term(column int, term string) {
	v.compare.of(term)
	for i, f := range v.search.fuzzies {
		if f.leaf.column.number != column {
			continue
		}
		for word, like := range f.like {
			if slices.ContainsFunc(like, v.compare.matches) {
				v.keep(i, word, term)
			}
		}
	}
}

// keep inserts a term in order, and drops the last one beyond MaxExpansions.
func (v *Vocabulary) keep(leaf, word int, term string) {
	found := v.found[leaf][word]
	most := v.search.fuzzies[leaf].most
	at, there := slices.BinarySearch(found, term)
	if there || at >= most {
		return
	}
	found = slices.Insert(found, at, strings.Clone(term))
	v.foundBytes += wordBytes(term)
	if len(found) > most {
		v.foundBytes -= wordBytes(found[most])
		found = slices.Delete(found, most, len(found))
	}
	v.found[leaf][word] = found
}

// Done ends the collection of terms and frees its memory; the result stays.
func (v *Vocabulary) Done() { v.seen, v.seenBytes = nil, 0 }

// Bytes estimates the memory of the vocabulary.
func (v *Vocabulary) Bytes() int64 { return v.seenBytes + v.foundBytes }

// Merge adds the result of another vocabulary.
func (v *Vocabulary) Merge(other *Vocabulary) {
	for leaf, words := range other.found {
		for word, terms := range words {
			for _, term := range terms {
				v.keep(leaf, word, term)
			}
		}
	}
}

// Expand replaces the words of fuzzy queries by matching terms of the vocabulary, word by word up to the
// limit. Call it before the first tally.
func (s *Search) Expand(v *Vocabulary) error {
	for i, f := range s.fuzzies {
		var terms []Term
		for p, position := range f.positions {
			found := v.found[i][f.words[p]]
			found = found[:min(len(found), f.most-len(terms))]
			for _, text := range found {
				terms = append(terms, Term{Text: text, Position: position})
			}
			f.leaf.impossible = f.leaf.impossible || f.leaf.all && len(found) == 0
		}
		uses, err := s.slots(f.leaf.column, terms)
		if err != nil {
			return err
		}
		f.leaf.covered = once(uses)
	}
	s.layOut()
	return nil
}
