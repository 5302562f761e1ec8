package numbering

import (
	"math/bits"
	"math/rand/v2"
)

// words numbers words by a table with open addressing. At most three in four slots are taken.
type words struct {
	seed  uint64 // keeps others from choosing words that meet in one slot
	slots []wordSlot
	shift int      // 64 less the bits of a slot's number
	of    []uint64 // the words by their numbers
}

// A wordSlot is a word and its number, plus 1: 0 is a free slot.
type wordSlot struct {
	word uint64
	next uint32
}

const (
	wordSlotBytes = 16
	fewestSlots   = 16
)

func newWords() *words { return &words{seed: rand.Uint64()} }

func (w *words) len() int { return len(w.of) }

func (w *words) bytes() int64 { return wordSlotBytes*int64(len(w.slots)) + 8*int64(cap(w.of)) }

// growth bounds the memory that n more words take while the table grows.
func (w *words) growth(n int) int64 {
	size := grown(len(w.of)+n, cap(w.of), 8)
	if slots := slotsFor(len(w.of) + n); slots > len(w.slots) {
		size += wordSlotBytes * int64(slots)
	}
	return size
}

// slotsFor returns how many slots n keys need.
func slotsFor(n int) int {
	return max(fewestSlots, 1<<bits.Len(uint(n+n/3)))
}

// grown bounds the memory of a slice of n items that replaces one with a capacity, or 0 if that suffices.
func grown(n, capacity, itemBytes int) int64 {
	if n <= capacity {
		return 0
	}
	return 2 * int64(n) * int64(itemBytes)
}

// hash spreads a word over all bits.
func (w *words) hash(word uint64) uint64 {
	h := (word ^ w.seed) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return h * 0xd6e8feb86659fd93
}

// numbers sets the numbers of words: the next ones of new words with add, else None.
func (w *words) numbers(of []uint64, numbers []uint32, add bool) {
	if need := slotsFor(len(w.of) + len(of)); add && need > len(w.slots) {
		w.resize(need)
	}
	if len(w.slots) == 0 {
		for i := range of {
			numbers[i] = None
		}
		return
	}
	mask := uint64(len(w.slots) - 1)
	for i, word := range of {
		at := w.hash(word) >> w.shift
		for w.slots[at].next != 0 && w.slots[at].word != word {
			at = (at + 1) & mask
		}
		if w.slots[at].next == 0 && add {
			w.of = append(w.of, word)
			w.slots[at] = wordSlot{word, uint32(len(w.of))}
		}
		numbers[i] = w.slots[at].next - 1
	}
}

// skip uses a number for what is no word.
func (w *words) skip() uint32 {
	w.of = append(w.of, 0)
	return uint32(len(w.of) - 1)
}

// resize moves the words to a table of n slots, a power of two.
func (w *words) resize(n int) {
	from := w.slots
	w.slots, w.shift = make([]wordSlot, n), 65-bits.Len(uint(n))
	mask := uint64(n - 1)
	for _, slot := range from {
		if slot.next == 0 {
			continue
		}
		at := w.hash(slot.word) >> w.shift
		for w.slots[at].next != 0 {
			at = (at + 1) & mask
		}
		w.slots[at] = slot
	}
}
