// Package datafile reads and writes single data files of the Lance format, versions 2.0, 2.1 and
// 2.2: columns of pages, then the metadata of the columns, then a footer. The contents of a page
// are the subject of package encoding.
//
// A [Writer] takes record batches and streams a file out. A [File] is a file opened for reading, by
// ranges of rows or by single rows, from an object store. It plans which bytes a read needs,
// fetches them in as few rounds of requests as possible, and keeps the parts that later reads need
// again. Begin with [Open] and [File.ReadRange] to follow a read, and with [Writer] to see the
// layout.
//
// This is a whole file of version 2.1 with one column n of the type int32 and the values 1, 2, 3.
// Positions are hexadecimal, and the numbers are little-endian:
//
//	000  20 00                     page 0, buffer 0: one u16 per mini-block chunk;
//	                               0x020>>4 + 1 = 3 words of 8 bytes
//	002  48 48 …                   padding up to a multiple of 64
//	040  00 00 0c 00 fe fe fe fe   buffer 1: the chunk; u16 levels, u16 bytes of values, padding
//	048  01 00 00 00 02 00 00 00   the values
//	050  03 00 00 00 fe fe fe fe
//	058  48 48 …                   padding up to a multiple of 64
//	080  0a 1b …            10 03  global buffer 0: the message FileDescriptor, of 0x1f bytes;
//	                               field 1 is the schema, field 2 the number of rows
//	09f  0a 29 …                   the message ColumnMetadata of column 0, of 0x6d bytes
//	10c  9f 00 …  6d 00 …          u64 position and u64 size of the metadata of each column
//	11c  80 00 …  1f 00 …          u64 position and u64 size of each global buffer
//	12c  9f 00 …                   footer: u64 position of the first column's metadata,
//	     0c 01 …                   u64 position of the table of columns,
//	     1c 01 …                   u64 position of the table of global buffers,
//	     01 00 00 00 01 00 00 00   u32 global buffers, u32 columns,
//	     02 00 01 00               u16 major, u16 minor version,
//	     4c 41 4e 43               "LANC"
//
// A reader starts at the end: the footer leads to the tables, these to the metadata of a column,
// and that to the pages. Source: protos/file2.proto of the format; crate lance-file, src/reader.rs
// and src/writer.rs.
package datafile
