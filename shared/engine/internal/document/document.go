// Package document finds the columns of a table whose texts can be searched.
package document

import (
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/index/fulltext/textcolumn"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Of returns a column by its name. The error is InvalidInput when it has no texts.
func Of(d *dataset.Dataset, name string) (textcolumn.Column, error) {
	c, err := Find(d, name)
	if err == nil && !c.IsText() {
		err = protocol.Errorf(protocol.InvalidInput, "full_text_query: column %s is of %s; texts, JSON, lists of texts, and texts in the structs of lists can be searched", name, c.Leaf())
	}
	return c, err
}

// Find returns the column of a name, whether it has texts or not.
func Find(d *dataset.Dataset, name string) (textcolumn.Column, error) {
	c, ok := textcolumn.Find(name, d.Column)
	if !ok {
		unknown := d.NoColumn(name)
		unknown.List = "" // with the items of lists in it, it names no texts either
		return c, apierror.NoColumn(unknown)
	}
	return c, nil
}
