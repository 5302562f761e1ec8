package datafile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/read"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

const (
	footerBytes = 40
	// tailBytes is the size of the first read from the end of a file. It covers the metadata of
	// most files and the whole of a small file. From an object store it takes about as long as an
	// empty answer.
	tailBytes = 64 << 10
	// keptFileBytes is the size up to which the tail of a file is kept as it was read, because the
	// tail then holds much of the data. Of larger files only the metadata is kept.
	keptFileBytes = 4 * tailBytes
	// wholeGaps is the size, in gaps of the store, up to which OpenWhole reads a file in one request.
	// Its bytes then take about as long as the one or two further requests that they save.
	wholeGaps = 32
	// maxMetadataBytes bounds the read that a footer can cause.
	maxMetadataBytes = 256 << 20
	// maxKeptBytes bounds the page indices and dictionaries that a File keeps.
	maxKeptBytes = 32 << 20
	// fieldBytes is the approximate memory of a field, decoded and in a schema, without its
	// variable parts.
	fieldBytes = 1 << 10
)

// A footer is the last 40 bytes of a data file; see Writer.appendFooter for its layout.
type footer struct {
	metadata    int64 // position of the first column's metadata
	columnTable int64 // u64 position and u64 size of each column's metadata
	globalTable int64 // likewise of each global buffer
	globals     int
	columns     int
	version     lance.Version
}

// Open reads the metadata of the data file at key. It makes one request for the last 64 KiB of the
// file (of a large file, as many bytes as the store's read gap), and a second one if the metadata
// begins before that. Size 0 means unknown. columns maps field ids to columns of the file, as in
// the file's manifest entry. Nil uses the fields of the file's own schema, for files outside of a
// table.
//
// A damaged file is [lance.ErrCorrupt], an unknown format version [lance.ErrUnsupported].
func Open(ctx context.Context, store objectstore.Store, key string, size int64, columns map[int32]int32) (*File, error) {
	return open(ctx, newStored(store, key, size), columns)
}

// Tail returns a copy of the bytes that Open reads first: the last 64 KiB of a file, or the whole
// of a smaller one.
func Tail(file []byte) []byte { return bytes.Clone(file[max(0, len(file)-tailBytes):]) }

// OpenTail opens a file whose [Tail] is known; size must be positive. It makes a request only if
// the metadata begins before the tail, and it keeps the tail or a part of it.
func OpenTail(ctx context.Context, store objectstore.Store, key string, size int64, tail []byte, columns map[int32]int32) (*File, error) {
	f := newStored(store, key, size)
	f.tail = tail
	return open(ctx, f, columns)
}

// OpenWhole opens a file by its own schema for readers that need most of it, such as index files.
// If the size is known and small (at most 2 MiB on remote storage) and memory allows, one request
// reads the whole file, and the File keeps it.
func OpenWhole(ctx context.Context, store objectstore.Store, key string, size int64) (*File, error) {
	f := newStored(store, key, size)
	if size > 0 && size <= wholeGaps*f.gap {
		var held memory.Hold
		held, f.whole = memory.Try(ctx, size)
		defer held.Release()
	}
	return open(ctx, f, nil)
}

func newStored(store objectstore.Store, key string, size int64) *stored {
	return &stored{store: store, key: key, size: size, gap: objectstore.ReadGap(store), budget: read.NewBudget(maxKeptBytes), trail: newTrail()}
}

// open opens unread. Nil columns stand for the fields of the file's own schema.
func open(ctx context.Context, unread *stored, columns map[int32]int32) (*File, error) {
	f := &File{stored: unread}
	if err := f.open(ctx); err != nil {
		return nil, fmt.Errorf("open data file %s: %w", f.key, err)
	}
	if columns == nil {
		own, err := f.ownColumns(ctx)
		if err != nil {
			return nil, fmt.Errorf("open data file %s: %w", f.key, err)
		}
		columns = own
	}
	f.fields = columns
	return f, nil
}

// open reads the tail, the footer, the tables and the file descriptor.
func (f *File) open(ctx context.Context) error {
	tail, err := f.readTail(ctx)
	if err != nil {
		return err
	}
	foot, err := parseFooter(tail.bytes, f.size)
	if err != nil {
		return err
	}
	f.version = foot.version
	first := min(foot.metadata, foot.columnTable, foot.globalTable)
	globals, err := f.parseTable(tail, foot.globalTable, foot.globals)
	if err != nil {
		return err
	}
	if len(globals) > 0 && globals[0].from < first {
		// The descriptor is written right before the metadata; elsewhere it is not worth
		// reading all that lies between.
		if first-globals[0].from <= tailBytes {
			first = globals[0].from
		}
	}
	if f.metadata, err = f.extend(ctx, tail, first); err != nil {
		return err
	}
	f.globals = globals
	if f.whole || f.size <= keptFileBytes {
		f.kept = f.metadata
	} else {
		f.metadata = f.metadata.after(first)
	}
	if f.tables, err = f.parseTable(f.metadata, foot.columnTable, foot.columns); err != nil {
		return err
	}
	f.columns = make([]*fileColumn, foot.columns)
	return f.readLength(ctx)
}

// readTail reads the end of the file, and sets its size if that is not known.
func (f *File) readTail(ctx context.Context) (extent, error) {
	if tail := f.tail; tail != nil {
		f.tail = nil
		return extent{f.size - int64(len(tail)), tail}, nil
	}
	length := int64(tailBytes)
	switch {
	case f.whole:
		length = f.size
	case f.size > tailBytes:
		length = min(length, f.gap)
	}
	// A suffix range needs no size, so a file of unknown size also takes one request.
	r := objectstore.Range{Offset: -length}
	if f.size > 0 {
		r.Offset = max(0, f.size-length)
		r.Length = f.size - r.Offset
	}
	got, info, err := f.store.GetRanges(ctx, f.key, r)
	if err != nil {
		return extent{}, err
	}
	if f.size > 0 && info.Size > 0 && info.Size != f.size {
		return extent{}, fmt.Errorf("%w: file of %d bytes, want %d", lance.ErrCorrupt, info.Size, f.size)
	}
	if f.size == 0 {
		f.size = info.Size
	}
	return extent{f.size - int64(len(got[0])), got[0]}, nil
}

// parseFooter decodes the last 40 bytes of a file of the given size.
func parseFooter(tail []byte, size int64) (footer, error) {
	if len(tail) < footerBytes {
		return footer{}, fmt.Errorf("%w: file of %d bytes", lance.ErrCorrupt, size)
	}
	b := tail[len(tail)-footerBytes:]
	if string(b[36:]) != "LANC" {
		return footer{}, fmt.Errorf("%w: file does not end as data files do", lance.ErrCorrupt)
	}
	version, err := fileVersion(binary.LittleEndian.Uint16(b[32:]), binary.LittleEndian.Uint16(b[34:]))
	if err != nil {
		return footer{}, err
	}
	end := uint64(size - footerBytes)
	var at [3]int64
	for i := range at {
		position := binary.LittleEndian.Uint64(b[8*i:])
		if position > end {
			return footer{}, fmt.Errorf("%w: metadata at %d of %d bytes", lance.ErrCorrupt, position, size)
		}
		at[i] = int64(position)
	}
	globals, columns := binary.LittleEndian.Uint32(b[24:]), binary.LittleEndian.Uint32(b[28:])
	if size-min(at[0], at[1], at[2]) > maxMetadataBytes {
		return footer{}, fmt.Errorf("%w: more than %d bytes of metadata", lance.ErrUnsupported, maxMetadataBytes)
	}
	return footer{at[0], at[1], at[2], int(globals), int(columns), version}, nil
}

// fileVersion returns the version of a file with the numbers major and minor in its footer.
func fileVersion(major, minor uint16) (lance.Version, error) {
	v, err := lance.VersionOf(uint32(major), uint32(minor))
	if err == nil && v == lance.Legacy {
		err = fmt.Errorf("%w: legacy data file of version %d.%d", lance.ErrUnsupported, major, minor)
	}
	return v, err
}

// extend returns tail, preceded by the bytes between position first and its start.
func (f *File) extend(ctx context.Context, tail extent, first int64) (extent, error) {
	if first >= tail.from {
		return tail, nil
	}
	hold, err := memory.Take(ctx, tail.from-first) // until the cache counts it
	if err != nil {
		return extent{}, err
	}
	defer hold.Release()
	got, _, err := f.store.GetRanges(ctx, f.key, objectstore.Range{Offset: first, Length: tail.from - first})
	if err != nil {
		return extent{}, err
	}
	return extent{first, append(got[0], tail.bytes...)}, nil
}

// parseTable parses a table of n pairs of u64 position and u64 size; each pair must lie within the
// file.
func (f *File) parseTable(in extent, at int64, n int) ([]interval, error) {
	b, ok := in.find(at, 16*int64(n))
	if !ok {
		return nil, fmt.Errorf("%w: table of %d buffers at %d is cut short", lance.ErrCorrupt, n, at)
	}
	table := make([]interval, n)
	for i := range table {
		position := binary.LittleEndian.Uint64(b[16*i:])
		size := binary.LittleEndian.Uint64(b[16*i+8:])
		if position > uint64(f.size) || size > uint64(f.size)-position {
			return nil, fmt.Errorf("%w: buffer of %d bytes at %d of %d", lance.ErrCorrupt, size, position, f.size)
		}
		table[i] = interval{int64(position), int64(size)}
	}
	return table, nil
}

// readLength reads the number of rows, field 2 of the FileDescriptor in global buffer 0. It skips
// the schema, field 1, which is the larger part.
func (f *File) readLength(ctx context.Context) error {
	b, held, err := f.descriptor(ctx)
	if err != nil {
		return err
	}
	defer held.Release()
	s := pb.NewScanner(b)
	for s.Next() {
		if s.Num == 2 {
			rows := s.Uint64()
			if rows > math.MaxInt64/64 {
				return fmt.Errorf("%w: %d rows", lance.ErrCorrupt, rows)
			}
			f.rows = int64(rows)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%w: file descriptor: %w", lance.ErrCorrupt, err)
	}
	return nil
}

// descriptor returns the file descriptor, with memory for it if it has to be read.
func (f *File) descriptor(ctx context.Context) (b []byte, held memory.Hold, err error) {
	if !f.holds(0) {
		if held, err = memory.Take(ctx, f.GlobalBufferSize(0)); err != nil {
			return nil, held, err
		}
	}
	if b, err = f.GlobalBuffer(ctx, 0); err != nil {
		held.Release()
	}
	return b, held, err
}

// holds reports whether GlobalBuffer makes no request.
func (f *File) holds(i int) bool {
	if i >= len(f.globals) {
		return true
	}
	at := f.globals[i]
	_, kept := f.kept.find(at.from, at.size)
	_, known := f.metadata.find(at.from, at.size)
	return kept || known
}

// GlobalBuffer returns the bytes of a global buffer of the file. Buffer 0 is the file descriptor;
// index files have further ones. The caller must not change the bytes, and takes memory for them.
func (f *File) GlobalBuffer(ctx context.Context, i int) ([]byte, error) {
	if i < 0 || i >= len(f.globals) {
		return nil, fmt.Errorf("%w: no global buffer %d among %d", lance.ErrCorrupt, i, len(f.globals))
	}
	at := f.globals[i]
	if at.size > maxMetadataBytes {
		return nil, fmt.Errorf("%w: global buffer of %d bytes", lance.ErrUnsupported, at.size)
	}
	for _, in := range []extent{f.kept, f.metadata} {
		if b, ok := in.find(at.from, at.size); ok {
			return b, nil
		}
	}
	got, _, err := f.store.GetRanges(ctx, f.key, objectstore.Range{Offset: at.from, Length: at.size})
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

// Schema returns the schema that the file was written with. A table reads its files with its own
// schema instead, because that may have changed since. It must not be changed.
func (f *File) Schema(ctx context.Context) (*schema.Schema, error) {
	if s := f.schema.Load(); s != nil {
		return s, nil
	}
	b, held, err := f.descriptor(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if err := held.Resize(ctx, held.Bytes()+int64(len(b)+fieldBytes*pb.CountFields(b))); err != nil {
		return nil, err
	}
	var d pb.FileDescriptor
	if err := d.Unmarshal(b); err != nil {
		return nil, fmt.Errorf("%w: schema of data file %s: %w", lance.ErrCorrupt, f.key, err)
	}
	s, err := schema.FromFields(d.Fields, d.Metadata)
	if err != nil {
		return nil, fmt.Errorf("schema of data file %s: %w", f.key, err)
	}
	if len(b) <= maxKeptSchema {
		f.schema.Store(s)
	}
	return s, nil
}

// ownColumns maps the fields of the file's own schema to columns. Columns are in the order of the
// leaves; in version 2.0 every field is a column, in the order of a walk that visits parents first.
func (f *File) ownColumns(ctx context.Context) (map[int32]int32, error) {
	s, err := f.Schema(ctx)
	if err != nil {
		return nil, err
	}
	leaves := s.Leaves()
	if f.version == lance.V2_0 {
		leaves = s.LeavesV20()
	}
	columns := make(map[int32]int32, len(leaves))
	for i, leaf := range leaves {
		columns[leaf.ID] = int32(i)
	}
	return columns, nil
}
