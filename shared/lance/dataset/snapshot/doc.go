// Package snapshot reads a Lance table at one version. A [Snapshot] is made of a manifest and the
// [Place] of its table; it sends no request before it is asked for rows, and does not know how
// versions come about.
//
// Reading goes by windows: runs of rows of one fragment that are read, decoded and handed on
// together. A scan (scan.go) plans them (plan.go), works on several ahead of the reader within a
// bound of memory (readahead.go), and reads of each what a filter needs first, the rest only for the
// rows that it keeps (window.go). A take (take.go) reads single rows, by address or by id
// (rowindex.go). Both get columns from package fragment. The bytes of blobs are asked for by
// themselves (blobs.go), or for rows that are written again (blobvalues.go). Indices are listed
// (indices.go), and opened segment by segment (segment.go); package index reads their files.
package snapshot
