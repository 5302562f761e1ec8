package selection

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// An Expansion makes rows of each row of the source: one for each item of a list. A list that is
// null or empty gives none.
type Expansion struct {
	Column string        // of the source, with the lists
	Rows   *arrow.Schema // of the rows that are made: that of the source, with an item in place of its list
	at     int
}

// plan resolves an expansion over the columns of the source.
//
// Source: lancedb 0.40, materialized_view.rs, flattened_schema. Large lists and lists of a fixed size
// are refused there too, and so is a name that a column has.
func (e *Each) plan(source *arrow.Schema) (*Expansion, error) {
	if e.Function != "" {
		return nil, refused("function %s in FROM", e.Function)
	}
	at := slices.IndexFunc(source.Fields(), func(f arrow.Field) bool { return f.Name == e.Column })
	switch {
	case at < 0:
		return nil, refused("UNNEST of %q, which is not a column", e.Column)
	case source.Field(at).Type.ID() != arrow.LIST:
		return nil, refused("UNNEST of column %q, which is of type %s and not a list", e.Column, source.Field(at).Type)
	case source.HasField(e.Name):
		return nil, refused("the name %q of the items of a list, which is that of a column", e.Name)
	case isReserved(e.Name):
		return nil, refused("the name %q of the items of a list is reserved", e.Name)
	}
	fields := source.Fields()
	fields[at] = arrow.Field{Name: e.Name, Type: source.Field(at).Type.(*arrow.ListType).Elem(), Nullable: true}
	return &Expansion{Column: e.Column, Rows: arrow.NewSchema(fields, nil), at: at}, nil
}

// Item returns the field of the items.
func (x *Expansion) Item() arrow.Field { return x.Rows.Field(x.at) }
