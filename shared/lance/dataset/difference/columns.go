package difference

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/schema"
)

// columns selects the fields whose values are compared.
type columns struct {
	differ bool    // a field differs between the versions, so all rows count as changed
	ids    []int32 // the fields and all their descendants and ancestors
}

// Common returns the ids of the top-level fields that are equal in two schemas.
func Common(was, now *schema.Schema) []int32 {
	var common []int32
	for _, f := range now.Fields {
		if before := was.ByID(f.ID); before != nil && sameField(before, f) && before.ParentID == f.ParentID {
			common = append(common, f.ID)
		}
	}
	return common
}

// columnsOf selects the compared fields and checks that both versions define them alike.
func columnsOf(was, now *schema.Schema, fields []int32) columns {
	var c columns
	for _, id := range fields {
		before, after := was.ByID(id), now.ByID(id)
		if before == nil || after == nil || !sameField(before, after) || !sameAround(was, now, before, after) {
			return columns{differ: true}
		}
		for f := range (&schema.Schema{Fields: []*schema.Field{after}}).All() {
			c.ids = append(c.ids, f.ID)
		}
		for f := now.ByID(after.ParentID); f != nil; f = now.ByID(f.ParentID) {
			c.ids = append(c.ids, f.ID)
		}
	}
	slices.Sort(c.ids)
	c.ids = slices.Compact(c.ids)
	return c
}

// sameField reports whether values of two fields decode alike. The field's own name does not
// matter, but the names of its members do.
func sameField(a, b *schema.Field) bool {
	return a.ID == b.ID && a.LogicalType == b.LogicalType && arrow.TypeEqual(a.Type, b.Type) &&
		slices.EqualFunc(a.Children, b.Children, sameField)
}

// sameAround reports whether two fields have the same enclosing fields.
func sameAround(was, now *schema.Schema, a, b *schema.Field) bool {
	for a != nil && b != nil {
		if a.ID != b.ID || a.LogicalType != b.LogicalType {
			return false
		}
		a, b = was.ByID(a.ParentID), now.ByID(b.ParentID)
	}
	return a == nil && b == nil
}

// same reports whether the rows of two states of a fragment have the same values.
func (c columns) same(a, b *fragment.Fragment) bool { return !c.differ && a.SameColumns(b, c.ids) }
