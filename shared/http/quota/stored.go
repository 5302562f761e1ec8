package quota

import (
	"context"
	"time"

	"tiltyard/shared/jobs/usage"
)

// lookEvery is the time for which a process uses the metered bytes of a namespace before it reads them again.
const lookEvery = time.Minute

// measure returns a time, and not zero, if the namespace has stored as much as its quota allows. Bytes that are not known
// admit the request. The caller holds the lock.
func (b *bucket) measure(ctx context.Context, l *Limiter, now time.Time) (wait time.Duration, err error) {
	if now.Sub(b.looked).Abs() >= lookEvery {
		stored, err := usage.Stored(ctx, l.records, now, b.of)
		if err != nil && ctx.Err() != nil {
			return 0, err // the next request reads
		}
		b.stored, b.looked = stored, now
		if err != nil {
			return 0, err
		}
	}
	if b.stored < b.quota.Amount {
		return 0, nil
	}
	return lookEvery, nil
}

// size returns the metered bytes.
func (b *bucket) size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stored
}

// Adds reports whether an operation adds data to the table, or to the namespace, of its object. Then a quota of stored
// bytes may refuse it. Operations that put back what is there already do not: a table that was dropped by mistake, or a
// version. Nor do those that complete what was admitted: uploads and jobs.
func Adds(operation string) bool { return adds[operation] }

// adds has all operations that change something.
var adds = map[string]bool{
	// Rows.
	"CreateTable":            true,
	"InsertIntoTable":        true,
	"MergeInsertIntoTable":   true,
	"UpdateTable":            true, // writes the changed rows anew
	"DeleteFromTable":        false,
	"CreateMultipartWrite":   true,
	"CompleteMultipartWrite": false, // its parts were inserted
	"AbortMultipartWrite":    false,

	// Columns. A changed type rewrites a column.
	"AlterTableAddColumns":      true,
	"AlterTableAlterColumns":    true,
	"AlterTableBackfillColumns": true,
	"AlterTableDropColumns":     false,
	"UpdateFieldMetadata":       false,
	"UpdateTableSchemaMetadata": false,

	// Indices.
	"CreateTableIndex":       true,
	"CreateTableScalarIndex": true,
	"DropTableIndex":         false,

	// Tables that have their files already. A renamed table counts as created where it is new.
	"RegisterTable":   true,
	"CloneTable":      true,
	"DeclareTable":    false, // has no rows
	"RenameTable":     false,
	"UndropTable":     false,
	"DropTable":       false,
	"DeregisterTable": false,
	"PurgeTable":      false,
	"MaintainTable":   false,

	// Versions. Clients that write files themselves make them for rows that they add, change and delete.
	"CreateTableVersion":       true,
	"BatchCreateTableVersions": true,
	"BatchCommitTables":        false, // each of its operations counts
	"BatchDeleteTableVersions": false,
	"RestoreTable":             false,

	// Branches and tags.
	"CherryPickTableBranch": true,
	"CreateTableBranch":     false,
	"DeleteTableBranch":     false,
	"CreateTableTag":        false,
	"UpdateTableTag":        false,
	"DeleteTableTag":        false,

	// Views.
	"CreateMaterializedView":  true,
	"RefreshMaterializedView": true,
	"RefreshTable":            true,
	"DropMaterializedView":    false,
	"CreateView":              false,
	"DropView":                false,

	// The write-ahead log, which no table has.
	"SetLsmWriteSpec":   false,
	"UnsetLsmWriteSpec": false,
	"FlushLsm":          false,
	"CompactLsm":        false,
	"EnableRte":         false,
	"DisableRte":        false,
	"FlushRte":          false,
	"CompactRte":        false,

	// Everything else stores no tables.
	"CreateNamespace":  false,
	"DropNamespace":    false,
	"UndropNamespace":  false,
	"CreateFunction":   false,
	"DropFunction":     false,
	"CreateSecret":     false,
	"AlterSecret":      false,
	"DropSecret":       false,
	"CancelJob":        false,
	"PauseJob":         false,
	"ResumeJob":        false,
	"AlterTransaction": false,
	"ExecuteStatement": false, // counts as what it performs
}
