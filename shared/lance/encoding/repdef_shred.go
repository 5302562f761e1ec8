package encoding

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// A Path leads from a field of a table down to one of its leaves, which is one column
// of a data file.
type Path struct {
	Steps []Step // outermost first; none when the field is the leaf
	Leaf  Leaf
}

// A Step goes from a nested field to one of its children.
type Step struct {
	Kind     StepKind
	Child    int    // StructStep: position of the member
	Member   string // StructStep: its name
	Size     int    // FixedListStep: items of each list
	Name     string // the nested field, for errors
	Nullable bool   // whether the nested field may be null
}

// A StepKind is the kind of the nested field that a Step starts from.
type StepKind int

// The kinds of steps. A map is a list whose items are structs of a key and a value.
const (
	StructStep    StepKind = iota + 1 // to a member of a struct
	ListStep                          // to the items of a list, large list or map
	FixedListStep                     // to the items of a fixed-size list of structs
)

// A Leaf is where a Path ends.
type Leaf struct {
	Type     arrow.DataType // storage type; no list, struct or map
	Name     string         // for errors
	Nullable bool
	Packed   bool              // a struct whose rows are stored whole
	Blob     bool              // a packed struct of positions and sizes, in a blob page; for writing 2.1 only
	Metadata map[string]string // of the field: how it wants to be stored; for writing only
}

// A shredder takes rows of nested arrays apart, for one leaf: into levels, which tell
// the structure, and the leaf's values.
//
// It numbers definition levels as if every layer could hold nulls and empty lists; from
// the leaf outward an item layer takes one level (null), a list layer two (null, then
// empty). A page keeps only those that it uses (see levelBuffer.layers).
//
//	list<struct<a>>, all nullable        def
//	a is there                            0
//	a is null                             1
//	the struct is null                    2
//	the list is null                      3
//	the list is empty                     4
//
// A repetition level is L, the number of list layers, where a row begins; r where a new
// list begins in the r-th list layer counted from the leaf; 0 for another item of the
// innermost list.
type shredder struct {
	path     *Path
	nulls    []uint16 // per step: level of a null; of an empty list it is one more
	leafNull uint16
	lists    int

	// The walk down the path. There are n entries; those whose level is below limit
	// have a slot in the current array. spans are these slots, in order.
	n                int
	limit            uint16
	rep, def         []uint16 // rep is meaningless before the first list, def while !cut
	cut              bool     // some def is not 0
	spans            []span
	oldRep, oldDef   []uint16
	oldSpans         []span
	items            []uint16 // levels of the entries with a slot, when lists hide some
	dictionaryBitmap []byte
	flat             bool // see descendFlat
}

// A span is a run of slots of an array: [from, to).
type span struct{ from, to int }

func newShredder(p *Path) *shredder {
	s := &shredder{path: p, nulls: make([]uint16, len(p.Steps)), leafNull: 1}
	level := uint16(2)
	for i := len(p.Steps) - 1; i >= 0; i-- {
		s.nulls[i] = level
		level++
		if p.Steps[i].Kind == ListStep {
			s.lists++
			level++
		}
	}
	return s
}

// shred walks from the field's array down to the leaf's. Afterwards rep, def and n are
// the levels of arr's rows, and spans the slots of the returned array that are stored.
func (s *shredder) shred(arr arrow.Array) (arrow.Array, error) {
	arr, err := s.descend(arr)
	if err != nil {
		return nil, err
	}
	if err := checkLeaf(arr, &s.path.Leaf); err != nil {
		return nil, err
	}
	return arr, s.cutNulls(arr, s.leafNull, s.path.Leaf.Nullable, s.path.Leaf.Name)
}

// descend goes down to the array at the end of the path, whatever it is.
func (s *shredder) descend(arr arrow.Array) (arrow.Array, error) {
	s.n, s.limit, s.cut = arr.Len(), ^uint16(0), false
	s.rep, s.def = s.rep[:0], s.def[:0]
	s.spans = append(s.spans[:0], span{0, arr.Len()})
	lists := s.lists
	for i := range s.path.Steps {
		step := &s.path.Steps[i]
		arr = storage(arr)
		err := s.cutNulls(arr, s.nulls[i], step.Nullable, step.Name)
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
	return storage(arr), nil
}

// storage takes extension types off an array.
func storage(arr arrow.Array) arrow.Array {
	for {
		ext, ok := arr.(array.ExtensionArray)
		if !ok {
			return arr
		}
		arr = ext.Storage()
	}
}

func (step *Step) mismatch(arr arrow.Array) error {
	return fmt.Errorf("field %q: array of type %s does not fit the schema", step.Name, arr.DataType())
}

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

// cutNulls gives the entries that are null in arr the given level, unless something
// further out has cut them off already.
func (s *shredder) cutNulls(arr arrow.Array, level uint16, nullable bool, name string) error {
	valid, offset, all := s.validity(arr)
	if valid == nil && !all {
		return nil
	}
	fresh := !s.cut && s.limit == ^uint16(0)
	s.materialise()
	var found bool
	if fresh && !all {
		found = s.cutFresh(valid, offset, level)
	} else {
		found = s.cutMore(valid, offset, all, level)
	}
	s.cut = s.cut || found
	if found && !nullable {
		return fmt.Errorf("field %q is not nullable but has a null", name)
	}
	return nil
}

// cutFresh is cutNulls for entries that nothing has been cut off from and that all have
// slots. It reports whether it found a null.
func (s *shredder) cutFresh(valid []byte, offset int, level uint16) bool {
	some := uint16(0)
	e := 0
	for _, sp := range s.spans {
		def := s.def[e : e+sp.to-sp.from]
		for i := range def {
			at := offset + sp.from + i
			def[i] = level & (uint16(valid[at>>3]>>(at&7)&1) - 1) // nulls come at random: no branch
			some |= def[i]
		}
		e += len(def)
	}
	return some != 0
}

// cutMore is cutNulls for any entries.
func (s *shredder) cutMore(valid []byte, offset int, all bool, level uint16) bool {
	found := false
	e := 0
	for _, sp := range s.spans {
		for i := sp.from; i < sp.to; i, e = i+1, e+1 {
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

// validity returns the bitmap of arr with the position of its first bit, nil when
// nothing is null, or all when everything is.
func (s *shredder) validity(arr arrow.Array) (bitmap []byte, offset int, all bool) {
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

// dictionaryValidity is for dictionaries that hold a null: its rows are null as well.
func (s *shredder) dictionaryValidity(d *array.Dictionary) []byte {
	s.dictionaryBitmap = append(s.dictionaryBitmap[:0], make([]byte, bitutil.BytesForBits(int64(d.Len())))...)
	for i := range d.Len() {
		if d.IsValid(i) && d.Dictionary().IsValid(d.GetValueIndex(i)) {
			bitutil.SetBit(s.dictionaryBitmap, i)
		}
	}
	return s.dictionaryBitmap
}

// materialise makes def real where it was all zeros so far.
func (s *shredder) materialise() {
	if !s.cut {
		s.def = zeros(s.def, s.n)
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

// enterFixedLists replaces each entry by one per item. Null lists have items as well.
func (s *shredder) enterFixedLists(arr arrow.Array, step *Step) (arrow.Array, error) {
	list, ok := arr.(*array.FixedSizeList)
	if !ok || int(list.DataType().(*arrow.FixedSizeListType).Len()) != step.Size {
		return nil, step.mismatch(arr)
	}
	s.oldDef, s.def = s.def, s.oldDef[:0]
	if s.cut {
		for _, d := range s.oldDef {
			for range step.Size {
				s.def = append(s.def, d)
			}
		}
	}
	s.n *= step.Size
	offset := arr.Data().Offset()
	for i, sp := range s.spans {
		s.spans[i] = span{(offset + sp.from) * step.Size, (offset + sp.to) * step.Size}
	}
	return list.ListValues(), nil
}

// enterLists replaces each entry by its list's items. This list layer is the rank-th
// counted from the leaf.
func (s *shredder) enterLists(arr arrow.Array, null uint16, rank int, step *Step) (arrow.Array, error) {
	var items arrow.Array
	switch list := arr.(type) {
	case *array.List:
		items = list.ListValues()
		expand(s, slotOffsets(list.Offsets(), arr), null, rank)
	case *array.Map:
		items = list.ListValues()
		expand(s, slotOffsets(list.Offsets(), arr), null, rank)
	case *array.LargeList:
		items = list.ListValues()
		expand(s, slotOffsets(list.Offsets(), arr), null, rank)
	default:
		return nil, step.mismatch(arr)
	}
	s.limit = null
	return items, nil
}

// slotOffsets returns the offsets that begin at arr's first slot.
func slotOffsets[O int32 | int64](offsets []O, arr arrow.Array) []O {
	if arr.Len() == 0 {
		return nil
	}
	return offsets[arr.Data().Offset():]
}

func expand[O int32 | int64](s *shredder, offsets []O, null uint16, rank int) {
	s.beginExpand(rank == s.lists)
	total := s.n
	for _, sp := range s.oldSpans {
		if sp.from < sp.to {
			total += int(offsets[sp.to] - offsets[sp.from])
		}
	}
	s.rep, s.def = slices.Grow(s.rep[:0], total), slices.Grow(s.def[:0], total)
	e := 0
	for _, sp := range s.oldSpans {
		for i := sp.from; i < sp.to; i, e = i+1, e+1 {
			for s.oldDef[e] >= s.limit {
				s.rep, s.def = append(s.rep, s.oldRep[e]), append(s.def, s.oldDef[e])
				e++
			}
			d := s.oldDef[e]
			from, to := int(offsets[i]), int(offsets[i+1])
			if d == 0 && from == to {
				d = null + 1
				s.cut = true
			}
			s.rep, s.def = append(s.rep, s.oldRep[e]), append(s.def, d)
			if d == 0 {
				s.rep = appendRun(s.rep, uint16(rank-1), to-from-1)
				s.def = appendRun(s.def, 0, to-from-1)
				s.addSpan(from, to)
			}
		}
	}
	s.rep, s.def = append(s.rep, s.oldRep[e:s.n]...), append(s.def, s.oldDef[e:s.n]...)
	s.n = len(s.rep)
}

// beginExpand makes the current entries the old ones.
func (s *shredder) beginExpand(outermost bool) {
	s.oldRep, s.rep = s.rep, s.oldRep
	s.oldDef, s.def = s.def, s.oldDef
	s.oldSpans, s.spans = s.spans, s.oldSpans[:0]
	if !s.cut {
		s.oldDef = zeros(s.oldDef, s.n)
	}
	if outermost {
		s.oldRep = appendRun(s.oldRep[:0], uint16(s.lists), s.n)
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

func (s *shredder) addSpan(from, to int) {
	if last := len(s.spans) - 1; last >= 0 && s.spans[last].to == from {
		s.spans[last].to = to
		return
	}
	s.spans = append(s.spans, span{from, to})
}

// itemLevels returns the levels of the entries with a slot, one for each slot in spans;
// nil when all are 0.
func (s *shredder) itemLevels() []uint16 {
	if !s.cut {
		return nil
	}
	if s.lists == 0 || s.flat {
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
