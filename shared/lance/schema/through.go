package schema

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// ResolveThrough returns the fields along a path that omits the names of list items, items
// included. For example, parts.t is the member t of the structs in the list parts. An unknown path
// is [ErrUnknownField]. A path without lists resolves as in [Schema.Resolve].
//
// Source: index/scalar/inverted.rs of crate lance, which names text columns this way.
func (s *Schema) ResolveThrough(path string) ([]*Field, error) {
	names, err := ParsePath(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownField, err)
	}
	fields, chain := s.Fields, make([]*Field, 0, len(names))
	for i, name := range names {
		if i > 0 {
			chain = append(chain, itemsOf(chain[len(chain)-1])...)
			fields = chain[len(chain)-1].Children
		}
		f := byName(fields, name)
		if f == nil {
			return nil, fmt.Errorf("%w: %s", ErrUnknownField, path)
		}
		chain = append(chain, f)
	}
	return chain, nil
}

// itemsOf returns the item field of a list and, for nested lists, the items below it.
func itemsOf(f *Field) (items []*Field) {
	for isList(f) {
		f = f.Children[0]
		items = append(items, f)
	}
	return items
}

func isList(f *Field) bool {
	id := f.Type.ID()
	return (id == arrow.LIST || id == arrow.LARGE_LIST) && len(f.Children) == 1
}

// PathThrough returns the path of a field in the form of [Schema.ResolveThrough], or "" if the id
// is unknown. A list item has the path of its list.
func (s *Schema) PathThrough(id int32) string {
	names := pathThrough(s.Fields, id)
	if names == nil {
		return ""
	}
	slices.Reverse(names)
	return FormatPath(names...)
}

func pathThrough(fields []*Field, id int32) []string {
	for _, f := range fields {
		last := f
		for _, item := range itemsOf(f) {
			if item.ID == id {
				return []string{f.Name}
			}
			last = item
		}
		if f.ID == id {
			return []string{f.Name}
		}
		if names := pathThrough(last.Children, id); names != nil {
			return append(names, f.Name)
		}
	}
	return nil
}
