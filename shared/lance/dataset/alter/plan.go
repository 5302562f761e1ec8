// Package alter adds, drops, casts and rewrites columns of a table. A [Plan] computes the new
// schema: for example, a change of column price from int32 to float64 removes field 3 and adds
// field 9 of the same name, so that readers with the old schema never read new values as int32. The
// other files write the values and commit.
package alter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// An Alteration changes a column, or a member of a struct.
type Alteration struct {
	Path     string
	Rename   string         // new name within its struct; empty keeps it
	Nullable *bool          // nil keeps it
	Type     arrow.DataType // nil keeps it; otherwise all values are cast and rewritten
}

// A Cast converts an array to another type. A value that does not fit is an error; nulls stay null.
type Cast func(ctx context.Context, values arrow.Array, to arrow.DataType) (arrow.Array, error)

// A Plan is a schema under alteration.
type Plan struct {
	Fields    []*pb.Field
	Tightened bool // a column becomes non-nullable

	version *snapshot.Snapshot
	highest int32           // highest field id in use
	casts   map[int32]int32 // field ids of casts, from old to new
}

// New plans alterations of a version.
func New(ctx context.Context, v *snapshot.Snapshot, alterations []Alteration) (*Plan, error) {
	p := &Plan{version: v, Fields: v.Schema().PB(), highest: v.Manifest().MaxFieldID()}
	for _, alteration := range alterations {
		if err := p.alter(ctx, alteration); err != nil {
			return nil, err
		}
	}
	return p, p.recastWhole()
}

// Casts reports whether any alteration changes a type.
func (p *Plan) Casts() bool { return len(p.casts) > 0 }

// alter applies one alteration to the fields. A cast field is missing from Fields under its old id,
// so a second cast of it is rejected.
func (p *Plan) alter(ctx context.Context, alteration Alteration) error {
	chain, err := p.version.Schema().Resolve(alteration.Path)
	if err != nil {
		return p.version.NoColumn(alteration.Path)
	}
	was := chain[len(chain)-1]
	at := slices.IndexFunc(p.Fields, func(f *pb.Field) bool { return f.ID == was.ID })
	if at < 0 {
		return fmt.Errorf("%w: column %s is cast twice", operation.ErrInvalid, alteration.Path)
	}
	f := p.Fields[at]
	if alteration.Rename != "" {
		if len(chain) == 1 && alteration.Rename != was.Name {
			if err := schema.CheckName(alteration.Rename); err != nil {
				return err
			}
		}
		f.Name = alteration.Rename
	}
	if alteration.Nullable != nil {
		if was.Nullable && !*alteration.Nullable {
			if err := refuseNulls(ctx, p.version, alteration.Path); err != nil {
				return err
			}
			p.Tightened = true
		}
		f.Nullable = *alteration.Nullable
	}
	switch {
	case alteration.Type == nil:
		return nil
	case was.HoldsBlobs():
		return fmt.Errorf("%w: cast column %s, which holds blobs", lance.ErrUnsupported, alteration.Path)
	}
	return p.retype(at, was, alteration.Type)
}

// refuseNulls returns an error if a column holds nulls.
func refuseNulls(ctx context.Context, s *snapshot.Snapshot, path string) error {
	_, batches, err := s.Scan(ctx, snapshot.ScanOptions{Columns: []string{path}})
	if err != nil {
		return err
	}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if batch.Column(0).NullN() > 0 {
			return fmt.Errorf("%w: column %s holds nulls", operation.ErrInvalid, path)
		}
	}
	return nil
}

// retype replaces a field and its descendants by a field of another type with new ids, so that
// readers with the old schema never take new values for the old type.
func (p *Plan) retype(at int, was *schema.Field, to arrow.DataType) error {
	f := p.Fields[at]
	if err := p.refuseIndexed(was); err != nil {
		return err
	}
	alone := arrow.Field{Name: "retyped", Type: to, Nullable: f.Nullable} // a placeholder name, because a member's name may be invalid for a column
	retyped, err := schema.FromArrowAbove(arrow.NewSchema([]arrow.Field{alone}, nil), p.highest)
	if err != nil {
		return err
	}
	p.highest = retyped.MaxFieldID()
	fresh := retyped.PB()
	fresh[0].Name, fresh[0].ParentID = f.Name, f.ParentID
	below := 0
	for range (&schema.Schema{Fields: []*schema.Field{was}}).All() {
		below++
	}
	p.Fields = slices.Replace(p.Fields, at, at+below, fresh...)
	if p.casts == nil {
		p.casts = map[int32]int32{}
	}
	p.casts[was.ID] = fresh[0].ID
	return nil
}

// recastWhole turns casts of members in legacy data files into casts of the whole column, with new
// ids for all of its fields. Native readers can read neither a column whose members lie in several
// legacy files, nor legacy pages of a file with a superseded field.
func (p *Plan) recastWhole() error {
	if version, err := p.version.Manifest().FileVersion(); err != nil || version != lance.Legacy {
		return err
	}
	for _, column := range p.version.Schema().Fields {
		members := &schema.Schema{Fields: column.Children}
		inside := false
		for f := range members.All() {
			_, cast := p.casts[f.ID]
			inside = inside || cast
			delete(p.casts, f.ID)
		}
		if !inside {
			continue
		}
		for f := range (&schema.Schema{Fields: []*schema.Field{column}}).All() {
			if err := p.refuseIndexed(f); err != nil {
				return err
			}
		}
		p.casts[column.ID] = p.renew(column.ID)
	}
	return nil
}

// renew gives new ids to a field and its descendants and returns the field's.
func (p *Plan) renew(id int32) int32 {
	renewed := map[int32]int32{}
	for _, f := range p.Fields { // parents precede their children
		parent, below := renewed[f.ParentID]
		if f.ID != id && !below {
			continue
		}
		p.highest++
		renewed[f.ID] = p.highest
		f.ID = p.highest
		if below {
			f.ParentID = parent
		}
	}
	return renewed[id]
}

// refuseIndexed returns an error if an index depends on a field.
func (p *Plan) refuseIndexed(f *schema.Field) error {
	indices, err := p.version.Manifest().Indices()
	if err != nil {
		return err
	}
	for _, x := range indices {
		if slices.Contains(x.Fields, f.ID) {
			return fmt.Errorf("%w: column %s has the index %s; drop it before the type is changed", operation.ErrInvalid, f.Name, x.Name)
		}
	}
	return nil
}

// Schema returns the altered schema after validation.
func (p *Plan) Schema() (*schema.Schema, error) {
	s, err := schema.FromFields(p.Fields, p.version.Schema().Metadata)
	if err != nil {
		return nil, err
	}
	for f := range s.All() {
		beside := s.Fields
		if parent := s.ByID(f.ParentID); parent != nil {
			beside = parent.Children
		}
		for _, other := range beside {
			if other != f && other.Name == f.Name {
				return nil, fmt.Errorf("%w: two fields would be %s", operation.ErrInvalid, s.Path(f.ID))
			}
		}
		if f.Name == "" || f.ParentID == -1 && strings.ContainsAny(f.Name, ".`") {
			return nil, fmt.Errorf("%w: %q is not a name for a column", operation.ErrInvalid, f.Name)
		}
		if f.PrimaryKey && f.Nullable {
			return nil, fmt.Errorf("%w: column %s is in the primary key and may not be null", operation.ErrInvalid, s.Path(f.ID))
		}
	}
	return s, nil
}

// Columns returns the fields to read and, in the same order, the fields to write for the casts.
// nullable reports whether all of the written fields are nullable. s is the altered schema.
func (p *Plan) Columns(s *schema.Schema) (reads, writes *schema.Schema, nullable bool, err error) {
	v := p.version
	version, err := v.Manifest().FileVersion()
	if err != nil {
		return nil, nil, false, err
	}
	var from, to []string
	nullable = true
	for f := range v.Schema().All() {
		id, ok := p.casts[f.ID]
		if !ok {
			continue
		}
		was, is := f, s.ByID(id)
		top := is
		for top.ParentID >= 0 {
			top = s.ByID(top.ParentID)
		}
		nullable = nullable && is.Nullable && top.Nullable
		if version == lance.V2_0 && top != is {
			// These files store a struct as a column, with all of its members in one file.
			was, is = v.Schema().ByID(top.ID), top
		}
		from, to = append(from, v.Schema().Path(was.ID)), append(to, s.Path(is.ID))
	}
	if reads, err = v.Schema().Project(from); err != nil {
		return nil, nil, false, err
	}
	writes, err = s.Project(to)
	return reads, writes, nullable, err
}
