// Package sql has what all parts of the SQL of filters and computed columns share: the errors.
//
// LanceDB users write an expression; it is parsed, bound to an Arrow schema and evaluated over
// record batches. Nothing here does I/O or knows of tables. The parts, each of which may use
// those above it:
//
//	meter      the memory and the work of an evaluation
//	clock      dates, times, intervals and zones: ticks, texts and formats
//	syntax     text → tree, and back
//	rustregex  regular expressions
//	column     values of Arrow types, many or one
//	cast       values from type to type
//	expr       nodes: operations over arguments, and what functions are made of
//	compute    the operators
//	fn         the functions, by subject
//	plan       tree → nodes over the columns of a schema → values
//
// The dialect is the one of the native Lance: its own planner for the expression, and
// DataFusion for everything inside the parentheses of a function call. The two differ
// (names of columns ignore case outside a call and not inside, CAST(x AS timestamp) is
// in microseconds outside and in nanoseconds inside), and both are followed, because the
// rows that a filter selects must be the rows that the native Lance selects. What is not
// here yet is an error that names it, never another answer.
package sql
