package alter

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// Adding merges new columns into the fields of a version. A column with an existing name lists
// members to add to its struct, also inside lists and nested structs; their field ids start above
// highest. rest holds the columns that are new as a whole. An existing member, and a field of
// another type, are operation.ErrInvalid.
func Adding(v *snapshot.Snapshot, columns *arrow.Schema, highest int32) (fields []*pb.Field, rest *arrow.Schema, err error) {
	a := adding{fields: v.Schema().PB(), highest: highest}
	var fresh []arrow.Field
	for _, f := range columns.Fields() {
		if was := v.Schema().Field(f.Name); was == nil {
			fresh = append(fresh, f)
		} else if err := a.merge(was, f); err != nil {
			return nil, nil, err
		}
	}
	metadata := columns.Metadata()
	return a.fields, arrow.NewSchema(fresh, &metadata), nil
}

// An adding holds the fields of a version while members are added.
type adding struct {
	fields  []*pb.Field
	highest int32
}

// merge adds the members of f that was lacks.
func (a *adding) merge(was *schema.Field, f arrow.Field) error {
	switch from, to := was.Type, f.Type; {
	case !f.Nullable && was.Nullable:
		return fmt.Errorf("%w: field %s without values must be nullable", operation.ErrInvalid, f.Name)
	case from.ID() == arrow.STRUCT && to.ID() == arrow.STRUCT && !was.HoldsBlobs():
		for _, member := range to.(*arrow.StructType).Fields() {
			if child := was.Child(member.Name); child != nil {
				if err := a.merge(child, member); err != nil {
					return err
				}
			} else if err := a.add(was, member); err != nil {
				return err
			}
		}
		return nil
	case (from.ID() == arrow.LIST || from.ID() == arrow.LARGE_LIST) && from.ID() == to.ID() && len(was.Children) == 1:
		return a.merge(was.Children[0], to.(arrow.ListLikeType).ElemField())
	case arrow.TypeEqual(from, to):
		return fmt.Errorf("%w: column %q already exists", operation.ErrInvalid, f.Name)
	default:
		return fmt.Errorf("%w: column %q already exists, and is %s and not %s", operation.ErrInvalid, f.Name, from, to)
	}
}

// add inserts a new field behind all descendants of parent.
func (a *adding) add(parent *schema.Field, member arrow.Field) error {
	if !member.Nullable {
		return fmt.Errorf("%w: field %s without values must be nullable", operation.ErrInvalid, member.Name)
	}
	added, err := schema.FromArrowAbove(arrow.NewSchema([]arrow.Field{member}, nil), a.highest)
	if err != nil {
		return err
	}
	a.highest = added.MaxFieldID()
	fresh := added.PB()
	fresh[0].ParentID = parent.ID
	below := map[int32]bool{parent.ID: true}
	at := slices.IndexFunc(a.fields, func(f *pb.Field) bool { return f.ID == parent.ID }) + 1
	for ; at < len(a.fields) && below[a.fields[at].ParentID]; at++ {
		below[a.fields[at].ID] = true
	}
	a.fields = slices.Insert(a.fields, at, fresh...)
	return nil
}
