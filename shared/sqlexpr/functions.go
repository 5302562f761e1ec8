package sqlexpr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// A function is what can be called by name.
type function struct {
	name             string
	minArgs, maxArgs int
	// bind checks the types of the arguments, casts them and sets the type of the
	// result. It may return another operation instead of the call.
	bind func(n *node) (*node, error)
	// prepare makes from constant arguments what eval finds in n.ready; nil if it has
	// no use for them.
	prepare func(n *node) (any, error)
	// eval computes the call for the rows that count.
	eval func(n *node, args []vec, rows bitset) (vec, error)
}

// functionTables are the known functions by their lower-case names. To add one, write its
// bind and eval in a file fn_….go and its line in the table there.
var functionTables = []map[string]*function{
	basicFunctions, textPartFunctions, textMakeFunctions, textCodeFunctions,
}

// basicFunctions are those that need no table of their own.
var basicFunctions = map[string]*function{
	"coalesce": {minArgs: 1, maxArgs: 1000, bind: bindCoalesce},

	"abs": {minArgs: 1, maxArgs: 1, bind: bindAbs, eval: evalAbs},

	"lower":            {minArgs: 1, maxArgs: 1, bind: bindText, eval: evalLower},
	"upper":            {minArgs: 1, maxArgs: 1, bind: bindText, eval: evalUpper},
	"character_length": {minArgs: 1, maxArgs: 1, bind: bindCharLength, eval: evalCharLength},
	"octet_length":     {minArgs: 1, maxArgs: 1, bind: bindOctetLength, eval: evalOctetLength},
	"starts_with":      {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalStartsWith},
	"ends_with":        {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalEndsWith},
	"contains":         {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalContains},

	"regexp_like":  {minArgs: 2, maxArgs: 3, bind: bindRegexpLike, prepare: prepareRegexp, eval: evalRegexpLike},
	"regexp_match": {minArgs: 2, maxArgs: 3, bind: bindRegexpMatch, prepare: prepareRegexp, eval: evalRegexpMatch},

	"array_has":     {minArgs: 2, maxArgs: 2, bind: bindArrayHas, eval: evalArrayHas},
	"array_has_any": {minArgs: 2, maxArgs: 2, bind: bindArrayHasMany, eval: evalArrayHasAny},
	"array_has_all": {minArgs: 2, maxArgs: 2, bind: bindArrayHasMany, eval: evalArrayHasAll},
}

var functionAliases = map[string]string{
	"length": "character_length", "char_length": "character_length",
	"list_has": "array_has", "array_contains": "array_has", "list_contains": "array_has",
	"list_has_any": "array_has_any", "arrays_overlap": "array_has_any",
	"list_has_all": "array_has_all",
	"substring":    "substr", "trim": "btrim", "instr": "strpos", "position": "strpos", "substring_index": "substr_index",
}

// functionNamed finds a function, nil if it is unknown. Case does not matter.
func functionNamed(name string) *function {
	name = strings.ToLower(name)
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

// bindCoalesce makes CASE WHEN a IS NOT NULL THEN a … ELSE z END of coalesce(a, …, z).
func bindCoalesce(n *node) (*node, error) {
	types := make([]arrow.DataType, len(n.args))
	for i, a := range n.args {
		types[i] = a.typ
	}
	typ, err := unionOf(n, types)
	if err != nil {
		return nil, err
	}
	if isNested(typ) {
		return nil, errorf(ErrUnsupported, n.pos, "coalesce of %s", typ)
	}
	c := &node{op: opCase, typ: typ, pos: n.pos}
	for i, a := range n.args {
		x, err := castTo(a, typ)
		if err != nil {
			return nil, err
		}
		if i == len(n.args)-1 {
			if i == 0 {
				return x, nil
			}
			c.args = append(c.args, x)
			break
		}
		c.args = append(c.args, &node{op: opIsNull, not: true, typ: typeBool, args: []*node{x}, pos: a.pos}, x)
	}
	return c, nil
}
