package lance_test

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"testing"

	"tiltyard/shared/lance/internal/bytedump"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// Each kind of table file has a dump of a small native example.
func TestFilesHaveTheBytesOfTheDumps(t *testing.T) {
	const tables = "manifest/testdata/"
	for name, dump := range map[string]func(*bytedump.Dump, *testing.T){
		"manifest": func(d *bytedump.Dump, t *testing.T) {
			dumpManifest(d, t, read(t, tables+"ops_tags_config_v22/_versions/18446744073709551612.manifest"))
		},
		"manifest_of_stable_row_ids": func(d *bytedump.Dump, t *testing.T) {
			dumpRowIDs(d, t, read(t, tables+manifest.Key("rowids", 3, manifest.V2)))
		},
		"transaction": func(d *bytedump.Dump, t *testing.T) {
			dumpTransaction(d, t, read(t, tables+"ops_columns_v22/_transactions/4-a2e952cd-0ddf-411b-b7a8-bc6d6d125732.txn"))
		},
		"deletions_as_offsets": func(d *bytedump.Dump, t *testing.T) {
			dumpOffsets(d, read(t, tables+"operations/_deletions/0-2-3287762807526505323.arrow"))
		},
		"deletions_as_bitmap": func(d *bytedump.Dump, t *testing.T) {
			dumpBitmap(d, read(t, tables+"deletions/_deletions/0-1-9237131762520031461.bin"))
		},
		"data_file": func(d *bytedump.Dump, t *testing.T) {
			dumpDataFile(d, t, smallest(t, "dataset/testdata/native.zip", "columns.lance/data"))
		},
		"legacy_data_file": func(d *bytedump.Dump, t *testing.T) {
			dumpLegacyFile(d, t, smallest(t, "dataset/testdata/legacy.zip", "legacy/plain.lance/data"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := bytedump.New(t)
			dump(d, t)
			d.Compare("testdata/files/" + name + ".txt")
		})
	}
}

// dumpManifest writes the sections of a manifest file. See package manifest.
func dumpManifest(d *bytedump.Dump, t *testing.T, file []byte) {
	t.Helper()
	var m pb.Manifest
	start := int(binary.LittleEndian.Uint64(file[len(file)-16:]))
	unmarshal(t, &m, file[start+4:len(file)-16])
	d.Title(file, 0, "A manifest of version %d of a table:", m.Version)
	if start > 0 {
		n := int(d.Number(4, "length of the transaction"))
		var txn pb.Transaction
		unmarshal(t, &txn, file[4:4+n])
		d.Message(n, &txn)
	}
	d.Message(int(d.Number(4, "length of the Manifest")), &m)
	d.Number(8, "position of the Manifest's length")
	dumpEnd(d)
}

// dumpEnd writes the version and the magic bytes at the end of a file.
func dumpEnd(d *bytedump.Dump) {
	d.Number(2, "major version")
	d.Number(2, "minor version")
	d.Bytes(4, `"LANC"`)
}

// dumpRowIDs writes the row ids and row versions of each fragment in a manifest. See package rowid.
func dumpRowIDs(d *bytedump.Dump, t *testing.T, file []byte) {
	t.Helper()
	m, err := manifest.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Fragments {
		var ids pb.RowIDSequence
		unmarshal(t, &ids, f.RowIDs)
		var shown struct {
			Segments []segment `pb:"1"`
		}
		for _, s := range ids.Segments {
			shown.Segments = append(shown.Segments, segmentOf(s))
		}
		d.Title(f.RowIDs, 0, "The row ids of the %d rows of fragment %d:", f.PhysicalRows, f.ID)
		d.Message(len(f.RowIDs), &shown)
		dumpVersions(d, t, "made", f.CreatedAt)
		dumpVersions(d, t, "last changed", f.UpdatedAt)
	}
}

func dumpVersions(d *bytedump.Dump, t *testing.T, what string, data []byte) {
	t.Helper()
	var versions pb.RowVersionSequence
	unmarshal(t, &versions, data)
	type run struct {
		Span    segment `pb:"1"`
		Version uint64  `pb:"2"`
	}
	var shown struct {
		Runs []run `pb:"1"`
	}
	for _, r := range versions.Runs {
		shown.Runs = append(shown.Runs, run{segmentOf(r.Span), r.Version})
	}
	d.Title(data, 0, "The versions in which they were %s:", what)
	d.Message(len(data), &shown)
}

// A segment has the fields of a U64Segment as the file has them.
type segment struct {
	Range           span  `pb:"1"`
	RangeWithHoles  span  `pb:"2"`
	RangeWithBitmap span  `pb:"3"`
	SortedArray     array `pb:"4"`
	Array           array `pb:"5"`
}

type span struct {
	Start uint64 `pb:"1"`
	End   uint64 `pb:"2"`
}

type array struct {
	Of16Bits struct{} `pb:"1"`
	Of32Bits struct{} `pb:"2"`
	Of64Bits struct{} `pb:"3"`
}

// segmentOf returns a segment; a U64Segment has at most one of its fields.
func segmentOf(s pb.U64Segment) segment {
	all := span{s.Start, s.End}
	return segment{Range: all, RangeWithHoles: all, RangeWithBitmap: all}
}

func dumpTransaction(d *bytedump.Dump, t *testing.T, file []byte) {
	t.Helper()
	var txn pb.Transaction
	unmarshal(t, &txn, file)
	d.Title(file, 0, "The transaction that made version %d of a table:", txn.ReadVersion+1)
	d.Message(len(file), &txn)
}

// dumpOffsets writes a deletion file that is an Arrow file. See package deletion.
func dumpOffsets(d *bytedump.Dump, file []byte) {
	d.Title(file, 0, "A deletion file of offsets:")
	d.Bytes(64, `"ARROW1", padded`)
	for _, message := range []string{"Schema message", "RecordBatch message"} {
		d.Bytes(4, "a message follows")
		d.Bytes(int(d.Number(4, "length")), "%s, a flatbuffer", message)
	}
	footer := int(binary.LittleEndian.Uint32(file[len(file)-10:]))
	d.Bytes(d.Left()-footer-10-8, "body: the offsets of the deleted rows, compressed with zstd")
	d.Bytes(4, "a message follows")
	if d.Number(4, "length") != 0 {
		d.Text("which is not the end")
	}
	d.Bytes(footer, "Footer, a flatbuffer")
	d.Number(4, "length of the Footer")
	d.Bytes(6, `"ARROW1"`)
}

// dumpBitmap writes a deletion file that is a roaring bitmap of one container.
func dumpBitmap(d *bytedump.Dump, file []byte) {
	d.Title(file, 0, "A deletion file that is a roaring bitmap:")
	d.Number(4, "cookie: containers without runs")
	d.Number(4, "containers")
	d.Number(2, "upper 16 bits of the offsets in container 0")
	d.Number(2, "offsets in it, less one")
	d.Number(4, "position of its content")
	d.Bytes(d.Left(), "content of container 0, a bit for each of 65,536 offsets")
}

// dumpDataFile writes a data file. See package datafile.
func dumpDataFile(d *bytedump.Dump, t *testing.T, file []byte) {
	t.Helper()
	end := file[len(file)-40:]
	metadata, columnTable, globalTable := number(end), number(end[8:]), number(end[16:])
	globals, columns := int(binary.LittleEndian.Uint32(end[24:])), int(binary.LittleEndian.Uint32(end[28:]))
	descriptor, size := number(file[globalTable:]), number(file[globalTable+8:])

	d.Title(file, 0, "A data file of %d columns:", columns)
	d.Bytes(descriptor, "pages and padding")
	var schema pb.FileDescriptor
	unmarshal(t, &schema, file[descriptor:descriptor+size])
	d.Text("          The descriptor, which is global buffer 0:")
	d.Message(size, describe(&schema))
	d.Bytes(metadata-descriptor-size, "padding")
	for i := range columns {
		at, n := number(file[columnTable+16*i:]), number(file[columnTable+16*i+8:])
		var c pb.ColumnMetadata
		unmarshal(t, &c, file[at:at+n])
		d.Text("          The metadata of column %d:", i)
		d.Message(n, column(&c))
	}
	d.Text("          The tables of column metadata and of global buffers:")
	for i := range columns {
		d.Number(8, "position of the metadata of column %d", i)
		d.Number(8, "its length")
	}
	for i := range globals {
		d.Number(8, "position of global buffer %d", i)
		d.Number(8, "its length")
	}
	d.Text("          The footer:")
	d.Number(8, "position of the column metadata")
	d.Number(8, "position of the table of column metadata")
	d.Number(8, "position of the table of global buffers")
	d.Number(4, "global buffers")
	d.Number(4, "columns")
	dumpEnd(d)
}

// A descriptor has the fields of a FileDescriptor as the file has them.
type descriptor struct {
	Schema struct {
		Fields []*pb.Field `pb:"1"`
	} `pb:"1"`
	Length uint64 `pb:"2"`
}

func describe(f *pb.FileDescriptor) *descriptor {
	d := &descriptor{Length: f.Length}
	d.Schema.Fields = f.Fields
	return d
}

// columnMetadata and page have the fields of a ColumnMetadata as the file has them.
type columnMetadata struct {
	Encoding struct{} `pb:"1"`
	Pages    []page   `pb:"2"`
}

type page struct {
	BufferOffsets []uint64 `pb:"1"`
	BufferSizes   []uint64 `pb:"2"`
	Length        uint64   `pb:"3"`
	Encoding      struct{} `pb:"4"`
	Priority      uint64   `pb:"5"`
}

func column(c *pb.ColumnMetadata) *columnMetadata {
	m := new(columnMetadata)
	for _, p := range c.Pages {
		m.Pages = append(m.Pages, page{BufferOffsets: p.BufferOffsets, BufferSizes: p.BufferSizes, Length: p.Length, Priority: p.Priority})
	}
	return m
}

// dumpLegacyFile writes a data file of the first generation. See package legacyfile.
func dumpLegacyFile(d *bytedump.Dump, t *testing.T, file []byte) {
	t.Helper()
	at := number(file[len(file)-16:])
	s := pb.NewScanner(file[at+4 : len(file)-16])
	var meta struct {
		Manifest  uint64  `pb:"1"`
		Batches   []int32 `pb:"2"`
		PageTable uint64  `pb:"3"`
	}
	for s.Next() {
		switch s.Num {
		case 1:
			meta.Manifest = s.Uint64()
		case 2:
			s.Varints(func(v uint64) { meta.Batches = append(meta.Batches, int32(v)) })
		case 3:
			meta.PageTable = s.Uint64()
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	manifestAt := int(meta.Manifest)
	var m pb.Manifest
	unmarshal(t, &m, file[manifestAt+4:manifestAt+4+int(binary.LittleEndian.Uint32(file[manifestAt:]))])

	d.Title(file, 0, "A data file of the first generation, of %d fields:", len(m.Fields))
	d.Bytes(int(meta.PageTable), "pages of %d batches", len(meta.Batches)-1)
	for _, f := range m.Fields {
		d.Number(8, "position of the page of field %q", f.Name)
		d.Number(8, "its length in items")
	}
	d.Bytes(manifestAt-int(meta.PageTable)-16*len(m.Fields), "statistics")
	d.Message(int(d.Number(4, "length of the Manifest")), &m)
	d.Message(int(d.Number(4, "length of the Metadata")), &meta)
	d.Number(8, "position of the Metadata's length")
	dumpEnd(d)
}

func number(b []byte) int { return int(binary.LittleEndian.Uint64(b)) }

func unmarshal(t *testing.T, m interface{ Unmarshal(b []byte) error }, b []byte) {
	t.Helper()
	if err := m.Unmarshal(b); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// smallest returns the smallest file of a folder in an archive, the first by name of several.
func smallest(t *testing.T, archive, folder string) []byte {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	var found *zip.File
	least := uint64(math.MaxUint64)
	for _, f := range z.File {
		if path.Dir(f.Name) == folder && strings.HasSuffix(f.Name, ".lance") && f.UncompressedSize64 < least {
			found, least = f, f.UncompressedSize64
		}
	}
	if found == nil {
		t.Fatalf("no file in %s of %s", folder, archive)
	}
	r, err := found.Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
