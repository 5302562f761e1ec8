package repdef

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/internal/encoding/values"
)

// DescendFlat descends for version 2.0, where each field of a schema has its own column,
// independent of the enclosing fields: every entry has a slot, and the only level marks nulls of
// the field itself, set by CutNulls. Items of null lists are not stored. The column of a struct
// rejects null structs, so its children need no check.
func (s *Shredder) DescendFlat(arr arrow.Array) (arrow.Array, error) {
	s.limit, s.Cut, s.flat = ^uint16(0), false, true
	s.Spans = append(s.Spans[:0], values.Span{To: arr.Len()})
	for i := range s.path.Steps {
		step := &s.path.Steps[i]
		arr = values.Storage(arr)
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
	s.N = 0
	for _, sp := range s.Spans {
		s.N += sp.To - sp.From
	}
	return values.Storage(arr), nil
}

// enterFlat replaces the slots of lists by the slots of their items.
func (s *Shredder) enterFlat(arr arrow.Array, step *Step) (arrow.Array, error) {
	s.oldSpans, s.Spans = s.Spans, s.oldSpans[:0]
	switch list := arr.(type) {
	case *array.List:
		flatten(s, SlotOffsets(list.Offsets(), arr), arr)
		return list.ListValues(), nil
	case *array.LargeList:
		flatten(s, SlotOffsets(list.Offsets(), arr), arr)
		return list.ListValues(), nil
	}
	return nil, step.mismatch(arr)
}

// flatten replaces the spans of lists by the spans of their items, without the items of null lists.
func flatten[O int32 | int64](s *Shredder, offsets []O, arr arrow.Array) {
	nulls := arr.NullN() > 0
	for _, sp := range s.oldSpans {
		if sp.From == sp.To {
			continue
		}
		if !nulls {
			s.addSpan(int(offsets[sp.From]), int(offsets[sp.To]))
			continue
		}
		from := offsets[sp.From]
		for i := sp.From; i < sp.To; i++ {
			if to := offsets[i+1]; to > offsets[i] && arr.IsNull(i) {
				s.addSpan(int(from), int(offsets[i]))
				from = to
			}
		}
		s.addSpan(int(from), int(offsets[sp.To]))
	}
}
