// Package chunking implements the built-in table functions that cut a text into pieces (chunks), for
// example for embedding and search. Queries call them in FROM:
//
//	SELECT id, c.text FROM docs, split_text(body, 800, 100) AS c
//
// [Functions] lists them. A function takes a text and constants, and returns a struct for each piece:
//
//	text     the piece, a part of the text
//	start    offset of its beginning in Unicode characters, from 0
//	end      offset of its end in Unicode characters
//	ordinal  its number among the pieces of the text, from 0
//
// No piece begins or ends inside of a grapheme cluster (UAX #29 of Unicode 15.0), a character as perceived
// by readers. Pieces are made one at a time, so that they are never all in memory.
package chunking

import (
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Function makes pieces of texts.
type Function struct {
	Name   string
	Params []Param       // behind the text
	Fields []arrow.Field // of the struct of a piece

	new func(args []any) (cutter, error) // has an argument for each parameter
}

// A Param is a constant parameter.
type Param struct {
	Name     string
	Type     arrow.DataType // int64 or utf8
	Optional bool
	Default  any // int64 or string: the argument of an optional parameter that is not given
}

// A Chunk is a piece of a text.
type Chunk struct {
	Text       string
	Start, End int64 // in characters
	Ordinal    int32
	Path       []string // of split_markdown
}

// A Splitter makes the pieces of a text, in their order.
type Splitter func(text string) iter.Seq[Chunk]

// A cutter yields the extents of the pieces of a text, in ascending order of their start.
type cutter func(text string) iter.Seq[span]

// span is the extent of a piece.
type span struct {
	start, end int      // in bytes
	path       []string // of headings
}

// Functions are the built-in functions, by name.
var Functions = []*Function{jsonRows, splitLines, splitMarkdown, splitSentences, splitText}

// Find returns the function with a name, or nil.
func Find(name string) *Function {
	i := slices.IndexFunc(Functions, func(f *Function) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return Functions[i]
}

var pieceFields = []arrow.Field{
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "start", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "end", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "ordinal", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
}

// Type returns the type of a piece.
func (f *Function) Type() *arrow.StructType { return arrow.StructOf(f.Fields...) }

// With returns the function with constant arguments after the text, which are int64s and strings. Its
// errors name the invalid argument.
func (f *Function) With(args ...any) (Splitter, error) {
	if len(args) > len(f.Params) {
		return nil, fmt.Errorf("%s takes a text and at most %d arguments behind it, and has %d", f.Name, len(f.Params), len(args))
	}
	all := slices.Clone(args)
	for i, p := range f.Params {
		if i >= len(args) {
			if !p.Optional {
				return nil, fmt.Errorf("%s lacks its argument %s", f.Name, p.Name)
			}
			all = append(all, p.Default)
		}
		fits := false
		switch all[i].(type) {
		case int64:
			fits = p.Type.ID() == arrow.INT64
		case string:
			fits = p.Type.ID() == arrow.STRING
		}
		if !fits {
			return nil, fmt.Errorf("argument %s of %s is not a constant of type %s", p.Name, f.Name, p.Type)
		}
	}
	cut, err := f.new(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return cut.chunks, nil
}

// chunks converts the byte offsets of pieces to character offsets. It counts characters incrementally,
// because pieces are ordered by their start.
func (cut cutter) chunks(text string) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		var at int      // the beginning of the last piece, in bytes
		var runes int64 // and in characters
		ordinal := int32(0)
		for s := range cut(text) {
			runes += int64(utf8.RuneCountInString(text[at:s.start]))
			at = s.start
			piece := text[s.start:s.end]
			c := Chunk{Text: piece, Start: runes, End: runes + int64(utf8.RuneCountInString(piece)), Ordinal: ordinal, Path: s.path}
			if !yield(c) {
				return
			}
			ordinal++
		}
	}
}
