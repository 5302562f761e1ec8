package inverted

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// An impact is how often a document has a term, and how long the document is. Readers take from the
// impacts of a block, whatever the counts of the whole table, how much a document in it scores at most.
type impact struct{ frequency, length uint32 }

// span is how many blocks have one entry of impacts together.
const span = 32

// A frontier collects impacts and keeps those that no other one beats: no document that has the term as
// often is as short.
//
// An entry of impacts is
//
//	varint  the last document
//	varint  how many impacts follow, by rising frequency, and for each
//	        varint  the distance of the frequency from the one before, less 1, doubled; one more if
//	u8      … the distance of the coded length from the one before follows, since it is not 1
//
// A posting list has an entry for each of its blocks, then one for each span of blocks.
//
// Source: scalar/inverted/impact.rs of crate lance-index.
type frontier struct {
	shortest [256]uint32 // document for each frequency; 0 for none
	most     uint32      // frequency among those
	rare     []impact    // of greater frequencies
	kept     []impact    // scratch of impacts
}

func (f *frontier) add(frequency, length uint32) {
	if frequency >= uint32(len(f.shortest)) {
		f.rare = append(f.rare, impact{frequency, length})
		return
	}
	f.most = max(f.most, frequency)
	if shortest := f.shortest[frequency]; shortest == 0 || length < shortest {
		f.shortest[frequency] = length
	}
}

// impacts returns the impacts that are kept, by falling frequency, and empties the frontier. The
// result is good until the next call.
func (f *frontier) impacts() []impact {
	f.kept = f.kept[:0]
	shortest := uint32(math.MaxUint32)
	keep := func(i impact) {
		if i.length < shortest || len(f.kept) == 0 {
			f.kept, shortest = append(f.kept, i), i.length
		}
	}
	slices.SortFunc(f.rare, func(a, b impact) int {
		return cmp.Or(cmp.Compare(b.frequency, a.frequency), cmp.Compare(a.length, b.length))
	})
	for _, i := range f.rare {
		keep(i)
	}
	for frequency := f.most; frequency > 0; frequency-- {
		if length := f.shortest[frequency]; length > 0 {
			keep(impact{frequency, length})
			f.shortest[frequency] = 0
		}
	}
	f.rare, f.most = f.rare[:0], 0
	return f.kept
}

// appendImpacts appends an entry of impacts, which are by falling frequency.
func appendImpacts(data []byte, last uint32, impacts []impact) []byte {
	type coded struct {
		frequency uint32
		length    byte
	}
	var entries []coded
	for _, i := range impacts {
		// Of several with one coded length the first has the greatest frequency.
		if c := codeLength(i.length); len(entries) == 0 || entries[len(entries)-1].length != c {
			entries = append(entries, coded{i.frequency, c})
		}
	}
	data = binary.AppendUvarint(data, uint64(last))
	data = binary.AppendUvarint(data, uint64(len(entries)))
	before := coded{}
	for _, e := range slices.Backward(entries) {
		head, distance := uint64(e.frequency-before.frequency-1)<<1, e.length-before.length
		if distance == 1 {
			data = binary.AppendUvarint(data, head)
		} else {
			data = append(binary.AppendUvarint(data, head|1), distance)
		}
		before = e
	}
	return data
}

// codeLength returns the byte that stands for the length of a document: its four highest bits, and how
// many bits are below them.
func codeLength(length uint32) byte {
	below := bits.Len32(length) - 4
	if below < 0 {
		return byte(length)
	}
	return byte(length>>below)&7 | byte(below+1)<<3
}
