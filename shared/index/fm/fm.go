// Package fm reads and builds FM indices. They find the rows whose text contains a pattern of any length.
// An FM index is the Burrows-Wheeler transform of the texts, stored as a wavelet tree that counts the
// occurrences of a byte before a position; see [tree].
//
// A segment has one file per partition of some thousand rows:
//
//	part_<n>_fm.lance  node_id     u32    a node of the tree; 0xFFFFFFFF for samples
//	                   block_id    u32    a block of the node, counted from 0
//	                   words       bytes  up to 4096 words of 64 bits, little-endian
//	                   prefix_rank u64    the number of set bits in the earlier blocks of the node
//	                   bit_len     u64    the number of bits of the node
//
// The text of a partition is the concatenation of its rows, each followed by the byte 0xFF, and a final
// byte 0x00. NULL rows are left out. The bytes 0x00 and 0xFF of a row are replaced by spaces, so a match of
// a pattern with a space may be false. The samples are the text positions of every 32nd suffix of the
// suffix array. All other data are in the metadata of the file: numbers in decimal digits, lists in
// hexadecimal digits; see [head].
//
// Source: scalar/fmindex.rs of crate lance-index.
package fm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// Version is the version of the format that Build writes.
const Version = 10

// maxPartitions bounds the partitions of a segment.
const maxPartitions = 1 << 14

// maxReads bounds the files that are opened in parallel.
const maxReads = 16

// Fits reports whether columns of a type can have such an index: texts and binaries.
func Fits(t arrow.DataType) bool {
	return IsText(t) || t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY
}

// IsText reports whether a type is a string type.
func IsText(t arrow.DataType) bool { return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING }

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct{ partitions []*partition }

// Open reads the head of each partition of a segment. t is the type of the column.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	if !Fits(t) {
		return nil, fmt.Errorf("%w: an index of texts on a column of type %s", lance.ErrUnsupported, t)
	}
	r := &Reader{}
	for _, name := range files.Names() {
		if number, ok := strings.CutPrefix(strings.TrimSuffix(name, fileEnd), fileStart); ok && strings.HasSuffix(name, fileEnd) {
			if _, err := strconv.ParseUint(number, 10, 64); err == nil {
				r.partitions = append(r.partitions, &partition{files: files, name: name})
			}
		}
	}
	if n := len(r.partitions); n == 0 || n > maxPartitions {
		return nil, fmt.Errorf("%w: %d partitions, want 1 to %d", lance.ErrUnsupported, n, maxPartitions)
	}
	return r, r.each(ctx, maxReads, (*partition).open)
}

// each calls f for all partitions, up to atOnce of them in parallel.
func (r *Reader) each(ctx context.Context, atOnce int, f func(*partition, context.Context) error) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range r.partitions {
		group.Go(func() (err error) {
			defer index.Contain(&err)
			if err := within.Err(); err != nil {
				return err
			}
			if err := f(p, within); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Cost estimates a search from the frequency of each byte, as if bytes were independent.
func (r *Reader) Cost(q index.Question) (index.Cost, error) {
	patterns, err := patternsOf(q)
	if err != nil {
		return index.Cost{}, err
	}
	cost := index.Cost{Pages: len(r.partitions)}
	for _, p := range r.partitions {
		cost.Bytes += p.head.bytes()
		rows := int64(len(p.head.rows))
		for _, pattern := range patterns {
			rows = min(rows, int64(p.head.expected(pattern))+1)
		}
		cost.Rows += rows
	}
	return cost, nil
}

// Search returns the rows whose texts contain all patterns of a question.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	patterns, err := patternsOf(q)
	if err != nil {
		return index.Answer{}, err
	}
	var mu sync.Mutex
	answer := index.Answer{Rows: rowset.At(), Exact: true, Pages: len(r.partitions)}
	for _, pattern := range patterns {
		answer.Exact = answer.Exact && !strings.Contains(pattern, string(space))
	}
	err = r.each(ctx, runtime.GOMAXPROCS(0), func(p *partition, ctx context.Context) error {
		rows, exact, err := p.search(ctx, patterns)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		before := answer.Rows.Bytes()
		answer.Rows.Add(rows)
		answer.Exact = answer.Exact && exact
		return memory.FromContext(ctx).Take(ctx, answer.Rows.Bytes()-before)
	})
	return answer, err
}

var errQuestion = errors.New("an index of texts is asked for other than patterns")

// patternsOf returns the patterns of a question, encoded like the texts of an index.
func patternsOf(q index.Question) ([]string, error) {
	var patterns []string
	for _, part := range q.All {
		if len(part.Ranges) != 1 {
			return nil, fmt.Errorf("%w: %w: %s", lance.ErrUnsupported, errQuestion, q)
		}
		pattern, ok := part.Ranges[0].From.Value.(*array.String)
		if !ok || pattern.Value(0) == "" {
			return nil, fmt.Errorf("%w: %w: %s", lance.ErrUnsupported, errQuestion, q)
		}
		patterns = append(patterns, string(appendText(nil, []byte(pattern.Value(0)))))
	}
	if patterns == nil {
		return nil, fmt.Errorf("%w: %w: %s", lance.ErrUnsupported, errQuestion, q)
	}
	return patterns, nil
}

// The bytes of a partition's text that are not of the rows.
const (
	endOfRow  = 0xFF
	endOfText = 0x00
	space     = ' ' // replaces these two in a row
)

// appendText appends the text of a row in the encoding of a partition, where 0x00 and 0xFF become spaces.
func appendText(text, row []byte) []byte {
	from := len(text)
	text = append(text, row...)
	for i, b := range text[from:] {
		if b == endOfRow || b == endOfText {
			text[from+i] = space
		}
	}
	return text
}

// common returns the numbers that are in two ascending lists. It overwrites the first.
func common(a, b []int32) []int32 {
	return slices.DeleteFunc(a, func(n int32) bool {
		_, found := slices.BinarySearch(b, n)
		return !found
	})
}
