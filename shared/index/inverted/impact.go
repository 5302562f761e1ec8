package inverted

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// An impact is the frequency of a term in a document, with the length of the document. From the impacts of
// a block, readers derive its maximal score for the current counts of the whole table.
type impact struct{ frequency, length uint32 }

// span is the number of blocks that an additional entry of impacts summarizes.
const span = 32

// A frontier keeps the Pareto-optimal impacts: an impact stays if no other document with at least its
// frequency is as short.
//
// An entry of impacts is
//
//	varint  the last document
//	varint  the number of impacts that follow, by rising frequency; for each
//	        varint  the distance of the frequency from the one before, less 1, doubled; plus one if
//	u8      … the distance of the coded length from the one before follows, because it is not 1
//
// A posting list has an entry for each of its blocks, then one for each span of blocks.
//
// Source: scalar/inverted/impact.rs of crate lance-index.
type frontier struct {
	shortest [256]uint32 // document for each frequency; 0 for none
	most     uint32      // the greatest frequency in shortest
	rare     []impact    // of greater frequencies
	kept     []impact    // scratch of impacts
}

// add adds the impact of a document. For each frequency below the size of the table only the shortest
// document matters; greater frequencies are rare and kept in a list.
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

// appendImpacts appends an entry of impacts, given by falling frequency.
func appendImpacts(data []byte, last uint32, impacts []impact) []byte {
	type coded struct {
		frequency uint32
		length    byte
	}
	var entries []coded
	for _, i := range impacts {
		// Of impacts with equal coded length, the first has the greatest frequency.
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

// codeLength encodes the length of a document in one byte: its four highest bits, and the number of bits
// below them.
func codeLength(length uint32) byte {
	below := bits.Len32(length) - 4
	if below < 0 {
		return byte(length)
	}
	return byte(length>>below)&7 | byte(below+1)<<3
}
