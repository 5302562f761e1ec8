package wordbreak

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// A property is the class of a character in the rules: its Word_Break property in Unicode
// or, for a script without spaces, the script.
type property uint8

const (
	other property = iota
	cr
	lf
	newline
	segmentSpace
	extend
	zwj
	format
	regionalIndicator
	katakana
	hebrewLetter
	aLetter
	pictographicLetter // both: ℹ and some more
	singleQuote
	doubleQuote
	midNumLet
	midLetter
	midNum
	numeric
	extendNumLet
	pictographic
	complexOther // of a script without dictionary, such as Tai Tham
	burmese
	chineseJapanese // ideographs and Hiragana; no Katakana
	khmer
	lao
	thai
	none // no character
)

// complex reports whether words cannot be found from the properties of characters alone.
func (p property) complex() bool { return p >= complexOther && p < none }

func (p property) in(s set) bool { return s>>p&1 != 0 }

// A set is a set of properties.
type set uint32

func setOf(properties ...property) (s set) {
	for _, p := range properties {
		s |= 1 << p
	}
	return s
}

var (
	ignored       = setOf(extend, format, zwj)
	pictographs   = setOf(pictographic, pictographicLetter)
	letters       = setOf(aLetter, hebrewLetter, pictographicLetter)
	letterMiddles = setOf(midLetter, midNumLet, singleQuote)
	numberMiddles = setOf(midNum, midNumLet, singleQuote)

	// joined lists for each property the properties that follow without a boundary.
	joined = [none + 1]set{
		aLetter:            letters | setOf(numeric, extendNumLet),
		pictographicLetter: letters | setOf(numeric, extendNumLet),
		hebrewLetter:       letters | setOf(numeric, extendNumLet, singleQuote),
		numeric:            letters | setOf(numeric, extendNumLet),
		katakana:           setOf(katakana, extendNumLet),
		extendNumLet:       letters | setOf(numeric, katakana, extendNumLet),
		regionalIndicator:  setOf(regionalIndicator),
	}

	// middles lists the properties that may stand between two letters, or two numbers, without a boundary.
	middles = [none + 1]set{
		aLetter:            letterMiddles,
		pictographicLetter: letterMiddles,
		hebrewLetter:       letterMiddles | setOf(doubleQuote),
		numeric:            numberMiddles,
	}
)

// A role is the part of a character in a grapheme cluster, for scripts with a dictionary.
type role uint8

const (
	base role = iota
	clusterExtend
	spacingMark
	linker    // joins two consonants
	consonant // a consonant that can join another
)

// propertyNames are the names of properties and roles in properties.txt.
var propertyNames = map[string]traits{
	"CR": traitsOf(cr, base), "LF": traitsOf(lf, base), "Newline": traitsOf(newline, base), "WSegSpace": traitsOf(segmentSpace, base),
	"Extend": traitsOf(extend, base), "ZWJ": traitsOf(zwj, base), "Format": traitsOf(format, base),
	"Regional_Indicator": traitsOf(regionalIndicator, base), "Katakana": traitsOf(katakana, base),
	"Hebrew_Letter": traitsOf(hebrewLetter, base), "ALetter": traitsOf(aLetter, base),
	"Pictographic_Letter": traitsOf(pictographicLetter, base), "Single_Quote": traitsOf(singleQuote, base),
	"Double_Quote": traitsOf(doubleQuote, base), "MidNumLet": traitsOf(midNumLet, base),
	"MidLetter": traitsOf(midLetter, base), "MidNum": traitsOf(midNum, base), "Numeric": traitsOf(numeric, base),
	"ExtendNumLet": traitsOf(extendNumLet, base), "Extended_Pictographic": traitsOf(pictographic, base),
	"Complex": traitsOf(complexOther, base), "Burmese": traitsOf(burmese, base),
	"Chinese_Japanese": traitsOf(chineseJapanese, base), "Khmer": traitsOf(khmer, base),
	"Lao": traitsOf(lao, base), "Thai": traitsOf(thai, base),

	"Cluster_Extend": traitsOf(other, clusterExtend), "SpacingMark": traitsOf(other, spacingMark),
	"Linker": traitsOf(other, linker), "Consonant": traitsOf(other, consonant),
}

// traits packs a property and a role into one byte.
type traits uint8

func traitsOf(p property, r role) traits { return traits(p) | traits(r)<<5 }

func (t traits) property() property { return property(t & 0x1f) }
func (t traits) role() role         { return role(t >> 5) }

// propertyText has a line for each property and role: its name, a tab, and its characters as hexadecimal
// numbers and ranges. scripts/fixtures/wordbreak_data.py writes it.
//
//go:embed properties.txt
var propertyText string

// A table has the traits of all characters, in blocks. Equal blocks are stored once.
type table struct {
	ascii  [128]property
	index  [0x110000 / blockSize]uint16
	blocks [][blockSize]traits
}

const blockSize = 256

func (t *table) of(r rune) traits { return t.blocks[t.index[r/blockSize]][r%blockSize] }

// properties reads the table on first use.
var properties = sync.OnceValue(func() *table {
	all := make([]traits, 0x110000)
	for line := range strings.Lines(propertyText) {
		name, ranges, _ := strings.Cut(line, "\t")
		known, ok := propertyNames[name]
		if !ok {
			panic(fmt.Sprintf("properties.txt: unknown property %q", name)) // a broken program
		}
		for r := range strings.FieldsSeq(ranges) {
			first, last, isRange := strings.Cut(r, "-")
			if !isRange {
				last = first
			}
			for code := hexadecimal(first); code <= hexadecimal(last); code++ {
				all[code] |= known
			}
		}
	}
	t, seen := &table{}, map[[blockSize]traits]uint16{}
	for i := range t.index {
		block := [blockSize]traits(all[i*blockSize:])
		number, ok := seen[block]
		if !ok {
			number = uint16(len(t.blocks))
			t.blocks, seen[block] = append(t.blocks, block), number
		}
		t.index[i] = number
	}
	for c := range t.ascii {
		t.ascii[c] = all[c].property()
	}
	return t
})

func hexadecimal(s string) int64 {
	code, err := strconv.ParseInt(s, 16, 32)
	if err != nil {
		panic(fmt.Sprintf("properties.txt: %v", err)) // a broken program
	}
	return code
}
