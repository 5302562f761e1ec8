package rowid

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"tiltyard/shared/lance/pb"
)

// An array is an encoded list of numbers of the same width; a number is decoded when it is
// read. An array of 2 or 4 bytes per number has a base, which is added to each: 7 and 3 are
// base 3 and the u16 04 00 00 00.
type array struct {
	width  int // 2, 4 or 8 bytes
	base   uint64
	values []byte
}

// parseArray checks an encoded array and returns it.
func parseArray(m *pb.EncodedU64Array) (array, error) {
	a := array{width: m.Width, base: m.Base, values: m.Values}
	if a.width == 0 || len(a.values)%a.width != 0 || len(a.values)/max(a.width, 1) > maxRows {
		return array{}, corrupt("an array of %d bytes for values of %d", len(a.values), a.width)
	}
	for i := range a.len() {
		if a.at(i) < a.base {
			return array{}, corrupt("an array whose values pass 64 bits")
		}
	}
	return a, nil
}

// newArray encodes values in the narrowest width that holds them.
func newArray(values []uint64) array {
	if len(values) == 0 {
		return array{width: 2}
	}
	a := array{width: 8}
	lowest, highest := slices.Min(values), slices.Max(values)
	switch {
	case highest-lowest <= math.MaxUint16:
		a.width, a.base = 2, lowest
	case highest-lowest <= math.MaxUint32:
		a.width, a.base = 4, lowest
	}
	a.values = make([]byte, 0, a.width*len(values))
	for _, v := range values {
		switch a.width {
		case 2:
			a.values = binary.LittleEndian.AppendUint16(a.values, uint16(v-lowest))
		case 4:
			a.values = binary.LittleEndian.AppendUint32(a.values, uint32(v-lowest))
		default:
			a.values = binary.LittleEndian.AppendUint64(a.values, v)
		}
	}
	return a
}

func (a array) len() int64 { return int64(len(a.values) / a.width) }

// at returns value k. Values of 2 and 4 bytes are offsets from base.
func (a array) at(k int64) uint64 {
	switch a.width {
	case 2:
		return a.base + uint64(binary.LittleEndian.Uint16(a.values[2*k:]))
	case 4:
		return a.base + uint64(binary.LittleEndian.Uint32(a.values[4*k:]))
	default:
		return binary.LittleEndian.Uint64(a.values[8*k:])
	}
}

// search returns the number of values below v. The array must ascend.
func (a array) search(v uint64) int64 {
	return int64(sort.Search(int(a.len()), func(i int) bool { return a.at(int64(i)) >= v }))
}

func (a array) checkAscending() error {
	for i := int64(1); i < a.len(); i++ {
		if a.at(i-1) >= a.at(i) {
			return corrupt("%d after %d in an array that ascends", a.at(i), a.at(i-1))
		}
	}
	return nil
}

func (a array) message() pb.EncodedU64Array {
	return pb.EncodedU64Array{Width: a.width, Base: a.base, Values: a.values}
}

func (a array) appendTo(ids []uint64, from, to int64) []uint64 {
	for k := from; k < to; k++ {
		ids = append(ids, a.at(k))
	}
	return ids
}

// A sortedSegment is ids that ascend.
type sortedSegment struct{ array }

func (s sortedSegment) bounds() (uint64, uint64) { return s.at(0), s.at(s.len() - 1) }

func (s sortedSegment) find(id uint64) (int64, bool) {
	k := s.search(id)
	return k, k < s.len() && s.at(k) == id
}

func (s sortedSegment) message() pb.U64Segment {
	return pb.U64Segment{Kind: pb.SegmentSortedArray, Array: s.array.message()}
}

// An arraySegment is ids in any order.
type arraySegment struct{ array }

func (s arraySegment) bounds() (lowest, highest uint64) {
	lowest, highest = math.MaxUint64, 0
	for k := range s.len() {
		lowest, highest = min(lowest, s.at(k)), max(highest, s.at(k))
	}
	return lowest, highest
}

func (s arraySegment) find(id uint64) (int64, bool) {
	for k := range s.len() {
		if s.at(k) == id {
			return k, true
		}
	}
	return 0, false
}

func (s arraySegment) message() pb.U64Segment {
	return pb.U64Segment{Kind: pb.SegmentArray, Array: s.array.message()}
}

// compact returns the segment of some ids in the form that takes the fewest bytes, by the
// estimate of native writers: 4 bytes per hole, a bit per number of the range, 2 bytes per
// id. Source: crate lance-table, src/rowids/segment.rs.
func compact(ids []uint64) segment {
	if len(ids) == 0 {
		return rangeSegment{}
	}
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return arraySegment{newArray(ids)}
		}
	}
	n, first, last := uint64(len(ids)), ids[0], ids[len(ids)-1]
	if last == math.MaxUint64 || last-first >= 1<<40 {
		return sortedSegment{newArray(ids)}
	}
	span := rangeSegment{first, last + 1}
	slots := span.end - span.start
	asHoles, asBitmap, asArray := 4*(slots-n), (slots+7)/8, 2*n
	switch {
	case slots == n:
		return span
	case asHoles <= asBitmap && asHoles <= asArray:
		return holesSegment{span, newArray(missing(ids))}
	case asBitmap <= asArray:
		set := make([]byte, asBitmap)
		for _, id := range ids {
			set[(id-first)/8] |= 1 << ((id - first) % 8)
		}
		return newBitmap(span, set)
	}
	return sortedSegment{newArray(ids)}
}

// missing returns the numbers between ascending ids that are not ids.
func missing(ids []uint64) []uint64 {
	var holes []uint64
	for i := 1; i < len(ids); i++ {
		for v := ids[i-1] + 1; v < ids[i]; v++ {
			holes = append(holes, v)
		}
	}
	return holes
}

// sliceSegment returns ids [from, to) of a segment, by position, as a new segment.
func sliceSegment(g segment, from, to int64) segment {
	if r, ok := g.(rangeSegment); ok {
		return rangeSegment{r.start + uint64(from), r.start + uint64(to)}
	}
	return compact(g.appendTo(make([]uint64, 0, to-from), from, to))
}
