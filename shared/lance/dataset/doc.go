// Package dataset opens, writes and commits versions of Lance tables. Start here to read or write a
// table:
//
//	session := dataset.NewSession(0, time.Now)
//	table := session.Table(location, 0)
//	latest, err := table.Latest(ctx)
//	schema, batches, err := latest.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id"}})
//
// A [Session] holds the state shared by the tables of a process: the cache and the commit queues. A
// [Table] is a location. A [Dataset] is one immutable version of the table there. Package snapshot
// reads versions.
//
// An append of three rows to version 7 writes three files:
//
//	data/01100…f2.lance                    the rows, written by package stage under a unique name
//	_transactions/7-0f8b….txn              Append{Fragments: [one fragment, 3 rows]}, read version 7
//	_versions/18446744073709551607.manifest version 8: the fragments of version 7 and the new one
//
// The manifest's name is 2^64−1 minus the version, so that listings start with the newest. The
// commit (commit.go) puts it on condition that it does not exist. If another writer has created
// version 8, the append is checked against that writer's transaction and becomes version 9. Appends
// that are ready at the same time share one version (group.go). Package operation defines the
// operations and their conflicts.
//
// This package commits any operation ([Dataset.Commit], [Table.Commit]) and writes rows: write.go
// creates, appends and overwrites; replace.go deletes and replaces. Neighbouring packages build on
// it: branches, tags, clone and cherrypick (over the stored names in refs); cleanup; multipart
// writes; commitlog, which finds a commit by its id; listing; alter for columns, segments for
// indices, and compaction; difference compares versions.
package dataset
