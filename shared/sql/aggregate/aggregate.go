// Package aggregate defines the aggregate functions of SQL: their names, the types to which their arguments
// are cast, and the types of their results. They are those of native LanceDB, which takes them from
// DataFusion. Functions that depend on the order of rows or approximate are left out, because a view would
// change with each refresh.
//
// Package grouping of the engine evaluates them.
package aggregate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
)

// A Function is an aggregate function by its name.
type Function string

// These are the functions.
const (
	Count     Function = "count" // rows in which no argument is NULL
	Sum       Function = "sum"   // integers wrap around on overflow
	Avg       Function = "avg"
	Min       Function = "min" // by the order of values: floats by their total order
	Max       Function = "max"
	ArrayAgg  Function = "array_agg" // a list of all values, including NULLs
	BoolAnd   Function = "bool_and"
	BoolOr    Function = "bool_or"
	BitAnd    Function = "bit_and"
	BitOr     Function = "bit_or"
	BitXor    Function = "bit_xor"
	VarPop    Function = "var_pop"
	Var       Function = "var" // of a sample, as is Stddev
	StddevPop Function = "stddev_pop"
	Stddev    Function = "stddev"
	Median    Function = "median"
)

var names = map[string]Function{
	"count": Count, "sum": Sum, "avg": Avg, "mean": Avg, "min": Min, "max": Max, "array_agg": ArrayAgg,
	"bool_and": BoolAnd, "bool_or": BoolOr, "bit_and": BitAnd, "bit_or": BitOr, "bit_xor": BitXor,
	"var_pop": VarPop, "var_population": VarPop, "var": Var, "var_samp": Var, "var_sample": Var,
	"stddev_pop": StddevPop, "stddev": Stddev, "stddev_samp": Stddev, "median": Median,
}

// Named reports whether an aggregate function has the name, in any case.
func Named(name string) bool {
	_, ok := names[strings.ToLower(name)]
	return ok
}

// A Call is a call of a function with arguments of certain types.
type Call struct {
	Function Function
	Args     []arrow.DataType // types to which the arguments are cast
	Distinct bool             // equal values count once
	Type     arrow.DataType   // of the result
	Nullable bool             // the result may be NULL
}

// ErrName is the error for a name that no function has.
var ErrName = errors.New("no such aggregate function")

// Of returns the call of a function with arguments of the given types.
func Of(name string, args []arrow.DataType, distinct bool) (*Call, error) {
	f, ok := names[strings.ToLower(name)]
	if !ok {
		return nil, ErrName
	}
	c := &Call{Function: f, Args: args, Distinct: distinct, Nullable: true}
	if f == Count {
		if distinct && len(args) != 1 {
			return nil, errors.New("count(DISTINCT …) takes 1 argument")
		}
		c.Type, c.Nullable = column.TypeInt64, false
		return c, c.check()
	}
	if len(args) != 1 {
		return nil, fmt.Errorf("function %s takes 1 argument, not %d", name, len(args))
	}
	t := args[0]
	switch f {
	case Min, Max:
		c.Type = t
	case ArrayAgg:
		c.Type = arrow.ListOf(t)
	case Sum, Avg:
		c.Args, c.Type = number(f, t)
	case BoolAnd, BoolOr:
		if t.ID() == arrow.BOOL {
			c.Type = t
		}
	case BitAnd, BitOr, BitXor:
		if column.IsInteger(t) {
			c.Type = t
		}
	case VarPop, Var, StddevPop, Stddev, Median:
		if distinct {
			return nil, fmt.Errorf("%s(DISTINCT …)", name)
		}
		if f == Median && (t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT16) {
			return nil, fmt.Errorf("median of %s (write median(CAST(… AS DOUBLE)))", t)
		}
		if column.IsInteger(t) || column.IsFloat(t) {
			c.Args, c.Type = []arrow.DataType{column.TypeFloat64}, column.TypeFloat64
		}
	}
	if c.Type == nil {
		return nil, fmt.Errorf("function %s of a value of type %s", name, t)
	}
	return c, c.check()
}

// number returns the type to which the argument of sum or avg is cast, and the type of the result. Both are
// nil if t is not numeric.
func number(f Function, t arrow.DataType) (args []arrow.DataType, result arrow.DataType) {
	switch {
	case t.ID() == arrow.DECIMAL128:
		d := t.(*arrow.Decimal128Type)
		if f == Sum {
			return []arrow.DataType{t}, &arrow.Decimal128Type{Precision: min(d.Precision+10, column.MaxPrecision128), Scale: d.Scale}
		}
		return []arrow.DataType{t}, &arrow.Decimal128Type{Precision: min(d.Precision+4, column.MaxPrecision128), Scale: min(d.Scale+4, column.MaxPrecision128)}
	case column.IsFloat(t), f == Avg && column.IsInteger(t):
		result = column.TypeFloat64
	case arrow.IsSignedInteger(t.ID()):
		result = column.TypeInt64
	case arrow.IsUnsignedInteger(t.ID()):
		result = arrow.PrimitiveTypes.Uint64
	}
	return []arrow.DataType{result}, result
}

// check returns an error for types of arguments that are not kept in states.
func (c *Call) check() error {
	for _, t := range c.Args {
		kept := c.Distinct || c.Function == Min || c.Function == Max || c.Function == ArrayAgg
		if kept && !Flat(t) {
			return fmt.Errorf("function %s of a value of type %s", c.Function, t)
		}
	}
	return nil
}

// Flat reports whether a type can be a GROUP BY key, or the argument of a function that keeps values:
// numbers, texts, binaries, bools, dates and times.
func Flat(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.NULL, arrow.EXTENSION, arrow.DICTIONARY, arrow.INTERVAL_MONTHS, arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO:
		return false
	}
	return !arrow.IsNested(t.ID())
}
