// Package plan compiles SQL expressions for the schema of a table and evaluates them over record batches.
// It also extracts the tests of a filter that indices can answer ([Bound.Narrow]).
//
// An expression passes through these stages, a file or two each:
//
//	plan      syntax.Expr → nodes over the columns of a schema       plan.go
//	resolve   literals get the type of the column beside them        resolve.go
//	coerce    both operands of an operator are cast to one type      coerce*.go
//	simplify  constants are folded, casts moved to literals          simplify*.go unwrap.go zero.go
//	Eval      nodes over columns, a slice of rows at a time          slice.go eval*.go
//
// now() and similar functions are constants, for which the caller passes the time to Bind. random() and
// uuid() are computed for each row and never folded.
//
// For example, the filter "n + 1 > 2.5" on a column n of int32 is compiled in these steps:
//
//	plan      Gt(Add(Col n, Lit 1), Lit 2.5)
//	coerce    Gt(Cast(Add(Cast(Col n, int64), Lit 1), float64), Lit 2.5): n + 1 is an int64, and the
//	          common type of int64 and float64 is float64
//	Select    the numbers of the rows in which the comparison is true
//
// During evaluation a value is a column, or one constant for all rows. Two rules are surprising.
// Comparisons of floats follow the total order, in which NaN equals NaN and is above infinity (but a
// literal zero equals both zeros). Integers wrap around on overflow, while a division by zero, a failing
// CAST and the overflow of abs are errors.
//
// The context bounds work and memory. Eval and Select divide a batch into slices of rows; the more memory a
// row needs, the fewer rows a slice has. They check the context within long operations, and reserve the
// bytes of intermediate values and results in the context's memory share (package memory) before they
// allocate them. They release all bytes when they return: a caller that keeps the values accounts for them.
// Constants are not expanded to rows. Bind folds constants within limits, and the bytes of kept constants
// stay reserved until the share is closed. A reservation that exceeds the share is a *memory.Error. A
// single value of more than 256 MiB, a regular expression of more than 32,768 instructions, and a date
// format of more than 4 KiB are sql.ErrTooLarge.
//
// Only rows that are evaluated can cause an error. AND evaluates its right side for the rows for which the
// left side is not false, OR for the rows for which it is not true, and CASE and coalesce evaluate each
// branch only for its own rows. So "n <> 0 AND 10 / n > 2" never divides by zero. Native Lance either does
// the same or fails, depending on the number of remaining rows in a batch.
package plan
