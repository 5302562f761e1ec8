package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// A dictionary is a dictionary-encoded leaf of an expression in a frame. An operation that depends on this
// leaf alone is computed once per distinct value instead of once per row.
type dictionary struct {
	numbers []int // by row: that of its value
	values  frame // the distinct values of the rows, possibly with one NULL
}

// byValue computes a node for each distinct value of its leaf that some of the rows have. It reports whether
// the leaf has a dictionary with fewer values than rows.
func (f *frame) byValue(n *expr.Node, rows column.Bitset) (v column.Vec, ok bool, err error) {
	d, err := f.dictionary(n.Leaf)
	if d == nil || err != nil {
		return v, false, err
	}
	var among column.Bitset // the values that occur in the rows; others must not cause errors
	if rows != nil {
		among = column.NewBitset(d.values.n)
		for row, number := range d.numbers {
			if rows.Has(row) {
				among.Set(number)
			}
		}
	}
	mark := f.m.Mark()
	if v, err = d.values.eval(n, among); err != nil || v.Const {
		return v, true, err
	}
	f.m.HoldColumn(mark) // the texts of the result stay there
	if err := f.m.Take(8 * f.n); err != nil {
		return v, true, err
	}
	v, err = v.Pick(f.m, slices.Clone(d.numbers))
	return v, true, err
}

// dictionary returns the dictionary of a leaf. It returns nil if there is none, or if it has about as many
// values as rows.
func (f *frame) dictionary(leaf *expr.Node) (*dictionary, error) {
	d, ok := f.dictionaries[leaf]
	if ok {
		return d, nil
	}
	slots, values := f.slots(leaf)
	if values != nil {
		mark := f.m.Mark()
		if err := f.m.Take(16 * f.n); err != nil {
			return nil, err
		}
		number, numbers, distinct := map[int]int{}, make([]int, f.n), []int(nil)
		for row := range numbers {
			slot := slots(row)
			at, ok := number[slot]
			if !ok {
				at = len(distinct)
				number[slot], distinct = at, append(distinct, slot)
			}
			numbers[row] = at
		}
		if 2*len(distinct) <= f.n {
			all, err := column.Load(f.m, values)
			if err == nil {
				all, err = all.Pick(f.m, distinct)
			}
			if err != nil {
				return nil, err
			}
			d = &dictionary{numbers, frame{m: f.m, n: len(distinct), consts: f.consts, leaf: leaf, given: all}}
		}
		f.m.HoldColumn(mark)
	}
	if f.dictionaries == nil {
		f.dictionaries = map[*expr.Node]*dictionary{}
	}
	f.dictionaries[leaf] = d
	return d, nil
}

// slots returns the values of the dictionary of a leaf, and a function that returns the slot of the value of a
// row, or -1 for NULL. It returns nil for a leaf without a dictionary.
func (f *frame) slots(leaf *expr.Node) (slot func(row int) int, values arrow.Array) {
	d, ok := f.array(leaf).(*array.Dictionary)
	if !ok {
		return nil, nil
	}
	values = d.Dictionary()
	return func(row int) int {
		if d.IsNull(row) || f.isNullAbove(leaf, row) || values.IsNull(d.GetValueIndex(row)) {
			return -1
		}
		return d.GetValueIndex(row)
	}, values
}

// array returns the array of a leaf as it was loaded, or nil if the leaf was computed.
func (f *frame) array(leaf *expr.Node) arrow.Array {
	if leaf.Op == expr.OpCol {
		return f.arrs[leaf.Index]
	}
	if parent, ok := f.array(leaf.Args[0]).(*array.Struct); ok {
		return parent.Field(leaf.Index)
	}
	return nil
}

// isNullAbove reports whether a struct that a leaf is a member of is NULL.
func (f *frame) isNullAbove(leaf *expr.Node, row int) bool {
	return leaf.Op == expr.OpMember && (f.array(leaf.Args[0]).IsNull(row) || f.isNullAbove(leaf.Args[0], row))
}
