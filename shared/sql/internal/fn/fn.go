// Package fn finds the functions of expressions by their names. The packages below hold the
// functions by subject, each with a table of [expr.Function]. To add a function, write its
// Bind and Eval in the package of its subject and add a line to the table there.
package fn

import (
	"slices"
	"strings"

	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn/calendar"
	"tiltyard/shared/sql/internal/fn/conditional"
	"tiltyard/shared/sql/internal/fn/json"
	"tiltyard/shared/sql/internal/fn/list"
	"tiltyard/shared/sql/internal/fn/number"
	"tiltyard/shared/sql/internal/fn/text"
	"tiltyard/shared/sql/internal/fn/types"
)

// tables are the tables of all packages; the keys are lower-case names.
var tables = slices.Concat(
	text.Tables, conditional.Tables, number.Tables, calendar.Tables, list.Tables, types.Tables, json.Tables)

// aliases are the alternative names of functions. A list function whose name begins with array_ also has a
// name that begins with list_, see Named.
var aliases = map[string]string{
	"length": "character_length", "char_length": "character_length",
	"instr": "strpos", "substring_index": "substr_index",
	"pow": "power", "ifnull": "nvl", "datepart": "date_part", "datetrunc": "date_trunc",

	"array_contains": "array_has", "arrays_overlap": "array_has_any", "array_empty": "empty",
	"array_indexof": "array_position", "array_extract": "array_element", "array_join": "array_to_string",
	"array_push_back": "array_append", "array_push_front": "array_prepend", "array_cat": "array_concat",
	"make_list": "make_array", "string_to_list": "string_to_array", "array_zip": "arrays_zip",
	"element_at": "map_extract", "dot_product": "inner_product", "row": "struct",

	"current_timestamp": "now", "today": "current_date", "rand": "random", "date_format": "to_char",
}

// Named returns the function with a name, in any case, or nil.
func Named(name string) *expr.Function {
	name = strings.ToLower(name)
	if rest, ok := strings.CutPrefix(name, "list_"); ok {
		name = "array_" + rest
	}
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	for _, table := range tables {
		if fn, ok := table[name]; ok {
			named := *fn
			named.Name = name
			return &named
		}
	}
	return nil
}
