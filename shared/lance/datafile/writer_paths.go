package datafile

import (
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/schema"
)

// A columnPath is the path from a top-level field to a field that has a column.
type columnPath struct {
	repdef.Path
	field *schema.Field
	err   error // the field cannot be written
}

// columnPaths returns the columns at and below a field, in their order: the leaves, and
// in version 2.0 the fields above them, too.
func columnPaths(field *schema.Field, v lance.Version) iter.Seq[columnPath] {
	return func(yield func(columnPath) bool) {
		p := pathWalk{version: v, yield: yield}
		p.walk(field, field.Name, nil)
	}
}

// A pathWalk visits the fields below a top-level field.
type pathWalk struct {
	version lance.Version
	yield   func(columnPath) bool
}

// walk yields the columns at and below f. name is the dotted name of f. It returns false once the
// consumer has stopped.
func (w *pathWalk) walk(f *schema.Field, name string, steps []repdef.Step) bool {
	if err := w.check(f, name, steps); err != nil {
		return w.yield(columnPath{field: f, err: err})
	}
	if f.IsLeaf() || w.version == lance.V2_0 {
		leaf := repdef.Leaf{Type: f.Type, Name: name, Nullable: f.Nullable, Packed: f.IsPacked(), Metadata: f.Metadata}
		if f.IsBlob() {
			// The column stores descriptions, to which the field's metadata does not apply.
			leaf.Type, leaf.Packed, leaf.Metadata = f.Described().Type, true, nil
			leaf.Blob = w.version == lance.V2_1
		}
		path := repdef.Path{Steps: slices.Clone(steps), Leaf: leaf}
		if !w.yield(columnPath{Path: path, field: f}) {
			return false
		}
	}
	if f.IsLeaf() {
		return true
	}
	step := repdef.Step{Kind: repdef.ListStep, Name: name, Nullable: f.Nullable}
	switch t := storageType(f.Type).(type) {
	case *arrow.StructType:
		step.Kind = repdef.StructStep
	case *arrow.FixedSizeListType:
		step.Kind, step.Size = repdef.FixedListStep, int(t.Len())
	}
	for i, child := range f.Children {
		step.Child, step.Member = i, child.Name
		if !w.walk(child, name+"."+child.Name, append(steps, step)) {
			return false
		}
	}
	return true
}

func storageType(t arrow.DataType) arrow.DataType {
	for {
		ext, ok := t.(arrow.ExtensionType)
		if !ok {
			return t
		}
		t = ext.StorageType()
	}
}

// check rejects a field that the format cannot store, as the native writer does, or that this
// writer does not support. The encoders check the types of leaves.
func (w *pathWalk) check(f *schema.Field, name string, steps []repdef.Step) error {
	refuse := func(what string) error {
		return fmt.Errorf("%w: field %q: %s", lance.ErrUnsupported, name, what)
	}
	t := storageType(f.Type)
	switch {
	case f.IsBlob():
		return w.checkBlob(f, steps, refuse)
	case t.ID() == arrow.STRUCT && len(f.Children) == 0:
		return refuse("a struct without members")
	case t.ID() == arrow.MAP && f.HoldsBlobs():
		return refuse("blobs in maps")
	case t.ID() == arrow.MAP && w.version.Minor < 2:
		return refuse("maps in data files before 2.2")
	case t.ID() == arrow.FIXED_SIZE_LIST && len(f.Children) > 0:
		if w.version.Minor < 2 {
			return refuse("fixed-size lists of structs in data files before 2.2")
		}
		for _, s := range steps {
			if s.Kind != repdef.StructStep {
				return refuse("fixed-size lists of structs inside lists")
			}
		}
	}
	return nil
}

// checkBlob rejects blobs of another version. In version 2.1 it also rejects blobs in lists: no
// reader can read the native writer's form of them.
func (w *pathWalk) checkBlob(f *schema.Field, steps []repdef.Step, refuse func(string) error) error {
	switch {
	case f.IsBlobV2() != (w.version == lance.V2_2):
		return refuse("blobs of this kind in data files " + w.version.String())
	case !f.IsBlobV2() && f.Type.ID() != arrow.LARGE_BINARY:
		return refuse("blobs that are not large binaries")
	}
	for _, s := range steps {
		if s.Kind == repdef.FixedListStep || s.Kind == repdef.ListStep && w.version == lance.V2_1 {
			return refuse("blobs in lists of this kind in data files " + w.version.String())
		}
	}
	_, err := limitsOf(f)
	return err
}
