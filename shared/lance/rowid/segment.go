package rowid

import (
	"math/bits"
	"sort"

	"tiltyard/shared/lance/pb"
)

// A segment is a run of ids in one of the forms of pb.U64Segment. Ids ascend in all forms
// but arraySegment.
type segment interface {
	len() int64
	at(k int64) uint64
	appendTo(ids []uint64, from, to int64) []uint64
	runs(from, to int64, yield func(first, last uint64) bool) bool // false when yield was
	bounds() (lowest, highest uint64)                              // of a segment that is not empty
	find(id uint64) (k int64, ok bool)
	message() pb.U64Segment
}

// parseSegment checks a message and returns its segment.
func parseSegment(m *pb.U64Segment) (segment, error) {
	if m.Kind == pb.SegmentMissing {
		return nil, corrupt("a segment without a kind that is known")
	}
	if m.Kind == pb.SegmentSortedArray || m.Kind == pb.SegmentArray {
		a, err := parseArray(&m.Array)
		if err != nil {
			return nil, err
		}
		if m.Kind == pb.SegmentArray {
			return arraySegment{a}, nil
		}
		return sortedSegment{a}, a.checkAscending()
	}
	if m.Start > m.End {
		return nil, corrupt("a range from %d to %d", m.Start, m.End)
	}
	span := rangeSegment{m.Start, m.End}
	switch m.Kind {
	case pb.SegmentHoles:
		return parseHoles(span, &m.Array)
	case pb.SegmentBitmap:
		return parseBitmap(span, m.Bitmap)
	}
	if span.end-span.start > maxRows {
		return nil, corrupt("a range from %d to %d", m.Start, m.End)
	}
	return span, nil
}

// A rangeSegment is the ids [start, end).
type rangeSegment struct{ start, end uint64 }

func (r rangeSegment) len() int64               { return int64(r.end - r.start) }
func (r rangeSegment) at(k int64) uint64        { return r.start + uint64(k) }
func (r rangeSegment) bounds() (uint64, uint64) { return r.start, r.end - 1 }

func (r rangeSegment) appendTo(ids []uint64, from, to int64) []uint64 {
	for k := from; k < to; k++ {
		ids = append(ids, r.start+uint64(k))
	}
	return ids
}

func (r rangeSegment) find(id uint64) (int64, bool) {
	return int64(id - r.start), id >= r.start && id < r.end
}

func (r rangeSegment) message() pb.U64Segment {
	return pb.U64Segment{Kind: pb.SegmentRange, Start: r.start, End: r.end}
}

// A holesSegment is a range without some ids, the holes, which ascend within it.
type holesSegment struct {
	rangeSegment
	holes array
}

// parseHoles checks that the holes ascend and lie within the range.
func parseHoles(span rangeSegment, m *pb.EncodedU64Array) (segment, error) {
	holes, err := parseArray(m)
	if err != nil {
		return nil, err
	}
	if err := holes.checkAscending(); err != nil {
		return nil, err
	}
	n := holes.len()
	if n > 0 && (holes.at(0) < span.start || holes.at(n-1) >= span.end) {
		return nil, corrupt("holes outside of the range from %d to %d", span.start, span.end)
	}
	if span.end-span.start > maxRows+uint64(n) {
		return nil, corrupt("a range from %d to %d with %d holes", span.start, span.end, n)
	}
	return holesSegment{span, holes}, nil
}

func (h holesSegment) len() int64 { return int64(h.end - h.start - uint64(h.holes.len())) }

// at returns the k-th id: the k-th number of the range, moved up by the number of holes
// before it. Hole i lies before the id if at most k ids lie before the hole.
func (h holesSegment) at(k int64) uint64 {
	before := sort.Search(int(h.holes.len()), func(i int) bool {
		return h.holes.at(int64(i))-h.start-uint64(i) > uint64(k)
	})
	return h.start + uint64(k) + uint64(before)
}

func (h holesSegment) bounds() (uint64, uint64) { return h.at(0), h.at(h.len() - 1) }

// appendTo appends the ids of positions [from, to) by walking over ids and holes.
func (h holesSegment) appendTo(ids []uint64, from, to int64) []uint64 {
	if from >= to {
		return ids
	}
	id := h.at(from)
	hole := h.holes.search(id)
	for n := to - from; n > 0; id++ {
		if hole < h.holes.len() && h.holes.at(hole) == id {
			hole++
			continue
		}
		ids = append(ids, id)
		n--
	}
	return ids
}

// find subtracts the holes before the id from its distance to start.
func (h holesSegment) find(id uint64) (int64, bool) {
	if id < h.start || id >= h.end {
		return 0, false
	}
	before := h.holes.search(id)
	if before < h.holes.len() && h.holes.at(before) == id {
		return 0, false
	}
	return int64(id-h.start) - before, true
}

func (h holesSegment) message() pb.U64Segment {
	return pb.U64Segment{Kind: pb.SegmentHoles, Start: h.start, End: h.end, Array: h.holes.message()}
}

// A bitmapSegment is the ids of a range whose bits are set. The lowest bit of a byte comes
// first; the comment in the format's rowids.proto states the opposite, but native Lance
// does this. The ids 10, 11 and 13 are start 10, end 14 and the byte 0b.
type bitmapSegment struct {
	rangeSegment
	set   []byte
	ranks []uint32 // set bits before each block of rankBytes
	count int64
}

const rankBytes = 64

// parseBitmap checks that the bitmap has exactly the bits of the range.
func parseBitmap(span rangeSegment, set []byte) (segment, error) {
	n := span.end - span.start
	if n > 8*uint64(len(set)) || uint64(len(set)) != (n+7)/8 {
		return nil, corrupt("a bitmap of %d bytes for %d ids", len(set), n)
	}
	if n%8 != 0 && set[len(set)-1]>>(n%8) != 0 {
		return nil, corrupt("a bitmap with bits past its %d ids", n)
	}
	b := newBitmap(span, set)
	if b.count > maxRows {
		return nil, corrupt("a bitmap of %d ids", b.count)
	}
	return b, nil
}

// newBitmap counts the set bits before each block of rankBytes, so that at and find need not count
// from the start.
func newBitmap(span rangeSegment, set []byte) bitmapSegment {
	b := bitmapSegment{rangeSegment: span, set: set}
	for i, x := range set {
		if i%rankBytes == 0 {
			b.ranks = append(b.ranks, uint32(b.count))
		}
		b.count += int64(bits.OnesCount8(x))
	}
	return b
}

func (b bitmapSegment) len() int64 { return b.count }

// at finds the block of the k-th set bit by its rank, and the bit in it by counting.
func (b bitmapSegment) at(k int64) uint64 {
	block := sort.Search(len(b.ranks), func(i int) bool { return int64(b.ranks[i]) > k }) - 1
	k -= int64(b.ranks[block])
	at := block * rankBytes
	for ; int64(bits.OnesCount8(b.set[at])) <= k; at++ {
		k -= int64(bits.OnesCount8(b.set[at]))
	}
	x := b.set[at]
	for ; k > 0; k-- {
		x &= x - 1
	}
	return b.start + uint64(8*at+bits.TrailingZeros8(x))
}

func (b bitmapSegment) bounds() (uint64, uint64) { return b.at(0), b.at(b.count - 1) }

// appendTo walks over the set bits from position from on.
func (b bitmapSegment) appendTo(ids []uint64, from, to int64) []uint64 {
	if from >= to {
		return ids
	}
	first := b.at(from) - b.start
	n := to - from
	for at := first / 8; n > 0; at++ {
		x := b.set[at]
		if at == first/8 {
			x &= 0xFF << (first % 8)
		}
		for ; x != 0 && n > 0; x &= x - 1 {
			ids = append(ids, b.start+8*at+uint64(bits.TrailingZeros8(x)))
			n--
		}
	}
	return ids
}

// find returns the number of set bits before the id's bit.
func (b bitmapSegment) find(id uint64) (int64, bool) {
	if id < b.start || id >= b.end {
		return 0, false
	}
	bit := id - b.start
	x := b.set[bit/8]
	if x>>(bit%8)&1 == 0 {
		return 0, false
	}
	block := bit / 8 / rankBytes
	k := int64(b.ranks[block])
	for _, y := range b.set[block*rankBytes : bit/8] {
		k += int64(bits.OnesCount8(y))
	}
	return k + int64(bits.OnesCount8(x&(1<<(bit%8)-1))), true
}

func (b bitmapSegment) message() pb.U64Segment {
	return pb.U64Segment{Kind: pb.SegmentBitmap, Start: b.start, End: b.end, Bitmap: b.set}
}
