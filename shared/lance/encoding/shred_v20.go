package encoding

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// descendFlat is descend for version 2.0, where a node of a schema has a column of its
// own and nothing is said of what is around it: all entries have a slot, and there are
// no levels but for its own nulls, which cutNulls finds. Items of null lists are not
// stored. Null structs are for the struct's own column to refuse.
func (s *shredder) descendFlat(arr arrow.Array) (arrow.Array, error) {
	s.limit, s.cut, s.flat = ^uint16(0), false, true
	s.spans = append(s.spans[:0], span{0, arr.Len()})
	for i := range s.path.Steps {
		step := &s.path.Steps[i]
		arr = storage(arr)
		var err error
		if step.Kind == StructStep {
			arr, err = step.member(arr)
		} else {
			arr, err = s.enterFlat(arr, step)
		}
		if err != nil {
			return nil, err
		}
	}
	s.n = 0
	for _, sp := range s.spans {
		s.n += sp.to - sp.from
	}
	return storage(arr), nil
}

// enterFlat replaces the slots of lists by those of their items.
func (s *shredder) enterFlat(arr arrow.Array, step *Step) (arrow.Array, error) {
	s.oldSpans, s.spans = s.spans, s.oldSpans[:0]
	switch list := arr.(type) {
	case *array.List:
		flatten(s, slotOffsets(list.Offsets(), arr), arr)
		return list.ListValues(), nil
	case *array.LargeList:
		flatten(s, slotOffsets(list.Offsets(), arr), arr)
		return list.ListValues(), nil
	}
	return nil, step.mismatch(arr)
}

func flatten[O int32 | int64](s *shredder, offsets []O, arr arrow.Array) {
	nulls := arr.NullN() > 0
	for _, sp := range s.oldSpans {
		if sp.from == sp.to {
			continue
		}
		if !nulls {
			s.addSpan(int(offsets[sp.from]), int(offsets[sp.to]))
			continue
		}
		from := offsets[sp.from]
		for i := sp.from; i < sp.to; i++ {
			if to := offsets[i+1]; to > offsets[i] && arr.IsNull(i) {
				s.addSpan(int(from), int(offsets[i]))
				from = to
			}
		}
		s.addSpan(int(from), int(offsets[sp.to]))
	}
}
