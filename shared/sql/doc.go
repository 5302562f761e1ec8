// Package sql is the root of the SQL of filters and computed columns. It defines the errors of all its
// parts.
//
// A client writes an expression such as "price < 10 AND name LIKE 'a%'". It is parsed, bound to an Arrow
// schema and evaluated over record batches. The packages below do no I/O and do not depend on tables. Each
// may use those above it in this list:
//
//	meter      the memory and the work of an evaluation
//	clock      dates, times, intervals and zones: ticks, texts and formats
//	syntax     text → tree, and back
//	rustregex  regular expressions
//	column     values of Arrow types, many or one
//	cast       values from type to type
//	expr       nodes: operations over arguments, and the parts of functions
//	compute    the operators
//	fn         the functions, by subject
//	plan       tree → nodes over the columns of a schema → values
//	selection  the queries of views: text → expressions over the columns of a table
//
// The dialect is that of native Lance. Native Lance plans the expression itself, but leaves everything
// inside the parentheses of a function call to DataFusion. The two differ (the names of columns ignore case
// outside of a call and not inside, and CAST(x AS timestamp) is in microseconds outside and in nanoseconds
// inside), and both are followed, because a filter must select the rows that native Lance selects. An
// unsupported part of the dialect is an error that names it, never a different answer.
//
// For example, the filter price < 10 OR name IS NULL on a float64 and a string column. Package syntax
// parses it into OR(<(price, 10), IS NULL(name)). Package plan resolves the names to columns 0 and 1, and
// converts the literal 10 to float64, the type of its column. For each slice of a batch, compute.Compare
// makes a Bitset of the rows with a price below 10, IS NULL a Bitset from the validity of name, and
// compute.Kleene combines both. Bound.Select returns the rows that are true; rows with NULL are not
// selected.
//
// Begin with plan.BindFilter and Bound.Select to follow a filter, and with the table in package fn to add a
// function.
package sql
