// Package dataset is a Lance table at a version: it opens, scans, takes, writes and
// commits. It is where a reader or writer of tables begins:
//
//	session := dataset.NewSession(0, time.Now)
//	table := session.Table(location, 0)
//	latest, err := table.Latest(ctx)
//	schema, batches, err := latest.Scan(ctx, dataset.ScanOptions{Columns: []string{"id"}})
//
// A [Session] holds what the tables of a process share: a cache and the queue of commits.
// A [Table] is a place; a [Dataset] is one version of what is there, and never changes.
//
// Reading goes by windows (scan.go, window.go): runs of rows of one fragment that are read,
// decoded and handed on together, several ahead of the reader. What a filter needs is
// read first, the rest only for the rows that it keeps.
//
// Writing goes in two steps. New files are staged (stage.go) under names that nobody
// else has. A commit (commit.go) then makes the next manifest by one conditional put;
// what was committed meanwhile is checked (conflict.go) and the change put after it.
// Operations are in write.go (create, append, overwrite) and replace.go (rows for rows).
package dataset
