package numbering

import (
	"hash/maphash"
	"math/bits"
)

// texts numbers texts by a table with open addressing, as words does.
type texts struct {
	seed  maphash.Seed
	slots []textSlot
	shift int
	text  []byte // all texts, by their numbers
	ends  []int  // of each in text
}

// A textSlot is the upper half of a text's hash and its number, plus 1: 0 is a free slot.
type textSlot struct{ hash, next uint32 }

const textSlotBytes = 8

func newTexts() *texts { return &texts{seed: maphash.MakeSeed()} }

func (t *texts) len() int { return len(t.ends) }

func (t *texts) bytes() int64 {
	return textSlotBytes*int64(len(t.slots)) + int64(cap(t.text)) + 8*int64(cap(t.ends))
}

// growth bounds the memory that n more texts of some bytes take while the table grows.
func (t *texts) growth(n, bytes int) int64 {
	size := grown(len(t.ends)+n, cap(t.ends), 8) + grown(len(t.text)+bytes, cap(t.text), 1)
	if slots := slotsFor(len(t.ends) + n); slots > len(t.slots) {
		size += textSlotBytes * int64(slots)
	}
	return size
}

// at returns the text with a number.
func (t *texts) at(number int) []byte {
	if number == 0 {
		return t.text[:t.ends[0]]
	}
	return t.text[t.ends[number-1]:t.ends[number]]
}

// number returns the number of a text: the next one of a new text with add, else None.
func (t *texts) number(text []byte, add bool) uint32 {
	if need := slotsFor(len(t.ends) + 1); add && need > len(t.slots) {
		t.resize(need)
	}
	if len(t.slots) == 0 {
		return None
	}
	sum := uint32(maphash.Bytes(t.seed, text) >> 32)
	mask := uint32(len(t.slots) - 1)
	at := sum >> t.shift
	for t.slots[at].next != 0 && (t.slots[at].hash != sum || string(t.at(int(t.slots[at].next-1))) != string(text)) {
		at = (at + 1) & mask
	}
	if t.slots[at].next == 0 && add {
		t.text = append(t.text, text...)
		t.ends = append(t.ends, len(t.text))
		t.slots[at] = textSlot{sum, uint32(len(t.ends))}
	}
	return t.slots[at].next - 1
}

// resize moves the texts to a table of n slots, a power of two.
func (t *texts) resize(n int) {
	from := t.slots
	t.slots, t.shift = make([]textSlot, n), 33-bits.Len(uint(n))
	mask := uint32(n - 1)
	for _, slot := range from {
		if slot.next == 0 {
			continue
		}
		at := slot.hash >> t.shift
		for t.slots[at].next != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = slot
	}
}
