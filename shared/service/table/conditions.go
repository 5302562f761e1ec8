package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// conditions are the conditions of a search, in lower case, and the sources that they need.
type conditions struct {
	words      []string
	in         []tableapi.FindPlace
	name       string
	columns    []tableapi.ColumnCondition
	properties []tableapi.PropertyCondition
	tag        string
	comment    string

	needRecord, needTags, needManifest bool
}

// newConditions converts the conditions of a request.
func newConditions(req *tableapi.FindRequest) *conditions {
	c := &conditions{
		words: strings.Fields(strings.ToLower(req.Text)), in: req.In,
		name: strings.ToLower(req.Name), tag: strings.ToLower(req.Tag), comment: strings.ToLower(req.Comment),
	}
	if len(c.in) == 0 {
		c.in = []tableapi.FindPlace{tableapi.FindName}
	}
	for _, one := range req.Columns {
		c.columns = append(c.columns, tableapi.ColumnCondition{Name: strings.ToLower(one.Name), Type: squeeze(one.Type)})
	}
	for _, one := range req.Properties {
		c.properties = append(c.properties, tableapi.PropertyCondition{Key: strings.ToLower(one.Key), Value: strings.ToLower(one.Value)})
	}
	c.needTags = c.tag != "" || c.searches(tableapi.FindTag)
	c.needManifest = len(c.columns) > 0 || c.comment != "" || c.searches(tableapi.FindColumn) || c.searches(tableapi.FindComment)
	c.needRecord = c.needTags || c.needManifest || len(c.properties) > 0 || c.searches(tableapi.FindProperty)
	return c
}

// squeeze returns a type in lower case, without spaces.
func squeeze(text string) string { return strings.ReplaceAll(strings.ToLower(text), " ", "") }

// searches reports whether the words are searched in a place.
func (c *conditions) searches(place tableapi.FindPlace) bool {
	return len(c.words) > 0 && slices.Contains(c.in, place)
}

// mayMeet reports whether a table with the id may meet the conditions. It checks names only.
func (c *conditions) mayMeet(id []string) bool {
	if !occurs(c.name, strings.ToLower(id[len(id)-1])) {
		return false
	}
	return slices.ContainsFunc(c.in, func(place tableapi.FindPlace) bool { return place != tableapi.FindName }) ||
		!slices.ContainsFunc(c.words, func(word string) bool { return len(c.holding(word, id, nil)) == 0 })
}

// parts contains the parts of a table to which conditions apply.
type parts struct {
	properties map[string]string
	tags       []string
	fields     []tableapi.Match // columns, with their types
	comments   []tableapi.Match

	columns    int    // number of visited columns
	unreadable string // why the table could not be read; "" if it was
}

// addFields adds columns and their nested fields if the conditions need them.
func (p *parts) addFields(path string, fields []arrow.Field, c *conditions) {
	for _, field := range fields {
		name := path + field.Name
		p.columns++
		p.addComments(name, field.Metadata.ToMap(), c)
		if len(c.columns) > 0 || c.searches(tableapi.FindColumn) {
			p.fields = append(p.fields, tableapi.Match{In: tableapi.FindColumn, Name: name, Value: typeText(field.Type)})
		}
		p.addFields(name+".", inside(field.Type), c)
	}
}

// inside returns the columns inside a column: the fields of a struct, or of the elements of a list.
func inside(typ arrow.DataType) []arrow.Field {
	switch typ := typ.(type) {
	case *arrow.StructType:
		return typ.Fields()
	case arrow.ListLikeType:
		return inside(typ.Elem())
	}
	return nil
}

// typeText returns a type on one line, without spaces, with the names of the public specification.
func typeText(typ arrow.DataType) string {
	if extension, ok := typ.(arrow.ExtensionType); ok {
		typ = extension.StorageType()
	}
	switch typ := typ.(type) {
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("%s<%s>[%d]", typ.Name(), typeText(typ.Elem()), typ.Len())
	case *arrow.MapType:
	case arrow.ListLikeType:
		return typ.Name() + "<" + typeText(typ.Elem()) + ">"
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("%s[%d]", typ.Name(), typ.ByteWidth)
	}
	return squeeze(protocol.TypeText(typ))
}

// commentKeys are the metadata keys that contain comments.
var commentKeys = []string{"comment", "description"}

// addComments adds the comments in the metadata of a column, or of the table if column is "".
func (p *parts) addComments(column string, metadata map[string]string, c *conditions) {
	if c.comment == "" && !c.searches(tableapi.FindComment) {
		return
	}
	for _, key := range commentKeys {
		if text := metadata[key]; text != "" {
			p.comments = append(p.comments, tableapi.Match{In: tableapi.FindComment, Name: column, Value: text})
		}
	}
}

// meet returns the parts of a table that match the conditions; all is false unless every condition is met. p may be nil if
// the conditions apply to names only.
func (c *conditions) meet(id []string, p *parts) (met []tableapi.Match, all bool) {
	if p == nil {
		p = new(parts)
	}
	var found [][]tableapi.Match
	if c.name != "" {
		found = append(found, []tableapi.Match{{In: tableapi.FindName, Name: id[len(id)-1]}})
	}
	for _, one := range c.columns {
		found = append(found, matching(p.fields, one.Name, one.Type, occurs, is))
	}
	found = append(found, c.inProperties(p)...)
	if c.tag != "" {
		found = append(found, matching(p.tagMatches(), c.tag, "", occurs, occurs))
	}
	if c.comment != "" {
		found = append(found, matching(p.comments, "", c.comment, occurs, occurs))
	}
	for _, word := range c.words {
		found = append(found, c.holding(word, id, p))
	}
	// Each condition must have a match.
	for _, by := range found {
		if len(by) == 0 {
			return nil, false
		}
		met = append(met, by...)
	}
	return few(met), true
}

// inProperties returns the matches of each condition on properties.
func (c *conditions) inProperties(p *parts) (found [][]tableapi.Match) {
	for _, one := range c.properties {
		found = append(found, matching(p.propertyMatches(), one.Key, one.Value, is, occurs))
	}
	return found
}

// meetsProperties reports whether the conditions on properties are met.
func (c *conditions) meetsProperties(p *parts) bool {
	return !slices.ContainsFunc(c.inProperties(p), func(met []tableapi.Match) bool { return len(met) == 0 })
}

// meetsTag reports whether the condition on tags is met.
func (c *conditions) meetsTag(p *parts) bool {
	return c.tag == "" || len(matching(p.tagMatches(), c.tag, "", occurs, occurs)) > 0
}

func (p *parts) propertyMatches() []tableapi.Match {
	all := make([]tableapi.Match, 0, len(p.properties))
	for _, key := range slices.Sorted(maps.Keys(p.properties)) {
		all = append(all, tableapi.Match{In: tableapi.FindProperty, Name: key, Value: p.properties[key]})
	}
	return all
}

func (p *parts) tagMatches() []tableapi.Match {
	all := make([]tableapi.Match, len(p.tags))
	for i, name := range p.tags {
		all[i] = tableapi.Match{In: tableapi.FindTag, Name: name}
	}
	return all
}

// holding returns the parts of a table that contain a word. p may be nil if words are searched in
// names only.
func (c *conditions) holding(word string, id []string, p *parts) (met []tableapi.Match) {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), word) }
	for _, place := range c.in {
		switch place {
		case tableapi.FindName:
			for _, name := range id {
				if has(name) {
					met = append(met, tableapi.Match{In: place, Name: name})
				}
			}
		case tableapi.FindColumn:
			met = append(met, matching(p.fields, word, "", holds, holds)...)
		case tableapi.FindProperty:
			for _, property := range p.propertyMatches() {
				if has(property.Name) || has(property.Value) {
					met = append(met, property)
				}
			}
		case tableapi.FindTag:
			met = append(met, matching(p.tagMatches(), word, "", holds, holds)...)
		case tableapi.FindComment:
			met = append(met, matching(p.comments, "", word, holds, holds)...)
		}
	}
	return met
}

// holds reports whether a text contains a word.
func holds(word, text string) bool { return strings.Contains(text, word) }

// matching returns the entries whose name and value match, as the given functions compare them.
func matching(all []tableapi.Match, name, value string, nameFits, valueFits func(pattern, text string) bool) (found []tableapi.Match) {
	for _, one := range all {
		if nameFits(name, strings.ToLower(one.Name)) && valueFits(value, strings.ToLower(one.Value)) {
			found = append(found, one)
		}
	}
	return found
}

// Bounds of the answer's part about one table.
const (
	maxMatches    = 20
	maxMatchRunes = 200
)

// few returns the first maxMatches distinct matches, with shortened values.
func few(met []tableapi.Match) []tableapi.Match {
	var kept []tableapi.Match
	for _, one := range met {
		if long := []rune(one.Value); len(long) > maxMatchRunes {
			one.Value = string(long[:maxMatchRunes]) + "…"
		}
		if len(kept) < maxMatches && !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// occurs reports whether a text contains a pattern. A pattern with * or ? must match the whole
// text.
func occurs(pattern, text string) bool {
	if strings.ContainsAny(pattern, "*?") {
		return fits(pattern, text)
	}
	return strings.Contains(text, pattern)
}

// is reports whether a pattern matches the whole text. An empty one matches any.
func is(pattern, text string) bool { return pattern == "" || fits(pattern, text) }

// fits reports whether a pattern matches the whole text: * matches any text, ? one character. The number of steps is at
// most the product of the lengths.
func fits(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, from, i, j := -1, 0, 0, 0 // the last star, and the end of its match in the text so far
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
