package tableapi

import (
	"strings"

	"tiltyard/shared/protocol"
)

// FindRequest asks for the tables inside a namespace, at any depth, that meet all of its
// conditions, as far as the caller may see them. Case is ignored everywhere. In a pattern, * stands for any
// text and ? for one character.
type FindRequest struct {
	protocol.Common
	protocol.Page
	// NamespaceID is where the search begins. Empty: the root.
	NamespaceID []string `json:"namespace_id"`
	// Text has words, each of which occurs in one of the places of In.
	Text string `json:"text"`
	// In are the places for the words. Empty: the name.
	In []FindPlace `json:"in"`
	// Name occurs in the name of the table, or is a pattern of the whole name.
	Name string `json:"name"`
	// Columns are conditions, each of which one of the columns meets.
	Columns []ColumnCondition `json:"columns"`
	// Properties are conditions, each of which one of the properties meets.
	Properties []PropertyCondition `json:"properties"`
	// Tag occurs in the name of a tag, or is a pattern of the whole name.
	Tag string `json:"tag"`
	// Comment occurs in a comment of the table or a column, or is a pattern of a whole one. Comments are
	// what the keys comment and description have in the properties and the metadata of the table, its
	// schema and its columns.
	Comment string `json:"comment"`
}

// ColumnCondition is met by a column, also one inside of another. Both fields may be empty.
type ColumnCondition struct {
	// Name occurs in the path of the column, such as address.city, or is a pattern of the whole path.
	Name string `json:"name"`
	// Type is the type of the column, such as int64 or fixed_size_list<float32>[768], or a pattern of it.
	Type string `json:"type"`
}

// PropertyCondition is met by a property of a table.
type PropertyCondition struct {
	// Key is the key, or a pattern of it. Empty: any.
	Key string `json:"key"`
	// Value occurs in the value, or is a pattern of the whole value. Empty: any.
	Value string `json:"value"`
}

// FindPlace is a place in which tables are searched for.
type FindPlace string

// The places in which tables are searched for. A name needs the least work, a tag and a column the most.
const (
	FindName     FindPlace = "name" // of the table, and of the namespaces around it
	FindColumn   FindPlace = "column"
	FindProperty FindPlace = "property"
	FindTag      FindPlace = "tag"
	FindComment  FindPlace = "comment"
)

// These bound the conditions of a search.
const (
	maxConditions     = 16
	maxConditionBytes = 256
)

// Words are the words of Text.
func (r *FindRequest) Words() []string { return strings.Fields(r.Text) }

// Validate checks the namespace, the places and the sizes of the conditions.
func (r *FindRequest) Validate() error {
	if err := protocol.CheckID(r.NamespaceID); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "namespace_id: %w", err)
	}
	for _, place := range r.In {
		switch place {
		case FindName, FindColumn, FindProperty, FindTag, FindComment:
		default:
			return protocol.Errorf(protocol.InvalidInput, "in: %s is no place; they are name, column, property, tag and comment", protocol.QuoteShort(string(place)))
		}
	}
	texts := r.Words()
	for _, part := range []struct {
		what  string
		count int
	}{{"text", len(texts)}, {"in", len(r.In)}, {"columns", len(r.Columns)}, {"properties", len(r.Properties)}} {
		if part.count > maxConditions {
			return protocol.Errorf(protocol.InvalidInput, "%s has %d parts; at most %d are possible", part.what, part.count, maxConditions)
		}
	}
	texts = append(texts, r.Name, r.Tag, r.Comment)
	for _, c := range r.Columns {
		texts = append(texts, c.Name, c.Type)
	}
	for _, p := range r.Properties {
		texts = append(texts, p.Key, p.Value)
	}
	for _, text := range texts {
		if len(text) > maxConditionBytes {
			return protocol.Errorf(protocol.InvalidInput, "%s has %d bytes; a condition has at most %d", protocol.QuoteShort(text), len(text), maxConditionBytes)
		}
	}
	return nil
}

// FindResponse is a page of tables. A page that ends early, because it has done as much work as one
// request may, has few tables or none, and a token.
type FindResponse struct {
	Tables protocol.List[Found] `json:"tables"`
	// Unreadable are tables that meet the other conditions, and whose columns, comments or tags cannot be read.
	Unreadable protocol.List[Unreadable] `json:"unreadable,omitempty"`
	PageToken  string                    `json:"page_token,omitempty"` // where the next page begins; empty at the end
}

// Found is a table that meets all conditions.
type Found struct {
	ID      protocol.List[string] `json:"id"`
	Matches protocol.List[Match]  `json:"matches"` // what has met them, at most 20; none if there are no conditions
}

// Match is a part of a table that has met a condition.
type Match struct {
	In FindPlace `json:"in"`
	// Name is the column, the key of the property, the tag, or the name of the table or of a namespace around it.
	// For a comment it is the column, and empty if the comment is that of the table.
	Name string `json:"name,omitempty"`
	// Value is the type of the column, the value of the property, or the comment; the beginning of a long one.
	Value string `json:"value,omitempty"`
}

// Unreadable is a table whose data cannot be read.
type Unreadable struct {
	ID     protocol.List[string] `json:"id"`
	Reason string                `json:"reason"`
}
