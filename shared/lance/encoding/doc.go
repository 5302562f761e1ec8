// Package encoding defines a page of a Lance data file: buffers of bytes, and the message that
// describes them. The packages below it turn Arrow arrays into pages and pages into arrays. None of
// them does I/O; package datafile does.
//
//	write       arrays into pages of version 2.1 and 2.2, a file for each layout
//	read        such pages into arrays, a file for each layout
//	version20   both for version 2.0, which has neither levels nor layouts
//	column      what a column keeps for its pages, in all versions: options, dictionaries
//	codec       buffers of values and levels, a file for each codec
//	repdef      the structure of nested arrays as levels
//	values      values in memory, between arrays and buffers
//	bitpack     integers in as many bits as they need
//	compress    whole buffers by LZ4 and Zstd
//	fsst        text by a table of symbols
//
// Each imports only packages below it in this list. Begin with write/column.go and read/page.go.
//
// An array of a nested type is stored as one column per leaf of the type. Repetition and definition
// levels, one pair per item, hold the nesting; the values of the leaf are stored without it. Three
// layouts hold levels and values in the buffers of a page:
//
//	mini-block   small values, in chunks of a few kilobytes
//	full-zip     large values, row by row behind their levels
//	constant     one value for all rows, or none
//
// Codecs compress the levels and the values in these buffers.
//
// The table lists the encodings that these packages read and write, and those that occur in the
// files of native Lance that tests read (testdata of package datafile). The names are those of
// package pb; names that begin with Array are those of version 2.0:
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
// Native Lance 14 writes no other encoding, except in experimental versions of the format. Any
// other encoding is refused with an error that names it.
//
// A reader trusts no stored number: it checks every length, offset, count and index before it
// allocates memory or takes bytes by it, and a number that does not fit is [lance.ErrCorrupt].
// Values that are stored as Arrow lays them out are not copied.
//
// A writer takes the layout and the codecs that the native writer would take, or smaller ones, by
// the values and the field's metadata; write/choose.go and column/options.go hold the rules. The
// same rows make the same pages, however they are cut into arrays, except that a page may end at
// another row.
//
// Numbers are little-endian in files and in memory; other machines are not supported.
package encoding
