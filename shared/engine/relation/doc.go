// Package relation runs queries over several tables: joins, groups, distinct rows, unions, orders by expressions, and
// queries in queries.
//
// A query that a single table answers is not run here but by the table, with its indices ([Simple]). All others become a
// tree of steps, which read batches of rows from the steps below them:
//
//	scan      the rows of a table, or of a query that the table answers      scan.go
//	filter    the rows for which a condition is true                         filter.go
//	project   columns made of expressions                                    project.go
//	join      pairs of rows with equal keys, by a table of hashes            join.go
//	group     one row for each group of rows                                 group.go
//	sort      rows in an order, or the first ones of it                      sort.go
//	limit, union, values                                                     rows.go
//
// A [Plan] begins at the sources (sources.go): conditions move down to the scan of the table whose columns they name, where
// an index may answer them, and columns that no step reads are not read (each step's prune). For example,
//
//	SELECT u.name, count(*) AS n FROM orders o JOIN users u ON o.user = u.id WHERE o.price > 5 GROUP BY u.name ORDER BY n
//
// becomes sort(project(group(join(scan orders WHERE price > 5, scan users)))), and reads two columns of each table.
//
// Within a plan each column has a name of its own, such as o.price (scope.go); a batch is valid until the next one, and
// its memory is charged to the context by the step that made it. What a join or a sort keeps is charged until the context's
// share is closed, and a query that needs more memory than its share has is refused with a *memory.Error.
package relation
