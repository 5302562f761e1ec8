package dictionary

import "github.com/apache/arrow-go/v18/arrow"

// An Index finds the positions of values in one dictionary. It is for one goroutine.
type Index struct {
	values arrow.Array
	null   int
	places map[string]int // nil until it is needed

	last   arrow.ArrayData // the last array given to Place
	placed Placement
}

// NewIndex returns the index of a dictionary whose type satisfies [Holds].
func NewIndex(values arrow.Array) *Index {
	x := &Index{values: values}
	for i := values.NullN(); i > 0 && values.IsValid(x.null); {
		x.null++
	}
	return x
}

// Bytes estimates the memory of finding the values of another dictionary.
func (x *Index) Bytes() int64 {
	const perValue = 80 // a place by its name
	return int64(x.values.Data().SizeInBytes()) + perValue*int64(x.values.Len())
}

// Null returns the position of a value that reads as null, or 0 if there is none: a null then
// becomes the first value, as in native Lance.
func (x *Index) Null() int { return x.null }

// A Placement maps the values of another dictionary to positions in the indexed one.
type Placement struct {
	Same   bool  // the two are the same: each value is in its own place
	places []int // of each value; nil when they are the same
	length int
}

// Of returns the position of value i, or -1 if the index has no such value or i is out of
// range.
func (p Placement) Of(i int) int {
	switch {
	case i < 0 || i >= p.length:
		return -1
	case p.Same:
		return i
	}
	return p.places[i]
}

// Place finds the values of another dictionary of the same type. It caches the result for the last
// array, because batches often share one dictionary.
func (x *Index) Place(other arrow.Array) Placement {
	if x.last != nil && x.last == other.Data() {
		return x.placed
	}
	x.last = other.Data()
	if x.placed = (Placement{Same: Equal(x.values, other), length: other.Len()}); x.placed.Same {
		return x.placed
	}
	if x.places == nil {
		x.places = placesIn(x.values)
	}
	x.placed.places = make([]int, other.Len())
	value := bytesOf(other)
	for i := range x.placed.places {
		at, ok := x.places[string(value(i))]
		switch {
		case other.IsNull(i):
			at = x.null
		case !ok:
			at = -1
		}
		x.placed.places[i] = at
	}
	return x.placed
}

// placesIn returns the first position of each value. A null has the position of an empty
// value.
func placesIn(values arrow.Array) map[string]int {
	places := make(map[string]int, values.Len())
	value := bytesOf(values)
	for i := range values.Len() {
		if _, doubled := places[string(value(i))]; !doubled {
			places[string(value(i))] = i
		}
	}
	return places
}
