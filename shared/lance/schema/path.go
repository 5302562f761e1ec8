package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// ParsePath splits a path such as "a.b" or "a.`dotted.name`" into names. A name with a dot
// or a backtick is quoted by backticks, and a backtick within is doubled.
func ParsePath(path string) ([]string, error) {
	var names []string
	rest := path
	for {
		name, after, err := nextName(rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", path, err)
		}
		names = append(names, name)
		if after == "" {
			return names, nil
		}
		if after[0] != '.' {
			return nil, fmt.Errorf("path %q: expected a dot after a quoted name", path)
		}
		rest = after[1:]
	}
}

// nextName returns the first name of a path and the rest after it.
func nextName(path string) (name, after string, err error) {
	if !strings.HasPrefix(path, "`") {
		end := strings.IndexAny(path, ".`")
		switch {
		case end < 0:
			end = len(path)
		case path[end] == '`':
			return "", "", fmt.Errorf("a backtick in the middle of a name")
		}
		if end == 0 {
			return "", "", fmt.Errorf("an empty name")
		}
		return path[:end], path[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(path); i++ {
		switch {
		case path[i] != '`':
			b.WriteByte(path[i])
		case i+1 < len(path) && path[i+1] == '`':
			b.WriteByte('`')
			i++
		case b.Len() == 0:
			return "", "", fmt.Errorf("an empty name")
		default:
			return b.String(), path[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("a backtick is not closed")
}

// FormatPath joins names to a path that ParsePath splits into the same names.
func FormatPath(names ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = name
		if strings.ContainsAny(name, ".`") {
			quoted[i] = quote(name)
		}
	}
	return strings.Join(quoted, ".")
}

// FormatFilterPath formats a path like FormatPath, and also quotes names with characters other than
// letters, digits and underscores.
//
// Source: format_field_path of crate lance-core.
func FormatFilterPath(names ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = name
		if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' }) {
			quoted[i] = quote(name)
		}
	}
	return strings.Join(quoted, ".")
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Resolve returns the fields along a path, from the top-level column to the named field. An
// unknown path is [ErrUnknownField].
func (s *Schema) Resolve(path string) ([]*Field, error) {
	names, err := ParsePath(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownField, err)
	}
	fields, chain := s.Fields, make([]*Field, 0, len(names))
	for _, name := range names {
		f := byName(fields, name)
		if f == nil {
			return nil, fmt.Errorf("%w: %s", ErrUnknownField, path)
		}
		chain, fields = append(chain, f), f.Children
	}
	return chain, nil
}

// Column returns the top-level column at the start of a path, or nil. If no column has exactly the
// name, ASCII case is ignored. A string that is not a valid path, for lack of quotes around a dot,
// may be a whole column name.
func (s *Schema) Column(path string) *Field {
	if f := s.Field(path); f != nil {
		return f
	}
	names, err := ParsePath(path)
	if err != nil || len(names) != 1 {
		return nil
	}
	for _, f := range s.Fields {
		if len(f.Name) == len(names[0]) && strings.EqualFold(f.Name, names[0]) {
			return f
		}
	}
	return nil
}

// Path returns the path of the field with an id, or "" if there is none.
func (s *Schema) Path(id int32) string {
	names := pathTo(s.Fields, id)
	if names == nil {
		return ""
	}
	slices.Reverse(names)
	return FormatPath(names...)
}

// pathTo returns the names from one of fields down to the field with an id.
func pathTo(fields []*Field, id int32) []string {
	for _, f := range fields {
		if f.ID == id {
			return []string{f.Name}
		}
		if names := pathTo(f.Children, id); names != nil {
			return append(names, f.Name)
		}
	}
	return nil
}

// Project returns a schema of the named columns in the given order, with their ids. A name is a
// top-level column or the path of a member; the enclosing structs and lists are included without
// their other members. Names within one column are merged. A path into a packed struct or blob
// selects the whole field.
func (s *Schema) Project(names []string) (*Schema, error) {
	var order []*Field
	chosen := map[*Field]bool{} // taken whole
	around := map[*Field]bool{} // on the way to a chosen one
	for _, name := range names {
		chain, err := s.Resolve(name)
		if err != nil {
			return nil, err
		}
		if column := chain[0]; !chosen[column] && !around[column] {
			order = append(order, column)
		}
		for i, f := range chain {
			if i == len(chain)-1 || f.IsLeaf() {
				chosen[f] = true
				break
			}
			around[f] = true
		}
	}
	projected := &Schema{Metadata: cloneMetadata(s.Metadata)}
	for _, f := range order {
		p, err := f.prune(chosen, around)
		if err != nil {
			return nil, err
		}
		projected.Fields = append(projected.Fields, p)
	}
	return projected, nil
}

// prune returns f without the descendants that are neither chosen nor around a chosen one.
func (f *Field) prune(chosen, around map[*Field]bool) (*Field, error) {
	// A map needs both members: a path to one includes the other.
	if chosen[f] || f.LogicalType == "map" {
		return f, nil
	}
	pruned := *f
	pruned.Children = nil
	for _, child := range f.Children {
		if !chosen[child] && !around[child] {
			continue
		}
		c, err := child.prune(chosen, around)
		if err != nil {
			return nil, err
		}
		pruned.Children = append(pruned.Children, c)
	}
	return &pruned, pruned.resolve()
}
