package chunking

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitLines returns each line as a piece, without the line feed at its end and a carriage return
// before it.
var splitLines = &Function{
	Name:   "split_lines",
	Fields: pieceFields,
	new: func([]any) (cutter, error) {
		return func(text string) iter.Seq[span] {
			return func(yield func(span) bool) {
				for line := range lines(text) {
					if strings.HasSuffix(text[line.start:line.end], "\n") {
						line.end--
						if strings.HasSuffix(text[line.start:line.end], "\r") {
							line.end--
						}
					}
					if !yield(line) {
						return
					}
				}
			}
		}, nil
	},
}

// lines yields the lines of a text, with their ends.
func lines(text string) iter.Seq[span] {
	return func(yield func(span) bool) {
		for at := 0; at < len(text); {
			end := len(text)
			if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
				end = at + i + 1
			}
			if !yield(span{start: at, end: end}) {
				return
			}
			at = end
		}
	}
}

// splitSentences returns each sentence, with the white space after it, as a piece. A sentence ends after .
// ! ? … and closing quotes or brackets, if white space and then anything but a lowercase letter follows;
// after 。！？ also without white space; and at an empty line.
var splitSentences = &Function{
	Name:   "split_sentences",
	Fields: pieceFields,
	new:    func([]any) (cutter, error) { return sentences, nil },
}

// sentences yields the sentences of a text. A sentence ends before the first character after its closing
// signs, at a boundary of grapheme clusters.
func sentences(text string) iter.Seq[span] {
	return func(yield func(span) bool) {
		var s sentence
		start, last := 0, 0 // of the sentence, and of the last character
		for at, r := range text {
			if at > start && s.endsBefore(r) && last+cluster(text[last:]) == at {
				if !yield(span{start: start, end: at}) {
					return
				}
				start, s = at, sentence{}
			}
			s.add(r)
			last = at
		}
		if start < len(text) {
			yield(span{start: start, end: len(text)})
		}
	}
}

// A sentence is the state of the scanner at a possible end of a sentence.
type sentence struct {
	ended bool // a final sign was found, followed only by closing signs and white space
	wide  bool // and that sign needs no white space
	space bool // white space is last
	lines int  // line feeds in it
}

// add updates the state with the next character.
func (s *sentence) add(r rune) {
	switch {
	case strings.ContainsRune(".!?…", r):
		*s = sentence{ended: true}
	case strings.ContainsRune("。！？", r):
		*s = sentence{ended: true, wide: true}
	case unicode.IsSpace(r):
		s.space = true
		if r == '\n' {
			s.lines++
		}
	case !s.space && s.ended && closes(r):
	default:
		*s = sentence{}
	}
}

// endsBefore reports whether the sentence ends before a character that follows.
func (s *sentence) endsBefore(r rune) bool {
	switch {
	case unicode.IsSpace(r):
		return false
	case s.space && s.lines > 1:
		return true
	case s.ended && s.wide:
		return s.space || !closes(r) && !strings.ContainsRune("。！？", r)
	}
	return s.ended && s.space && !unicode.IsLower(r)
}

// closes reports whether a character is a closing quote or bracket, which may follow the end of a
// sentence.
func closes(r rune) bool {
	return r == '"' || r == '\'' || r >= utf8.RuneSelf && unicode.In(r, unicode.Pf, unicode.Pe, unicode.Pi) || strings.ContainsRune(")]}", r)
}
