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
// These encodings are read and written, and are in the files of native Lance that tests
// read (package datafile, testdata); the names are those of package pb, Array… those of
// version 2.0:
//
//	encoding              read  written  fixture
//	MiniBlockLayout       yes   yes      yes
//	FullZipLayout         yes   yes      yes
//	ConstantLayout        yes   yes      yes
//	BlobLayout            yes   yes      yes
//	Flat                  yes   yes      yes
//	Variable              yes   yes      yes
//	FSST                  yes   yes      yes
//	InlineBitpacking      yes   yes      yes
//	OutOfLineBitpacking   yes   yes      yes
//	RLE                   yes   yes      yes
//	ByteStreamSplit       yes   yes      yes
//	General               yes   yes      yes
//	FixedSizeList         yes   yes      yes
//	PackedStruct          yes   yes      yes
//	VariablePackedStruct  yes   yes      yes
//	Constant              yes   yes      yes
//	ArrayFlat             yes   yes      yes
//	ArrayNullable         yes   yes      yes
//	ArrayFixedSizeList    yes   yes      yes
//	ArrayList             yes   yes      yes
//	ArraySimpleStruct     yes   yes      yes
//	ArrayBinary           yes   yes      yes
//	ArrayDictionary       yes   yes      yes
//	ArrayFSST             yes   yes      yes
//	ArrayPackedStruct     yes   yes      yes
//	ArrayFixedSizeBinary  yes   no       no
//
// Native Lance 14 writes no other, unless experimental versions of the format are asked
// for; what it does not write is refused by name.
//
// Reading believes nothing: every length, offset, count and index is checked before memory
// is allocated or bytes are taken, and what does not fit is [lance.ErrCorrupt]. Values
// that lie in a file as Arrow lays them out are not copied.
//
// Writing takes the layout and the codecs that the native writer would take or smaller
// ones, as values and the field's metadata suggest; choose_encode.go and options_encode.go
// tell. The same rows make the same pages, however they are cut into arrays, but for where
// a page ends.
//
// Numbers are little-endian in files and in memory; other machines are not supported.
package encoding
