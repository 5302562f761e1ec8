// Package encoding turns Arrow arrays into the pages of Lance data files and pages into
// arrays. It does no I/O: pages are buffers of bytes and the message that describes them,
// both handed over by package datafile.
//
// An array of a nested type is stored as one column per leaf of the type. What nests it is
// told by repetition and definition levels, one pair per item (repdef_shred.go and
// repdef_unravel.go), and the rest are the leaf's values. Three layouts hold levels and
// values in the buffers of a page:
//
//	mini-block   small values, in chunks of a few kilobytes
//	full-zip     large values, row by row behind their levels
//	constant     one value for all rows, or none
//
// and codecs compress them: a file each, with the bytes drawn at its head. Each codec has
// up to three forms: that of chunks, of single values, and of blocks, which hold levels and
// dictionaries. Version 2.0 has neither levels nor layouts; see v20_page.go.
//
// Reading believes nothing: every length, offset, count and index is checked before memory
// is allocated or bytes are taken, and what does not fit is [lance.ErrCorrupt]. Values
// that lie in a file as Arrow lays them out are not copied.
//
// Numbers are little-endian in files and in memory; other machines are not supported.
package encoding
