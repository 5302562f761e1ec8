// Package document finds the text columns of a table.
package document

import (
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/index/fulltext/textcolumn"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Of returns a text column by its name. The error is InvalidInput if the column has another type.
func Of(d *dataset.Dataset, name string) (textcolumn.Column, error) {
	c, err := Find(d, name)
	if err == nil && !c.IsText() {
		err = protocol.Errorf(protocol.InvalidInput, "full_text_query: column %s is of %s; texts, JSON, lists of texts, and texts in the structs of lists can be searched", name, c.Leaf())
	}
	return c, err
}

// Find returns a column of any type by its name.
func Find(d *dataset.Dataset, name string) (textcolumn.Column, error) {
	c, ok := textcolumn.Find(name, d.Column)
	if !ok {
		unknown := d.NoColumn(name)
		unknown.List = "" // the hint on list items does not apply to text columns
		return c, apierror.NoColumn(unknown)
	}
	return c, nil
}
