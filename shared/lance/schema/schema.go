// Package schema is the schema of a Lance table: a tree of fields with stable ids, its
// translation to and from Arrow and the format's messages, and the leaves that data
// files store as columns.
//
// Field ids are given depth first from 0 and never change or move to another field;
// everything below the schema (data files, indices) speaks of fields by id. What comes
// from outside speaks of them by name: [Schema.Project] and [Schema.Resolve] take paths
// such as "a.b", and [Schema.Match] lays incoming Arrow data over a table's fields.
package schema

import (
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// ErrUnknownField says that a name or path names no field of the schema.
var ErrUnknownField = errors.New("unknown field")

// maxDepth bounds the nesting of fields, so that walks may recurse.
const maxDepth = 64

// A Schema is the fields of a table and its own metadata. It is not changed after it
// has been made; methods that alter return a new one.
type Schema struct {
	Fields   []*Field          // top level, in column order
	Metadata map[string]string // Arrow schema metadata; never nil
}

// A Field is one node of the tree.
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
	Unknown          []byte // fields of the message that we do not know, kept
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

// MaxFieldID returns the highest id in the schema, or -1. New fields of a table must
// also be above the ids that its fragments' files still mention.
func (s *Schema) MaxFieldID() int32 {
	highest := int32(-1)
	for f := range s.All() {
		highest = max(highest, f.ID)
	}
	return highest
}
