// Package ngram reads and builds NGRAM indices, which map each trigram, a run of three letters or digits,
// to the rows whose text contains it. Texts are lowercased and folded to ASCII first, so a row with all
// trigrams of a text need not contain the text itself.
//
// A segment is one file, see package valuebitmaps:
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
	"tiltyard/shared/index/internal/valuebitmaps"
	"tiltyard/shared/lance"
)

var format = valuebitmaps.Format{File: "ngram_postings.lance", Keys: "tokens", Rows: "posting_list", Treemap: true, Add: index.AddTreemap}

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct{ keys *valuebitmaps.Keys }

// Open reads the trigrams of a segment. t is the type of the column, which must be a string type.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	if !IsText(t) {
		return nil, fmt.Errorf("%w: an index of texts on a column of type %s", lance.ErrUnsupported, t)
	}
	keys, err := valuebitmaps.Open(ctx, files, format, arrow.PrimitiveTypes.Uint32)
	if err != nil {
		return nil, err
	}
	return &Reader{keys}, nil
}

// IsText reports whether columns of a type can have an NGRAM index.
func IsText(t arrow.DataType) bool { return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING }

// letters is the base of a token: the number of letters and digits, plus one.
const letters = 37

// Token returns the number of a trigram: its characters are digits in base 37, the first the most
// significant; 0 to 9 have the values 1 to 10, and a to z 11 to 36.
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

// Search returns the rows that contain the trigrams of a question.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	rows, pages, err := r.keys.Search(ctx, q)
	return index.Answer{Rows: rows, Pages: pages}, err
}
