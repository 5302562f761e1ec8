package values

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// Items are the decoded items of a leaf: values, or for a leaf of a dictionary type indices into
// values.
type Items struct {
	Values  *Values
	Indices []uint32 // only for dictionary leaves
}

// Count returns the number of items.
func (it *Items) Count() int {
	if it.Indices != nil {
		return len(it.Indices)
	}
	return it.Values.N
}

// Join joins the n items of all pages. The items of a single page are returned as they are.
func Join(t arrow.DataType, pages []*Items, n int, room Room) (*Items, error) {
	if len(pages) == 1 {
		return pages[0], nil
	}
	for _, it := range pages {
		if err := room.Take(it.Values.Footprint() + 4*len(it.Indices)); err != nil {
			return nil, err
		}
	}
	all := &Items{Values: New(ShapeToRead(t))}
	if StorageType(t).ID() == arrow.DICTIONARY {
		all.Indices = make([]uint32, 0, n)
		return all, joinDictionaries(all, pages)
	}
	all.Values.ReserveValues(n, math.MaxInt)
	text := 0
	for _, it := range pages {
		text += it.Values.textBytes()
	}
	all.Values.ReserveText(text)
	for _, it := range pages {
		if err := all.Values.AppendRange(it.Values, 0, it.Values.N); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// joinDictionaries joins the dictionaries of all pages to one in which every item occurs once, and
// renumbers the indices.
func joinDictionaries(all *Items, pages []*Items) error {
	seen := map[string]uint32{}
	for _, it := range pages {
		joined := make([]uint32, it.Values.N)
		for i := range joined {
			key := string(it.Values.itemBytes(i))
			at, ok := seen[key]
			if !ok {
				at = uint32(all.Values.N)
				seen[key] = at
				if err := all.Values.AppendRange(it.Values, i, i+1); err != nil {
					return err
				}
			}
			joined[i] = at
		}
		for _, index := range it.Indices {
			if int(index) < len(joined) {
				index = joined[index]
			}
			all.Indices = append(all.Indices, index)
		}
	}
	return nil
}
