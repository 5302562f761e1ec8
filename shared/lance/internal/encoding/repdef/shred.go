package repdef

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance/internal/encoding/values"
)

// A Shredder takes rows of nested arrays apart, for one leaf: into levels, which hold the
// structure, and the leaf's values.
//
// It numbers definition levels as if every layer could hold nulls and empty lists; from the leaf
// outward an item layer takes one level (null), a list layer two (null, then empty). A page keeps
// only the levels that occur in it (see Buffer.Finish).
//
//	list<struct<a>>, all nullable        def
//	a is there                            0
//	a is null                             1
//	the struct is null                    2
//	the list is null                      3
//	the list is empty                     4
//
// A repetition level is L, the number of list layers, in the entry where a row begins; r in an
// entry where a new list begins in the r-th list layer counted from the leaf; 0 in the entry of
// another item of the innermost list. In list<list<int>> the row [[1, 2], [3]] has the levels 2, 0,
// 1.
type Shredder struct {
	path     *Path
	nulls    []uint16 // per step: level of a null; of an empty list it is one more
	LeafNull uint16   // level of a null of the leaf
	Lists    int      // on the path

	// State of the walk down the path. Of the N entries, those with a level below limit have a slot
	// in the current array; Spans lists these slots in order.
	N                int
	limit            uint16
	rep, def         []uint16 // rep is meaningless before the first list, def while !cut
	Cut              bool     // some def is not 0
	Spans            []values.Span
	oldRep, oldDef   []uint16
	oldSpans         []values.Span
	items            []uint16 // levels of the entries with a slot, when lists hide some
	dictionaryBitmap []byte
	flat             bool // see DescendFlat
}

// NewShredder returns a shredder for the leaf at the end of a path.
func NewShredder(p *Path) *Shredder {
	s := &Shredder{path: p, nulls: make([]uint16, len(p.Steps)), LeafNull: 1}
	level := uint16(2)
	for i := len(p.Steps) - 1; i >= 0; i-- {
		s.nulls[i] = level
		level++
		if p.Steps[i].Kind == ListStep {
			s.Lists++
			level++
		}
	}
	return s
}

// Shred walks from the field's array down to the leaf's array and returns that. Afterwards rep, def
// and N are the levels of arr's rows, and Spans the slots of the returned array that are stored.
func (s *Shredder) Shred(arr arrow.Array) (arrow.Array, error) {
	arr, err := s.descend(arr)
	if err != nil {
		return nil, err
	}
	if err := CheckLeaf(arr, &s.path.Leaf); err != nil {
		return nil, err
	}
	return arr, s.CutNulls(arr, s.LeafNull, s.path.Leaf.Nullable, s.path.Leaf.Name)
}

// descend walks down to the array at the end of the path, without a check of its type.
func (s *Shredder) descend(arr arrow.Array) (arrow.Array, error) {
	s.N, s.limit, s.Cut = arr.Len(), ^uint16(0), false
	s.rep, s.def = s.rep[:0], s.def[:0]
	s.Spans = append(s.Spans[:0], values.Span{To: arr.Len()})
	lists := s.Lists
	for i := range s.path.Steps {
		step := &s.path.Steps[i]
		arr = values.Storage(arr)
		err := s.CutNulls(arr, s.nulls[i], step.Nullable, step.Name)
		if err != nil {
			return nil, err
		}
		switch step.Kind {
		case StructStep:
			arr, err = step.member(arr)
		case FixedListStep:
			arr, err = s.enterFixedLists(arr, step)
		case ListStep:
			arr, err = s.enterLists(arr, s.nulls[i], lists, step)
			lists--
		}
		if err != nil {
			return nil, err
		}
	}
	return values.Storage(arr), nil
}

// member returns the member of a struct array, which must have the expected name at the expected
// position.
func (step *Step) member(arr arrow.Array) (arrow.Array, error) {
	st, ok := arr.(*array.Struct)
	if !ok {
		return nil, step.mismatch(arr)
	}
	t := st.DataType().(*arrow.StructType)
	if step.Child >= st.NumField() || t.Field(step.Child).Name != step.Member {
		return nil, step.mismatch(arr)
	}
	return st.Field(step.Child), nil
}

// CutNulls gives the given level to the entries that are null in arr. Entries that a layer further
// out has cut off keep their level.
func (s *Shredder) CutNulls(arr arrow.Array, level uint16, nullable bool, name string) error {
	valid, offset, all := s.Validity(arr)
	if valid == nil && !all {
		return nil
	}
	fresh := !s.Cut && s.limit == ^uint16(0)
	s.materialise()
	var found bool
	if fresh && !all {
		found = s.cutFresh(valid, offset, level)
	} else {
		found = s.cutMore(valid, offset, all, level)
	}
	s.Cut = s.Cut || found
	if found && !nullable {
		return fmt.Errorf("field %q is not nullable but has a null", name)
	}
	return nil
}

// cutFresh is the fast path of CutNulls when all entries have slots and none is cut off. It reports
// whether it found a null.
func (s *Shredder) cutFresh(valid []byte, offset int, level uint16) bool {
	some := uint16(0)
	e := 0
	for _, sp := range s.Spans {
		def := s.def[e : e+sp.To-sp.From]
		for i := range def {
			at := offset + sp.From + i
			def[i] = level & (uint16(valid[at>>3]>>(at&7)&1) - 1) // nulls come at random: no branch
			some |= def[i]
		}
		e += len(def)
	}
	return some != 0
}

// cutMore is the general path of CutNulls.
func (s *Shredder) cutMore(valid []byte, offset int, all bool, level uint16) bool {
	found := false
	e := 0
	for _, sp := range s.Spans {
		for i := sp.From; i < sp.To; i, e = i+1, e+1 {
			for s.def[e] >= s.limit {
				e++
			}
			if s.def[e] == 0 && (all || !bitutil.BitIsSet(valid, offset+i)) {
				s.def[e] = level
				found = true
			}
		}
	}
	return found
}

// Validity returns the validity bitmap of arr with the position of its first bit. The bitmap is nil
// if nothing is null, and all is true if everything is.
func (s *Shredder) Validity(arr arrow.Array) (bitmap []byte, offset int, all bool) {
	if arr.DataType().ID() == arrow.NULL {
		return nil, 0, true
	}
	if d, ok := arr.(*array.Dictionary); ok && d.Dictionary().NullN() > 0 {
		return s.dictionaryValidity(d), 0, false
	}
	if arr.NullN() == 0 {
		return nil, 0, false
	}
	return arr.NullBitmapBytes(), arr.Data().Offset(), false
}

// dictionaryValidity returns the validity of an array whose dictionary contains a null: rows with
// that index are null too.
func (s *Shredder) dictionaryValidity(d *array.Dictionary) []byte {
	s.dictionaryBitmap = append(s.dictionaryBitmap[:0], make([]byte, bitutil.BytesForBits(int64(d.Len())))...)
	for i := range d.Len() {
		if d.IsValid(i) && d.Dictionary().IsValid(d.GetValueIndex(i)) {
			bitutil.SetBit(s.dictionaryBitmap, i)
		}
	}
	return s.dictionaryBitmap
}

// materialise fills def with zeros if it was implicitly zero so far.
func (s *Shredder) materialise() {
	if !s.Cut {
		s.def = zeros(s.def, s.N)
	}
}

func zeros(b []uint16, n int) []uint16 {
	if cap(b) < n {
		return make([]uint16, n)
	}
	b = b[:n]
	clear(b)
	return b
}

// enterFixedLists replaces each entry by one entry per item. Null lists have items as well.
func (s *Shredder) enterFixedLists(arr arrow.Array, step *Step) (arrow.Array, error) {
	list, ok := arr.(*array.FixedSizeList)
	if !ok || int(list.DataType().(*arrow.FixedSizeListType).Len()) != step.Size {
		return nil, step.mismatch(arr)
	}
	s.oldDef, s.def = s.def, s.oldDef[:0]
	if s.Cut {
		for _, d := range s.oldDef {
			for range step.Size {
				s.def = append(s.def, d)
			}
		}
	}
	s.N *= step.Size
	offset := arr.Data().Offset()
	for i, sp := range s.Spans {
		s.Spans[i] = values.Span{From: (offset + sp.From) * step.Size, To: (offset + sp.To) * step.Size}
	}
	return list.ListValues(), nil
}

// enterLists replaces each entry by one entry per item of its list, and keeps the entry of a null
// or empty list. This list layer is the rank-th counted from the leaf.
func (s *Shredder) enterLists(arr arrow.Array, null uint16, rank int, step *Step) (arrow.Array, error) {
	var items arrow.Array
	switch list := arr.(type) {
	case *array.List:
		items = list.ListValues()
		expand(s, SlotOffsets(list.Offsets(), arr), null, rank)
	case *array.Map:
		items = list.ListValues()
		expand(s, SlotOffsets(list.Offsets(), arr), null, rank)
	case *array.LargeList:
		items = list.ListValues()
		expand(s, SlotOffsets(list.Offsets(), arr), null, rank)
	default:
		return nil, step.mismatch(arr)
	}
	s.limit = null
	return items, nil
}

// SlotOffsets returns the offsets that begin at arr's first slot.
func SlotOffsets[O int32 | int64](offsets []O, arr arrow.Array) []O {
	if arr.Len() == 0 {
		return nil
	}
	return offsets[arr.Data().Offset():]
}

// expand replaces the entries of lists by the entries of their items. An empty or null list stays
// one entry without a slot.
func expand[O int32 | int64](s *Shredder, offsets []O, null uint16, rank int) {
	s.beginExpand(rank == s.Lists)
	total := s.N
	for _, sp := range s.oldSpans {
		if sp.From < sp.To {
			total += int(offsets[sp.To] - offsets[sp.From])
		}
	}
	s.rep, s.def = slices.Grow(s.rep[:0], total), slices.Grow(s.def[:0], total)
	e := 0
	for _, sp := range s.oldSpans {
		for i := sp.From; i < sp.To; i, e = i+1, e+1 {
			// Copy entries that were cut off further out.
			for s.oldDef[e] >= s.limit {
				s.rep, s.def = append(s.rep, s.oldRep[e]), append(s.def, s.oldDef[e])
				e++
			}
			d := s.oldDef[e]
			// The first item continues the list's entry; the others add entries.
			from, to := int(offsets[i]), int(offsets[i+1])
			if d == 0 && from == to {
				d = null + 1
				s.Cut = true
			}
			s.rep, s.def = append(s.rep, s.oldRep[e]), append(s.def, d)
			if d == 0 {
				s.rep = appendRun(s.rep, uint16(rank-1), to-from-1)
				s.def = appendRun(s.def, 0, to-from-1)
				s.addSpan(from, to)
			}
		}
	}
	s.rep, s.def = append(s.rep, s.oldRep[e:s.N]...), append(s.def, s.oldDef[e:s.N]...)
	s.N = len(s.rep)
}

// beginExpand moves the current entries to the old ones, from which expand makes new ones.
func (s *Shredder) beginExpand(outermost bool) {
	s.oldRep, s.rep = s.rep, s.oldRep
	s.oldDef, s.def = s.def, s.oldDef
	s.oldSpans, s.Spans = s.Spans, s.oldSpans[:0]
	if !s.Cut {
		s.oldDef = zeros(s.oldDef, s.N)
	}
	if outermost {
		s.oldRep = appendRun(s.oldRep[:0], uint16(s.Lists), s.N)
	}
}

func appendRun(b []uint16, v uint16, n int) []uint16 {
	at := len(b)
	b = slices.Grow(b, n)[:at+n]
	run := b[at:]
	for i := range run {
		run[i] = v
	}
	return b
}

// addSpan adds the slots [from, to) and merges them with an adjacent last span.
func (s *Shredder) addSpan(from, to int) {
	if last := len(s.Spans) - 1; last >= 0 && s.Spans[last].To == from {
		s.Spans[last].To = to
		return
	}
	s.Spans = append(s.Spans, values.Span{From: from, To: to})
}

// ItemLevels returns the definition levels of the entries with a slot, one for each slot in Spans;
// nil if all are 0.
func (s *Shredder) ItemLevels() []uint16 {
	if !s.Cut {
		return nil
	}
	if s.Lists == 0 || s.flat {
		return s.def
	}
	s.items = s.items[:0]
	for _, d := range s.def {
		if d < s.limit {
			s.items = append(s.items, d)
		}
	}
	return s.items
}
