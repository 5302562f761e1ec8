// Package merge plans which rows a merge adds to a version of a table and which it removes. The new
// rows are called the source. It commits nothing.
//
//	source  the new rows, the first in memory and the rest in a scratch file
//	keys    an index of the key columns: a map if there are few, or hash buckets in the scratch directory
//	pairs   which row of the table each row of the source replaces
//	members the members of structs that the source lacks
//	plan    the rows to add, made batch by batch, and the set of rows to remove
package merge
