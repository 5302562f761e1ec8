// Package schema holds the schema of a Lance table: a tree of fields with stable ids, its
// translation to and from Arrow (arrow.go, logical.go) and the format's messages
// (message.go), and the leaves that data files store as columns (leaves.go).
//
// Field ids are assigned depth first from 0. An id never changes and never moves to another
// field. Everything below the schema (data files, indices) refers to fields by id. Clients
// refer to them by name: [Schema.Project] and [Schema.Resolve] take paths such as "a.b",
// and [Schema.Match] maps incoming Arrow data to a table's fields. The table
//
//	id int64, tags list<string>, point struct<x float, y float>
//
// has the fields id 0, tags 1, tags.item 2, point 3, point.x 4 and point.y 5; its leaves
// are 0, 2, 4 and 5.
package schema

import (
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// ErrUnknownField means that a name or path does not exist in the schema.
var ErrUnknownField = errors.New("unknown field")

// maxDepth bounds the nesting of fields, so that functions may recurse.
const maxDepth = 64

// A Schema is the fields of a table and the metadata of the schema. It does not change
// after it has been made; methods that modify return a new one.
type Schema struct {
	Fields   []*Field          // top level, in column order
	Metadata map[string]string // Arrow schema metadata; never nil
}

// A Field is one field of the tree.
type Field struct {
	ID          int32
	ParentID    int32 // -1 at the top
	Name        string
	LogicalType string         // the format's name of the type, such as "timestamp:us:-"
	Type        arrow.DataType // the type it reads as, children included
	Nullable    bool
	Metadata    map[string]string // Arrow field metadata; may be nil
	Children    []*Field          // struct members, list item, map entries

	PrimaryKey       bool // unenforced
	PrimaryKeyPos    int32
	ClusteringKey    bool // unenforced
	ClusteringKeyPos int32
	Encoding         int32  // cosmetic, kept
	Unknown          []byte // unknown fields of the protobuf message, preserved
}

// Field returns the top-level field with this name, or nil.
func (s *Schema) Field(name string) *Field { return byName(s.Fields, name) }

// Child returns the child with this name, or nil.
func (f *Field) Child(name string) *Field { return byName(f.Children, name) }

func byName(fields []*Field, name string) *Field {
	for _, f := range fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// ByID returns the field with this id, at any depth, or nil.
func (s *Schema) ByID(id int32) *Field {
	for f := range s.All() {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// All walks every field in pre-order: parents before their children.
func (s *Schema) All() iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		walk(s.Fields, yield)
	}
}

func walk(fields []*Field, yield func(*Field) bool) bool {
	for _, f := range fields {
		if !yield(f) || !walk(f.Children, yield) {
			return false
		}
	}
	return true
}

// MaxFieldID returns the highest id in the schema, or -1. New ids must also be above those in the
// table's data files.
func (s *Schema) MaxFieldID() int32 {
	highest := int32(-1)
	for f := range s.All() {
		highest = max(highest, f.ID)
	}
	return highest
}
