// Package snapshot reads one version of a Lance table. A [Snapshot] combines a manifest with the
// [Place] of its table. It sends no request until rows are read, and has no part in commits.
//
// The unit of reading is the window: a run of rows of one fragment that is read, decoded and
// returned together, about 8 MiB. For example, a scan of columns id and text WHERE id < 10 over a
// fragment of a million rows
//
//	plans windows of 2^k rows by the width of the columns    plan.go
//	starts several within a bound of memory                  readahead.go
//	reads id of a window and evaluates the filter            window.go
//	reads text only for the rows that it keeps               window.go
//	yields one batch per window, in order                    scan.go
//
// A take (take.go) reads single rows by address, or by stable row id (rowindex.go). Both read
// columns through package fragment. Blob bytes are read separately (blobs.go), or together with
// rows that are written again (blobvalues.go). Indices are listed in indices.go and opened by
// segment in segment.go; package index reads their files.
package snapshot
