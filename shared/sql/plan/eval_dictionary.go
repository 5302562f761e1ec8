package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/expr"
)

// A dictionary is a leaf of an expression, in a frame, whose values are those of a dictionary. An operation
// that depends on nothing else is computed once for each distinct value, and not for each row.
type dictionary struct {
	numbers []int // by row: that of its value
	values  frame // the distinct values of the rows, of which one may be NULL
}

// byValue computes a node for each distinct value of its leaf that some of the rows have. It reports whether
// the leaf has a dictionary with fewer values than rows.
func (f *frame) byValue(n *expr.Node, rows column.Bitset) (v column.Vec, ok bool, err error) {
	d, err := f.dictionary(n.Leaf)
	if d == nil || err != nil {
		return v, false, err
	}
	var among column.Bitset // the values of the rows, so that others cause no errors
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

// dictionary returns the dictionary of a leaf; nil if it has none, or one with about as many values as rows.
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

// array returns the array of a leaf, or nil if it is not as it was loaded.
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
