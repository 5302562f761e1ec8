// Package ngram reads and builds indices of the kind NGRAM: each run of three letters or digits, a trigram, that
// occurs in the texts of a column, with the rows that have it. Texts are in lower case and folded to
// ASCII before they are cut, so a row that has all trigrams of a text need not have the text.
//
// A segment is one file, see package keyed:
//
//	ngram_postings.lance  tokens       u32    the trigrams, see [Token]; 0 stands for texts that are NULL
//	                      posting_list bytes  the rows of each, see [index.AddTreemap]
//
// Source: scalar/ngram.rs of crate lance-index.
package ngram

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/keyed"
	"tiltyard/shared/lance"
)

var format = keyed.Format{File: "ngram_postings.lance", Keys: "tokens", Rows: "posting_list", Treemap: true, Add: index.AddTreemap}

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct{ keys *keyed.Keys }

// Open reads the trigrams of a segment. t is the type of the column, which is one of texts.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	if !IsText(t) {
		return nil, fmt.Errorf("%w: an index of texts on a column of type %s", lance.ErrUnsupported, t)
	}
	keys, err := keyed.Open(ctx, files, format, arrow.PrimitiveTypes.Uint32)
	if err != nil {
		return nil, err
	}
	return &Reader{keys}, nil
}

// IsText reports whether a type is one of columns that can have such an index.
func IsText(t arrow.DataType) bool { return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING }

// letters is one more than the number of letters and digits.
const letters = 37

// Token returns the number of a trigram: its characters as digits in a system of 37, the first as the
// highest, where 0 to 9 count 1 to 10, and a to z 11 to 36.
func Token(trigram string) uint32 {
	token := uint32(0)
	for i := range len(trigram) {
		digit := uint32(trigram[i]-'0') + 1
		if trigram[i] >= 'a' {
			digit = uint32(trigram[i]-'a') + 11
		}
		token = token*letters + digit
	}
	return token
}

// Cost estimates a search from the trigrams.
func (r *Reader) Cost(q index.Question) (index.Cost, error) { return r.keys.Cost(q) }

// Search returns the rows that have the trigrams whose tokens a question asks for.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	rows, pages, err := r.keys.Search(ctx, q)
	return index.Answer{Rows: rows, Pages: pages}, err
}
