// Package legacyfile reads and writes data files of the format's first generation, which
// manifests call 0.1 and the files themselves 0.0 to 0.2. Package datafile does the same
// for all later versions. Begin with [Open] and [NewWriter].
//
// The rows of such a file are in batches, whose lengths the writer chooses. Each batch has
// one page per field: plain values, or the positions of values. There is no compression and
// no validity: a null is read as the bytes that were stored in its place, mostly zero; a
// null list is read as empty, a null struct as its members. Only texts and bytes of length
// zero are read as null, if the field is nullable.
//
//	pages             of batch 0, batch 1, and so on; see below
//	page table        i64 position and i64 length of each page; see pageTable
//	statistics        a batch of values and a page table of its own; not read here
//	dictionaries      of fields of dictionary type, one for all pages; see package dictionary
//	manifest          u32 length and a Manifest message that holds the file's schema
//	metadata          u32 length and a Metadata message; see metadata
//	u64               position of the metadata
//	u16, u16, "LANC"  version: 0 and 0 to 2
//
// All numbers are little-endian. The content of a page depends on the type of its field:
//
//	fixed width       the values of the batch, as Arrow has them; booleans as bits, lowest
//	                  first. The page of a fixed size list is that of its items.
//	text and bytes    n+1 positions (i64) in the file, between which the values are; they come
//	                  right before
//	list, large list  n+1 offsets (i32, i64) into the page of the items, in the same batch;
//	                  the length in the page table is n+1
//	dictionary        indices of the type's width
//	null, struct      nothing
//
// A file with one batch of the texts "a" and "bc" begins with
//
//	0   61 62 63                  abc
//	3   00 00 00 00 00 00 00 00   the page: positions 0, 1 and 3
//	11  01 00 00 00 00 00 00 00
//	19  03 00 00 00 00 00 00 00
//
// and its cell in the page table is the position 3 and the length 2.
//
// Source: crate lance-file, src/versions/v1.
package legacyfile
