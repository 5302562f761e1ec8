package wordbreak

import (
	"compress/flate"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// dictionaries are the dictionaries by script. Each is read on first use.
// scripts/fixtures/wordbreak_data.py writes them; LICENSE gives the source of the words.
var dictionaries = [none]func() *dictionary{
	burmese:         sync.OnceValue(func() *dictionary { return readDictionary(burmeseWords) }),
	chineseJapanese: sync.OnceValue(func() *dictionary { return readDictionary(chineseJapaneseWords) }),
	khmer:           sync.OnceValue(func() *dictionary { return readDictionary(khmerWords) }),
	lao:             sync.OnceValue(func() *dictionary { return readDictionary(laoWords) }),
	thai:            sync.OnceValue(func() *dictionary { return readDictionary(thaiWords) }),
}

var (
	//go:embed dictionaries/burmese.trie
	burmeseWords string
	//go:embed dictionaries/chinese_japanese.trie
	chineseJapaneseWords string
	//go:embed dictionaries/khmer.trie
	khmerWords string
	//go:embed dictionaries/lao.trie
	laoWords string
	//go:embed dictionaries/thai.trie
	thaiWords string
)

// A dictionary is a trie. Its nodes are numbered breadth first, the root is node 0; the
// children of a node are neighbours, in the order of their characters.
type dictionary struct {
	nodes []node
}

// node is a node of the trie. Its children are the nodes from its firstChild to that of the next node,
// ordered by character.
type node struct {
	character  rune
	firstChild uint32 // of the next node: where the children end
	word       bool   // a word ends here
}

// readDictionary reads the file of a dictionary. The file is compressed with DEFLATE. For n
// nodes, in the order of their numbers, it holds:
//
//	n bytes  low byte of (number of children × 2 + 1 if a word ends here)
//	n bytes  high byte of it
//	n bytes  low byte of the character; 0 of the root
//	n bytes  middle byte of it
//	n bytes  high byte of it
func readDictionary(file string) *dictionary {
	data, err := io.ReadAll(flate.NewReader(strings.NewReader(file)))
	if err != nil {
		panic(fmt.Sprintf("dictionary of words: %v", err)) // a broken program
	}
	n := len(data) / 5
	nodes := make([]node, n+1)
	child := uint32(1)
	for i := range n {
		lead := uint32(data[i]) | uint32(data[n+i])<<8
		character := rune(data[2*n+i]) | rune(data[3*n+i])<<8 | rune(data[4*n+i])<<16
		nodes[i] = node{character: character, firstChild: child, word: lead&1 != 0}
		child += lead >> 1
	}
	nodes[n].firstChild = child
	return &dictionary{nodes: nodes}
}

// children returns the range [from, to) of a node's children.
func (d *dictionary) children(number int) (from, to int) {
	return int(d.nodes[number].firstChild), int(d.nodes[number+1].firstChild)
}

// step returns the child of a node for a character. It returns false if there is none.
func (d *dictionary) step(number int, character rune) (int, bool) {
	from, to := d.children(number)
	i, found := slices.BinarySearchFunc(d.nodes[from:to], character, func(n node, c rune) int { return int(n.character - c) })
	return from + i, found
}

// ends appends the ends of the words in a run of characters of one script. The run begins at an offset of
// the text. At each position the longest word of the dictionary wins. Without a word, the end is after the
// characters that were examined. If a longer word could continue past the run, the last ends are missing,
// and the caller treats the rest as a new run. ends appends at least one end.
func (d *dictionary) ends(ends []int, t *table, run string, offset int) []int {
	boundaries := clusters{table: t, text: run}
	for start := 0; start < len(run); {
		m := d.match(run, start, &boundaries)
		if m.end > start {
			ends = append(ends, offset+m.end)
		}
		if m.exhausted {
			break
		}
		start = m.end
	}
	return ends
}

// A match is the result of a lookup at a position in a run.
type match struct {
	end       int  // end of the word; 0 if there is none
	exhausted bool // the run ended before longer words could be excluded
}

// match finds the longest word that begins at start. A shorter word that is a prefix of longer ones counts
// if it ends at the end of a grapheme cluster. The clusters are not reset when the search for a longer word
// fails, so some shorter words are missed. The crate has this error, and it is repeated here, because
// existing indices contain its words.
func (d *dictionary) match(run string, start int, boundaries *clusters) match {
	var found, boundary int
	prefix := false // the run continues like some word
	for at, number := start, 0; at < len(run); {
		character, size := utf8.DecodeRuneInString(run[at:])
		at += size
		next, ok := d.step(number, character)
		if !ok {
			if found == 0 {
				found = at
			}
			return match{end: found}
		}
		number = next
		switch from, to := d.children(number); {
		case !d.nodes[number].word:
			prefix = true
		case from == to:
			return match{end: at}
		default:
			for boundary < at {
				boundary = boundaries.next()
			}
			if boundary == at {
				found = at
			}
		}
	}
	if found == 0 && prefix {
		found = len(run)
	}
	return match{end: found, exhausted: true}
}
