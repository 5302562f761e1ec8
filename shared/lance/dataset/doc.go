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
// Reading goes by windows: runs of rows of one fragment that are read, decoded and handed
// on together. A scan (scan.go) plans them (plan.go), works on several ahead of the
// reader within a bound of memory (readahead.go), and reads of each what a filter needs first,
// the rest only for the rows that it keeps (window.go). A take (take.go) reads single rows,
// by address or by id (rowindex.go). Both get columns from package fragment. The bytes of blobs
// are asked for by themselves (blobs.go), or for rows that are written again (blobvalues.go). Tags and branches (refs.go) name versions; a branch is made
// and deleted beside the table (createbranch.go, deletebranch.go), and else is one itself.
//
// Writing goes in two steps. Package stage writes new files under names that no other writer uses. A commit (commit.go) then makes the next manifest by one conditional put;
// when others have committed meanwhile, the change is checked against theirs and put
// after them. Appends that are ready at the same time become one version (group.go). Who
// could not learn whether his commit was made finds it by its id (findcommit.go). What operations mean, and which go together, is told by package operation.
// Writes that make operations are in write.go (create, append, overwrite), replace.go
// (delete, rows for rows), addcolumns.go and altercolumns.go, rewrite.go (compaction) and
// operation.go (restore, clone, and all that need no files).
package dataset
