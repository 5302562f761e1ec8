// Package repdef turns the structure of nested arrays into repetition and definition levels and
// back. A [Shredder] walks an array of a field down a [Path] to one of its leaves and emits levels;
// a [Buffer] collects the levels of a page. An [Unraveler] turns levels back into validity and list
// offsets. A [Plan] gives the meaning of the levels of one page, which depends on the layers that
// the page describes.
//
// Each item of the leaf has one entry, a pair of levels, and so has each null or empty list and
// each null struct, which has no item. Package codec stores the levels. For the column list<int>
// with the rows [1, 2], null, [], [3]:
//
//	entry   value  rep  def
//	0       1      1    0    a row begins
//	1       2      0    0    one more item of the same list
//	2              1    1    the list is null
//	3              1    2    the list is empty
//	4       3      1    0
//
// The comments of [Shredder] and [Unraveler] give the numbering of levels. Source: crate
// lance-encoding, src/repdef.rs.
package repdef
