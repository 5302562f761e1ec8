package schema

// Keep returns f restricted to the leaves that keep accepts and their ancestors, or nil if no leaf
// is left. An unchanged field is shared with f. A map keeps both members or none.
func (f *Field) Keep(keep func(leaf *Field) bool) (*Field, error) {
	if f.IsLeaf() {
		if keep(f) {
			return f, nil
		}
		return nil, nil
	}
	pruned := *f
	pruned.Children = nil
	same := true // as long as nothing has been left out
	for _, child := range f.Children {
		kept, err := child.Keep(keep)
		if err != nil {
			return nil, err
		}
		same = same && kept == child
		if kept != nil {
			pruned.Children = append(pruned.Children, kept)
		}
	}
	switch {
	case same:
		return f, nil
	case len(pruned.Children) == 0:
		return nil, nil
	case f.LogicalType == "map":
		return f, nil
	}
	return &pruned, pruned.resolve()
}
