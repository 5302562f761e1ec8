// Package dataset is a Lance table: it opens versions, writes rows and commits. It is where a reader
// or writer of tables begins:
//
//	session := dataset.NewSession(0, time.Now)
//	table := session.Table(location, 0)
//	latest, err := table.Latest(ctx)
//	schema, batches, err := latest.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id"}})
//
// A [Session] holds what the tables of a process share: a cache and the queue of commits.
// A [Table] is a place; a [Dataset] is one version of what is there, and never changes. How a version
// is read is the work of package snapshot, on which the Dataset puts the changes that can be made to
// it. Tags and branches (package refs) name versions. A branch is itself a table; createbranch.go and
// deletebranch.go make and delete it.
//
// Writing goes in two steps. Package stage writes new files under names that no other writer uses. A
// commit (commit.go) then makes the next manifest by one conditional put; when others have committed
// meanwhile, the change is checked against theirs and put after them. Appends that are ready at the
// same time become one version (group.go). A writer that could not learn whether its commit was made
// finds it by its id (findcommit.go). Package operation defines what operations mean, and which go
// together. Writes that make operations are in write.go (create, append, overwrite), replace.go
// (delete, rows for rows), addcolumns.go and altercolumns.go (planned by package alter), rewrite.go
// (compaction) and operation.go (restore, clone, and all that need no files).
package dataset
