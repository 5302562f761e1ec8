// Package merge decides what a merge of new rows, the source, into a version of a table adds and
// removes. It commits nothing.
//
//	source  the new rows, the first in memory and the rest in a scratch file
//	keys    the values of the key columns: a map of few, or hash buckets in the scratch directory
//	pairs   which row of the table each row of the source replaces
//	members the members of structs that the source lacks
//	plan    the rows to add, made batch by batch, and the set of rows to remove
package merge
