// Package sql is the root of the SQL of filters and computed columns. It holds the errors
// that all parts share.
//
// A client writes an expression such as "price < 10 AND name LIKE 'a%'". It is parsed,
// bound to an Arrow schema and evaluated over record batches. The packages here do no I/O
// and do not know tables. Each may use those above it in this list:
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
//	selection  the queries of views: text → expressions over the columns of a table
//
// The dialect is that of native Lance. Native Lance plans the expression itself, but leaves
// everything inside the parentheses of a function call to DataFusion. The two differ (the
// names of columns ignore case outside of a call and not inside, and CAST(x AS timestamp)
// is in microseconds outside and in nanoseconds inside), and both are followed, because a
// filter must select the rows that native Lance selects. A part of the dialect that is not
// implemented is an error that names it; an answer never differs.
//
// Begin with plan.BindFilter and Bound.Select to follow a filter, and with the table in
// package fn to add a function.
package sql
