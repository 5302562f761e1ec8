package encoding

import (
	"math"

	"tiltyard/shared/lance/encoding/fsst"
	"tiltyard/shared/lance/pb"
)

// Variable values, and lists, of version 2.0 are stored as where each of them ends: one
// u64 per value, counted in bytes or items from the start of the page; the first value
// begins at 0. A null adds the page's null adjustment, which is larger than any end:
//
//	[ "ab", null, "", "cde" ], adjustment 6    ends 2, 8, 2, 5

// listEnds are where some values or lists of a page end.
type listEnds struct {
	ends  []int
	valid bitmap
	spans []RowRange // per range of rows: where they begin and end
}

// readEnds reads where rows begin and end.
func (a *arrayReader) readEnds(enc pb.ArrayEncoding, adjustment uint64, rows []RowRange) (*listEnds, error) {
	// Where a row begins is where the one before it ends.
	before := make([]RowRange, len(rows))
	for i, r := range rows {
		before[i] = RowRange{max(r.From-1, 0), r.To}
		if r.From == r.To {
			before[i] = r
		}
	}
	raw, err := a.read(enc, fixedShape(64), before)
	if err != nil || a.missing {
		return nil, err
	}
	words := viewAs[uint64](raw.items.values.fixed)
	e := &listEnds{spans: make([]RowRange, len(rows))}
	for i, r := range rows {
		start := 0
		if r.From > 0 && r.To > r.From {
			if start, _, err = splitEnd(words[0], adjustment); err != nil {
				return nil, err
			}
			words = words[1:]
		}
		last := start
		for _, word := range words[:r.To-r.From] {
			end, valid, err := splitEnd(word, adjustment)
			if err != nil {
				return nil, err
			}
			if end < last {
				return nil, corruptf("value ends at %d before it begins at %d", end, last)
			}
			e.ends = append(e.ends, end)
			e.valid.appendBit(valid)
			last = end
		}
		words = words[r.To-r.From:]
		e.spans[i] = RowRange{start, last}
	}
	return e, nil
}

func splitEnd(word, adjustment uint64) (end int, valid bool, err error) {
	valid = adjustment == 0 || word < adjustment
	if !valid {
		word %= adjustment
	}
	if word > math.MaxInt64/64 {
		return 0, false, corruptf("value ends at %d", word)
	}
	return int(word), valid, nil
}

func (a *arrayReader) binary(enc *pb.ArrayBinary, s *shape, rows []RowRange) (*ItemsV20, error) {
	if s.kind != shapeVariable {
		return nil, corruptf("binary encoding for values of fixed width")
	}
	ends, err := a.readEnds(enc.Indices, enc.NullAdjustment, rows)
	if err != nil || ends == nil {
		return a.plainItems(s), err
	}
	data, err := a.read(enc.Bytes, fixedShape(8), ends.spans)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	out := a.plainItems(s)
	v := out.items.values
	v.data = data.items.values.fixed
	if len(v.data) > math.MaxInt32 {
		return nil, errTooLarge
	}
	v.offsets = make([]int32, 1, len(ends.ends)+1)
	at := 0
	for i, r := range rows {
		last := ends.spans[i].From
		for range r.To - r.From {
			end := ends.ends[len(v.offsets)-1]
			at += end - last
			last = end
			v.offsets = append(v.offsets, int32(at))
		}
	}
	v.n = len(ends.ends)
	out.valid = ends.valid
	return out, nil
}

// fsstBlock is after how many texts memory is asked for.
const fsstBlock = 256

func (a *arrayReader) fsst(enc *pb.ArrayFSST, s *shape, rows []RowRange) (*ItemsV20, error) {
	table, err := fsst.ParseTable(enc.SymbolTable)
	if err != nil {
		return nil, err
	}
	codes, err := a.read(enc.Binary, s, rows)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	if s.kind != shapeVariable {
		return nil, corruptf("text compression for values of fixed width")
	}
	out := a.plainItems(s)
	out.valid = codes.valid
	from, to := codes.items.values, out.items.values
	grown := growth{room: a.room}
	for i := range from.n {
		if i%fsstBlock == 0 {
			if err := grown.reach(to.footprint()); err != nil {
				return nil, err
			}
		}
		to.data, err = appendText(table, to.data, from.data[from.offsets[i]:from.offsets[i+1]])
		if err != nil {
			return nil, err
		}
		if err := to.endValue(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
