// Package plan binds SQL expressions to the schema of a table and evaluates them over
// record batches. It also finds the tests of a filter that indices of columns can answer
// ([Bound.Narrow]).
//
// An expression passes through these stages, a file or two each:
//
//	plan      syntax.Expr → nodes over the columns of a schema    plan.go
//	resolve   literals take the type of the column beside them   resolve.go
//	coerce    both sides of every operator get one type          coerce*.go
//	simplify  constants are folded, casts moved to literals      simplify*.go unwrap.go zero.go
//	Eval      nodes over columns, a slice of rows at a time      slice.go eval*.go
//
// now() and similar functions are constants, for which the caller passes the time to Bind.
// random() and uuid() are computed for each row and never folded.
//
// For example, the filter "n + 1 > 2.5" on a column n of int32 is planned as Gt(Add(Col n,
// Lit 1), Lit 2.5). coerce makes both sides float64, as n + 1 is an int64, and evaluation
// computes a set of rows.
//
// Values during evaluation are columns, or one constant for all rows. Two facts about
// values are surprising. Comparisons of floats follow the total order, in which NaN equals
// NaN and is above infinity (but a literal zero equals both zeros). Integers wrap around on
// overflow, while a division by zero, a failing CAST and the overflow of abs are errors.
//
// Work and memory are bounded by the context. Eval and Select divide a batch into slices of
// rows, which are narrower the more a row makes. They check the context within long
// operations, and take the bytes of intermediate values and results from the share of the
// context (package memory) before they allocate them. When they return, they have given
// back all bytes: a caller that keeps the values accounts for them. Constants stay single
// values. Bind computes those that are little work, and the bytes of those that it keeps
// stay taken until the share is closed. A need that exceeds the share is a *memory.Error. A
// single value of more than 256 MiB, a regular expression of more than 32,768 instructions,
// and a date format of more than 4 KiB are sql.ErrTooLarge.
//
// An error counts only for rows that are evaluated. AND evaluates its right side for the
// rows for which the left side is not false, OR for those for which it is not true, and
// CASE and coalesce evaluate each branch for the rows that take it. So "n <> 0 AND 10 / n >
// 2" never divides by zero. Native Lance does the same or fails, depending on how many rows
// of a batch remain.
package plan
