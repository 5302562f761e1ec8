package inverted

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
)

// A partition holds the terms and documents that one builder has indexed.
type partition struct {
	files       index.Files
	number      uint64
	elements    bool // documents are elements of lists
	tokenFormat string
	coding      coding // of the segment; the invert file may override it
	distinct    bool   // no row, and no list element, has several documents
	upTo        wholeUpTo

	terms     dictionary
	documents *documents
	columns   *index.Columns // of the docs file, if the documents are paged
	postings  *postingFile
}

// name returns the name of a file of the partition.
func (p *partition) name(part string) string { return fmt.Sprintf("part_%d_%s.lance", p.number, part) }

// open reads the terms, the documents and the schema of the posting lists, in parallel unless they are
// cached.
func (p *partition) open(ctx context.Context) error {
	parts := []func(context.Context) error{
		func(ctx context.Context) (err error) { p.terms, err = p.openDictionary(ctx); return err },
		func(ctx context.Context) (err error) { p.documents, err = p.openDocuments(ctx); return err },
		func(ctx context.Context) (err error) { p.postings, err = p.openPostings(ctx); return err },
	}
	if p.isKept(p.termsName()) && p.isKept(p.documentsName()) {
		for _, part := range parts {
			if err := part(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return lance.Each(ctx, len(parts), len(parts), func(ctx context.Context, i int) (err error) {
		defer index.Contain(&err)
		return parts[i](ctx)
	})
}

func (p *partition) isKept(name string) bool {
	_, err := p.files.Keep(name, func() (any, int64, error) { return nil, 0, errNotKept })
	return err == nil
}

func (p *partition) termsName() string     { return p.name("tokens") + " terms" }
func (p *partition) documentsName() string { return p.name("docs") + " documents" }

func (p *partition) openPostings(ctx context.Context) (*postingFile, error) {
	file, err := p.files.Open(ctx, p.name("invert"))
	if err != nil {
		return nil, err
	}
	f, err := newPostingFile(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name("invert"), err)
	}
	return f, nil
}

// errNotKept reports that a posting list is not cached.
var errNotKept = errors.New("not kept")

// numbers returns the numbers of terms, and -1 for a term that the partition lacks.
func (p *partition) Numbers(ctx context.Context, terms []string) ([]int64, error) {
	numbers, err := p.terms.Numbers(ctx, terms)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name("tokens"), err)
	}
	for _, number := range numbers {
		if number >= p.postings.rows() {
			return nil, fmt.Errorf("%w: %s: term %d of %d", lance.ErrCorrupt, p.name("tokens"), number, p.postings.rows())
		}
	}
	return numbers, nil
}

// lists returns the posting lists of terms, nil for a term without documents. Lists that are not cached are
// read together.
func (p *partition) lists(ctx context.Context, terms []string, positions bool) ([]*posting, error) {
	numbers, err := p.Numbers(ctx, terms)
	if err != nil {
		return nil, err
	}
	lists, missing, err := p.kept(numbers, positions)
	if err != nil || len(missing) == 0 {
		return lists, err
	}
	read, err := p.postings.read(ctx, missing, positions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name("invert"), err)
	}
	for i, number := range numbers {
		list := read[number]
		if number < 0 || lists[i] != nil {
			continue
		}
		if lists[i], err = p.keep(number, positions, func() (any, int64, error) { return list, list.bytes(), nil }); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// kept returns the cached posting lists, and the numbers of the missing ones.
func (p *partition) kept(numbers []int64, positions bool) (lists []*posting, missing map[int64]bool, err error) {
	lists, missing = make([]*posting, len(numbers)), map[int64]bool{}
	for i, number := range numbers {
		if number < 0 {
			continue
		}
		lists[i], err = p.keep(number, positions, func() (any, int64, error) { return nil, 0, errNotKept })
		switch {
		case errors.Is(err, errNotKept):
			missing[number] = true
		case err != nil:
			return nil, nil, err
		}
	}
	return lists, missing, nil
}

func (p *partition) keep(number int64, positions bool, read func() (any, int64, error)) (*posting, error) {
	kept, err := p.files.Keep(fmt.Sprintf("%s term %d %t", p.name("invert"), number, positions), read)
	if err != nil {
		return nil, err
	}
	return kept.(*posting), nil
}
