package sqlexpr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// A function is what can be called by name.
type function struct {
	name             string
	minArgs, maxArgs int
	intervals        bool // whether intervals may be among the arguments
	// bind checks the types of the arguments, casts them and sets the type of the
	// result. It may return another operation instead of the call.
	bind func(n *node) (*node, error)
	// prepare makes from constant arguments what eval finds in n.ready; nil if it has
	// no use for them.
	prepare func(m *meter, n *node) (any, error)
	// eval computes the call for the rows that count.
	eval func(m *meter, n *node, args []vec, rows bitset) (vec, error)
	// perRow makes other values for each of so many rows, in place of eval. Such functions
	// have no arguments and are no constants.
	perRow func(rows int) vec
}

// functionTables are the known functions by their lower-case names. To add one, write its
// bind and eval in a file fn_….go and its line in the table there.
var functionTables = []map[string]*function{
	basicFunctions, choiceFunctions, textPartFunctions, textMakeFunctions, textCodeFunctions,
	floatFunctions, roundFunctions, regexpFunctions, dateFunctions,
	momentFunctions, timeFunctions, listFunctions, listMakeFunctions, listEditFunctions, listMathFunctions,
	seriesFunctions, structFunctions, castFunctions, jsonFunctions,
}

// basicFunctions are those that need no table of their own.
var basicFunctions = map[string]*function{
	"abs": {minArgs: 1, maxArgs: 1, bind: bindAbs, eval: evalAbs},

	"lower":            {minArgs: 1, maxArgs: 1, bind: bindText, eval: evalLower},
	"upper":            {minArgs: 1, maxArgs: 1, bind: bindText, eval: evalUpper},
	"character_length": {minArgs: 1, maxArgs: 1, bind: bindCharLength, eval: evalCharLength},
	"octet_length":     {minArgs: 1, maxArgs: 1, bind: bindOctetLength, eval: evalOctetLength},
	"starts_with":      {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalStartsWith},
	"ends_with":        {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalEndsWith},
	"contains":         {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalContains},
}

// functionAliases are other names of functions. Those of list functions that begin with array_
// have one each that begins with list_, see functionNamed.
var functionAliases = map[string]string{
	"length": "character_length", "char_length": "character_length",
	"instr": "strpos", "substring_index": "substr_index",
	"pow": "power", "ifnull": "nvl", "datepart": "date_part", "datetrunc": "date_trunc",

	"array_contains": "array_has", "arrays_overlap": "array_has_any", "array_empty": "empty",
	"array_indexof": "array_position", "array_extract": "array_element", "array_join": "array_to_string",
	"array_push_back": "array_append", "array_push_front": "array_prepend", "array_cat": "array_concat",
	"make_list": "make_array", "string_to_list": "string_to_array", "array_zip": "arrays_zip",
	"dot_product": "inner_product", "row": "struct",

	"current_timestamp": "now", "today": "current_date", "rand": "random", "date_format": "to_char",
}

// functionNamed finds a function, nil if it is unknown. Case does not matter.
func functionNamed(name string) *function {
	name = strings.ToLower(name)
	if rest, ok := strings.CutPrefix(name, "list_"); ok {
		name = "array_" + rest
	}
	if alias, ok := functionAliases[name]; ok {
		name = alias
	}
	for _, table := range functionTables {
		if fn, ok := table[name]; ok {
			named := *fn
			named.name = name
			return &named
		}
	}
	return nil
}

// castArgs casts the arguments to types, in order, and sets the type of the result.
func castArgs(n *node, result arrow.DataType, types ...arrow.DataType) (*node, error) {
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = castTo(a, types[i]); err != nil {
			return nil, err
		}
	}
	n = n.with(args...)
	n.typ = result
	return n, nil
}

// asText returns the type of a string argument: its own, or string for NULL; nil if the
// argument is no string.
func asText(t arrow.DataType) arrow.DataType {
	switch {
	case isString(t):
		return t
	case t.ID() == arrow.NULL:
		return typeString
	}
	return nil
}

// unionOf finds one type for several, of which all but strings and NULL must be of one
// kind: all numbers, all bools or all of the calendar.
func unionOf(n *node, types []arrow.DataType) (arrow.DataType, error) {
	kind := func(t arrow.DataType) int {
		switch {
		case isNumeric(t):
			return 1
		case t.ID() == arrow.BOOL:
			return 2
		case isTemporal(t):
			return 3
		}
		return 0
	}
	common, seen := types[0], 0
	for i, t := range types {
		switch k := kind(t); {
		case k == 0 && !isString(t) && t.ID() != arrow.NULL && !sameType(t, types[0]), k != 0 && seen != 0 && k != seen:
			return nil, mismatch(n)
		case k != 0:
			seen = k
		}
		if i > 0 {
			if common = coalesceType(common, t); common == nil {
				return nil, mismatch(n)
			}
		}
	}
	return common, nil
}
