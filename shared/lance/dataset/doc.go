// Package dataset is a Lance table: it opens versions, writes rows and commits. It is where a reader
// or writer of tables begins:
//
//	session := dataset.NewSession(0, time.Now)
//	table := session.Table(location, 0)
//	latest, err := table.Latest(ctx)
//	schema, batches, err := latest.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id"}})
//
// A [Session] holds what the tables of a process share: a cache and the queue of commits. A [Table] is a place; a [Dataset]
// is one version of the table there, and never changes. Package snapshot reads versions.
//
// A write has two steps. Package stage writes new files under unique names. A commit (commit.go) then makes the next manifest
// by one conditional put; if other writers have committed meanwhile, the change is checked against theirs and put after them.
// Appends that are ready at the same time become one version (group.go). Package operation defines the operations and their
// conflicts. This package commits any operation ([Dataset.Commit], [Table.Commit]) and writes rows: write.go creates, appends
// and overwrites, replace.go deletes and replaces.
//
// Everything else lies in packages beside it: tags and branches (over the names in package refs), clone and cherrypick;
// cleanup of versions and files; multipart writes; commitlog, which finds a commit by its id; listing; alter for columns,
// segments for indices, and compaction; difference compares versions.
package dataset
