package legacyfile

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

const (
	footerBytes = 16
	lengthBytes = 4
	// tailBytes is the size of the first read, at the end of a file.
	tailBytes = 64 << 10
	// maxMetadataBytes bounds the read that a footer can cause.
	maxMetadataBytes = 256 << 20
)

// A File is an open data file. It does not change, apart from dictionaries, which it keeps
// once they are read, and is safe for concurrent use.
//
// The file does not record which of its fields a table uses: each version of each table
// that names the file has its own view of it (see [File.View]).
type File struct {
	*stored
	columns map[int32]int32 // by id, the fields that the table has here; nil is all
}

// View returns the open file for a version of a table that uses the fields whose ids are
// keys of columns. The map must not change.
func (f *File) View(columns map[int32]int32) *File { return &File{f.stored, columns} }

// field returns a field of the file, or nil if the view does not have the id.
func (f *File) field(id int32) *storedField {
	if _, ok := f.columns[id]; !ok && f.columns != nil {
		return nil
	}
	return f.fields[id]
}

// stored is the part of an open file that is the same for all tables that use it.
type stored struct {
	store  objectstore.Store
	key    string
	size   int64
	gap    int64 // read gap of the store: reading fewer bytes is cheaper than another request
	kept   extent
	starts []int64 // first row of each batch, and the end of the last one
	pages  pageTable
	fields map[int32]*storedField // by id
}

// A storedField is a field of the file's own schema.
type storedField struct {
	*schema.Field
	bytes      float64 // of its pages, its members' pages and the values they point to
	dictionary dictionary.Place
	values     atomic.Pointer[arrow.Array]
}

// Open reads the metadata of the data file at key. It makes one request for the last 64
// KiB, and a second one if the metadata begins before that. A size of 0 means that the size
// is not known. The view has all fields of the file's own schema.
//
// A file that is damaged is [lance.ErrCorrupt]; one of a later version of the format is
// [lance.ErrUnsupported].
func Open(ctx context.Context, store objectstore.Store, key string, size int64) (*File, error) {
	f := &File{stored: &stored{store: store, key: key, size: size, gap: objectstore.ReadGap(store)}}
	if err := f.open(ctx); err != nil {
		return nil, fmt.Errorf("open legacy data file %s: %w", key, err)
	}
	return f, nil
}

// Version returns [lance.Legacy].
func (f *File) Version() lance.Version { return lance.Legacy }

// NumRows returns the number of rows.
func (f *File) NumRows() int64 { return f.starts[len(f.starts)-1] }

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// Batches returns the number of rows of each batch.
func (f *File) Batches() []int64 {
	lengths := make([]int64, len(f.starts)-1)
	for i := range lengths {
		lengths[i] = f.starts[i+1] - f.starts[i]
	}
	return lengths
}

// MemBytes estimates the memory of the File. It grows when dictionaries are read.
func (f *File) MemBytes() int64 {
	const perFile, perField = 512, 400
	n := int64(perFile) + int64(len(f.kept.bytes)) + int64(len(f.pages.cells))*16 + 8*int64(len(f.starts))
	for _, field := range f.fields {
		n += perField
		if values := field.values.Load(); values != nil {
			n += int64((*values).Data().SizeInBytes())
		}
	}
	return n
}

// BytesPerRow estimates the decoded memory of one row of the fields. It makes no request.
func (f *File) BytesPerRow(fields []*schema.Field) float64 {
	total := 0.0
	for _, field := range fields {
		for at := range (&schema.Schema{Fields: []*schema.Field{field}}).All() {
			if stored := f.field(at.ID); stored != nil {
				total += stored.bytes
			}
		}
	}
	return total / float64(max(f.NumRows(), 1))
}

// StoredBytes estimates the size of a field in the file, nested fields included. It makes no
// request.
func (f *File) StoredBytes(_ context.Context, field *schema.Field) (int64, error) {
	return min(int64(f.BytesPerRow([]*schema.Field{field})*float64(f.NumRows())), f.size), nil
}

// metadata is the message to which the footer points.
//
// Source: protos/file.proto of the format, message Metadata.
type metadata struct {
	manifest  uint64  // 1: position of the file's own manifest
	batches   []int64 // 2: rows before each batch, and all of them
	pageTable uint64  // 3: its position
	// 5: statistics
}

// Unmarshal decodes the message: 1 position of the manifest, 2 first rows of the batches, 3
// position of the page table.
func (m *metadata) Unmarshal(b []byte) error {
	s := pb.NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			m.manifest = s.Uint64()
		case 2:
			s.Varints(func(v uint64) { m.batches = append(m.batches, int64(int32(v))) })
		case 3:
			m.pageTable = s.Uint64()
		}
	}
	return s.Err()
}

// check checks the numbers of rows.
func (m *metadata) check() error {
	if len(m.batches) == 0 {
		m.batches = []int64{0}
	}
	if m.batches[0] != 0 || !slices.IsSorted(m.batches) {
		return corrupt("batches begin at rows that do not ascend from 0")
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", lance.ErrCorrupt, fmt.Sprintf(format, args...))
}

// open reads footer, metadata, schema and page table.
func (f *stored) open(ctx context.Context) error {
	tail, err := f.readTail(ctx)
	if err != nil {
		return err
	}
	at, err := parseFooter(tail.bytes, f.size)
	if err != nil {
		return err
	}
	if tail, err = f.extend(ctx, tail, at); err != nil {
		return err
	}
	var meta metadata
	if err := f.message(tail, at, &meta); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	if err := meta.check(); err != nil {
		return err
	}
	if meta.manifest == 0 {
		return fmt.Errorf("%w: a file without its schema", lance.ErrUnsupported)
	}
	if tail, err = f.extend(ctx, tail, min(meta.pageTable, meta.manifest)); err != nil {
		return err
	}
	f.starts = meta.batches
	if err := f.readSchema(tail, meta.manifest); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if err := f.readPages(tail, meta.pageTable); err != nil {
		return fmt.Errorf("page table: %w", err)
	}
	if f.size <= tailBytes {
		f.kept = tail // the file is small enough to be kept whole
	}
	return nil
}

// readTail reads the end of the file, and sets its size if that is not known.
func (f *stored) readTail(ctx context.Context) (extent, error) {
	got, info, err := f.store.GetRanges(ctx, f.key, objectstore.Range{Offset: -tailBytes})
	if err != nil {
		return extent{}, err
	}
	if f.size > 0 && info.Size > 0 && info.Size != f.size {
		return extent{}, corrupt("file of %d bytes, want %d", info.Size, f.size)
	}
	if f.size == 0 {
		f.size = info.Size
	}
	return extent{f.size - int64(len(got[0])), got[0]}, nil
}

// parseFooter returns the position of the metadata.
func parseFooter(tail []byte, size int64) (uint64, error) {
	if len(tail) < footerBytes {
		return 0, corrupt("file of %d bytes", size)
	}
	b := tail[len(tail)-footerBytes:]
	if string(b[12:]) != "LANC" {
		return 0, corrupt("file does not end as data files do")
	}
	major, minor := binary.LittleEndian.Uint16(b[8:]), binary.LittleEndian.Uint16(b[10:])
	version, err := lance.VersionOf(uint32(major), uint32(minor))
	if err != nil {
		return 0, err
	}
	if version != lance.Legacy {
		return 0, corrupt("data file of version %s, want %s", version, lance.Legacy)
	}
	return binary.LittleEndian.Uint64(b), nil
}

// extend returns tail, preceded by the bytes between a position and its start.
func (f *stored) extend(ctx context.Context, tail extent, from uint64) (extent, error) {
	switch {
	case from >= uint64(tail.from):
		return tail, nil
	case f.size-int64(from) > maxMetadataBytes:
		return tail, fmt.Errorf("%w: more than %d bytes of metadata", lance.ErrUnsupported, maxMetadataBytes)
	}
	got, _, err := f.store.GetRanges(ctx, f.key, objectstore.Range{Offset: int64(from), Length: tail.from - int64(from)})
	if err != nil {
		return extent{}, err
	}
	return extent{int64(from), append(got[0], tail.bytes...)}, nil
}

// message parses a message; its u32 length is at a position, the message follows.
func (f *stored) message(in extent, at uint64, m interface{ Unmarshal(b []byte) error }) error {
	length, ok := in.find(span{int64(min(at, uint64(f.size))), lengthBytes})
	if !ok {
		return corrupt("a message at %d of %d bytes", at, f.size)
	}
	n := int64(binary.LittleEndian.Uint32(length))
	body, ok := in.find(span{int64(at) + lengthBytes, n})
	if !ok {
		return corrupt("a message of %d bytes at %d of %d", n, at, f.size)
	}
	if err := m.Unmarshal(body); err != nil {
		return fmt.Errorf("%w: %w", lance.ErrCorrupt, err)
	}
	return nil
}

// readSchema reads the fields of the file, and the places of their dictionaries.
func (f *stored) readSchema(in extent, at uint64) error {
	var m pb.Manifest
	if err := f.message(in, at, &m); err != nil {
		return err
	}
	own, err := schema.FromFields(m.Fields, nil)
	if err != nil {
		return err
	}
	f.fields = map[int32]*storedField{}
	for field := range own.All() {
		stored := &storedField{Field: field}
		if stored.dictionary, _, err = dictionary.PlaceIn(field.Unknown); err != nil {
			return fmt.Errorf("field %q: %w", field.Name, err)
		}
		f.fields[field.ID] = stored
	}
	return nil
}
