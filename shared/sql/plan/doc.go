// Package plan binds SQL expressions to the schema of a table and evaluates them over record
// batches; it says which indices of columns narrow a filter down.
//
// An expression passes through these stages, a file or two each:
//
//	plan      syntax.Expr → nodes over the columns of a schema    plan.go
//	resolve   literals take the type of the column beside them   resolve.go
//	coerce    both sides of every operator get one type          coerce*.go
//	simplify  constants are folded, casts moved to literals      simplify*.go unwrap.go zero.go
//	Eval      nodes over columns, a slice of rows at a time      slice.go eval*.go
//
// now() and its like are constants of the moment that Bind is told; random() and uuid() are
// made for each row and never folded.
//
// Values during evaluation are columns, or one constant standing for every row. Two facts about values surprise: comparisons of floats
// follow the total order in which NaN equals NaN and is above infinity (but a literal zero
// equals both zeros), and integers wrap around on overflow while a division by zero, a
// failing CAST and the overflow of abs are errors.
//
// Work and memory are bounded by the context. Eval and Select go through a batch in slices of
// rows, narrower ones the more a row makes, look at the context within long operations, and
// take the bytes of intermediate values and results from the share of the context (package
// memory) before they make them. When they return, they have given back all of it: whoever
// keeps the values accounts for them. Constants stay single values; Bind computes those that
// are little work, and what it keeps of them stays taken until the share is closed. What is
// more than a share allows is a *memory.Error, and a single value of more than 256 MiB, a
// regular expression of more than 32,768 instructions, or a format of dates of more than 4 KiB
// sql.ErrTooLarge.
//
// An error counts only for rows that reach it. AND evaluates its right side for the rows
// that the left side did not make false, OR for those not made true, CASE and coalesce
// each branch for the rows that take it; so "n <> 0 AND 10 / n > 2" never divides by zero.
// The native Lance does the same or fails, depending on how many rows of a batch are left.
package plan
