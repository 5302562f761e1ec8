package version20

import (
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/fsst"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// Version 2.0 stores variable values, and lists, as their ends: one u64 per value, counted in bytes
// or items from the start of the page; the first value begins at 0. The end of a null has the
// page's null adjustment added, which is larger than any end:
//
//	[ "ab", null, "", "cde" ], adjustment 6    ends 2, 8, 2, 5

// listEnds are the ends of some values or lists of a page.
type listEnds struct {
	ends  []int
	valid values.Bitmap
	spans []encoding.RowRange // per range of rows: where they begin and end
}

// readEnds reads the beginnings and ends of rows. The beginning of a row is the end of the row
// before.
func (a *arrayReader) readEnds(enc pb.ArrayEncoding, adjustment uint64, rows []encoding.RowRange) (*listEnds, error) {
	// Where a row begins is where the one before it ends.
	before := make([]encoding.RowRange, len(rows))
	for i, r := range rows {
		before[i] = encoding.RowRange{From: max(r.From-1, 0), To: r.To}
		if r.From == r.To {
			before[i] = r
		}
	}
	raw, err := a.read(enc, values.FixedShape(64), before)
	if err != nil || a.missing {
		return nil, err
	}
	words := values.ViewAs[uint64](raw.items.Values.Fixed)
	e := &listEnds{spans: make([]encoding.RowRange, len(rows))}
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
				return nil, lance.Corruptf("value ends at %d before it begins at %d", end, last)
			}
			e.ends = append(e.ends, end)
			e.valid.AppendBit(valid)
			last = end
		}
		words = words[r.To-r.From:]
		e.spans[i] = encoding.RowRange{From: start, To: last}
	}
	return e, nil
}

// splitEnd separates an end from the null adjustment, which is added to the ends of null values.
func splitEnd(word, adjustment uint64) (end int, valid bool, err error) {
	valid = adjustment == 0 || word < adjustment
	if !valid {
		word %= adjustment
	}
	if word > math.MaxInt64/64 {
		return 0, false, lance.Corruptf("value ends at %d", word)
	}
	return int(word), valid, nil
}

// binary reads the ends of the values and then their bytes.
func (a *arrayReader) binary(enc *pb.ArrayBinary, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	if s.Kind != values.Variable {
		return nil, lance.Corruptf("binary encoding for values of fixed width")
	}
	ends, err := a.readEnds(enc.Indices, enc.NullAdjustment, rows)
	if err != nil || ends == nil {
		return a.plainItems(s), err
	}
	data, err := a.read(enc.Bytes, values.FixedShape(8), ends.spans)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	out := a.plainItems(s)
	v := out.items.Values
	v.Data = data.items.Values.Fixed
	if len(v.Data) > math.MaxInt32 {
		return nil, values.ErrTooLarge
	}
	v.Offsets = make([]int32, 1, len(ends.ends)+1)
	// Offsets count from the start of the fetched bytes, not of the page.
	at := 0
	for i, r := range rows {
		last := ends.spans[i].From
		for range r.To - r.From {
			end := ends.ends[len(v.Offsets)-1]
			at += end - last
			last = end
			v.Offsets = append(v.Offsets, int32(at))
		}
	}
	v.N = len(ends.ends)
	out.valid = ends.valid
	return out, nil
}

// fsstBlock is the number of texts that are decoded between requests for memory.
const fsstBlock = 256

// fsst reads codes as strings and expands them by the symbol table.
func (a *arrayReader) fsst(enc *pb.ArrayFSST, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	table, err := fsst.ParseTable(enc.SymbolTable)
	if err != nil {
		return nil, err
	}
	codes, err := a.read(enc.Binary, s, rows)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	if s.Kind != values.Variable {
		return nil, lance.Corruptf("text compression for values of fixed width")
	}
	out := a.plainItems(s)
	out.valid = codes.valid
	from, to := codes.items.Values, out.items.Values
	grown := values.Growth{Room: a.room}
	for i := range from.N {
		if i%fsstBlock == 0 {
			if err := grown.Reach(to.Footprint()); err != nil {
				return nil, err
			}
		}
		to.Data, err = codec.AppendText(table, to.Data, from.Data[from.Offsets[i]:from.Offsets[i+1]])
		if err != nil {
			return nil, err
		}
		if err := to.EndValue(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
