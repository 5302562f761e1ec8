package deletion

import (
	"bytes"
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// maxArrow is the largest number of deleted rows in an Arrow file that we write; native
// writers use the same number. Source: crate lance-core, src/utils/deletion.rs.
const maxArrow = 5000

// Path returns the path of a fragment's deletion file within the table, or within the base
// path that the file names, such as _deletions/0-7-123.arrow: fragment, version read, id.
func Path(fragment uint64, file *pb.DeletionFile) string {
	extension := "arrow"
	if file.FileType == pb.DeletionBitmap {
		extension = "bin"
	}
	return fmt.Sprintf("_deletions/%d-%d-%d.%s", fragment, file.ReadVersion, file.ID, extension)
}

// Read reads the deletion file of a fragment. key ends with its Path. The context's memory budget
// covers the file during the read.
func Read(ctx context.Context, store objectstore.Store, key string, fragment *pb.Fragment) (*Vector, error) {
	// Either form takes less than 5 bytes per row plus headers. A longer file is not read.
	limit := 64<<10 + 5*int64(fragment.PhysicalRows)
	room, err := account.Take(ctx, readBytes(fragment))
	if err != nil {
		return nil, err
	}
	defer room.Release()
	parts, info, err := store.GetRanges(ctx, key, objectstore.Range{Offset: -limit})
	if err != nil {
		return nil, fmt.Errorf("read deletion file %s: %w", key, err)
	}
	if info.Size > limit {
		return nil, fmt.Errorf("%w: deletion file %s of %d bytes for %d rows", lance.ErrCorrupt, key, info.Size, fragment.PhysicalRows)
	}
	v, err := Parse(parts[0], fragment)
	if err != nil {
		return nil, fmt.Errorf("deletion file %s: %w", key, err)
	}
	return v, nil
}

// readBytes estimates the memory of a deletion file and its rows during a read.
func readBytes(fragment *pb.Fragment) int64 {
	rows := fragment.PhysicalRows
	if n := fragment.DeletionFile.DeletedRows; n > 0 {
		rows = min(rows, n)
	}
	if fragment.DeletionFile.FileType == pb.DeletionArrow {
		return 3 * 4 * int64(min(rows, maxArrowRows)) // compressed, as numbers, and as a set
	}
	return 2 * int64(min(2*rows, fragment.PhysicalRows/8))
}

// Parse parses the bytes of a fragment's deletion file. A file whose type or number of rows
// differs from the fragment's entry of it is [lance.ErrCorrupt].
func Parse(data []byte, fragment *pb.Fragment) (*Vector, error) {
	file := fragment.DeletionFile
	var v *Vector
	var err error
	switch file.FileType {
	case pb.DeletionArrow:
		v, err = parseArrow(data, fragment.PhysicalRows)
	case pb.DeletionBitmap:
		v, err = parseBitmap(data)
	default:
		return nil, fmt.Errorf("%w: deletion file of type %d", lance.ErrUnsupported, file.FileType)
	}
	if err != nil {
		return nil, err
	}
	if n := v.Len(); file.DeletedRows != 0 && uint64(n) != file.DeletedRows {
		return nil, corrupt("%d rows deleted, want %d", n, file.DeletedRows)
	}
	if v.Len() > 0 && uint64(v.bits.Maximum()) >= fragment.PhysicalRows {
		return nil, corrupt("row %d of %d deleted", v.bits.Maximum(), fragment.PhysicalRows)
	}
	return v, nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", lance.ErrCorrupt, fmt.Sprintf(format, args...))
}

// parseBitmap parses the portable form of a roaring bitmap. The rows 1 and 5 are
//
//	3a 30 00 00   12346: no container is a run
//	01 00 00 00   one container
//	00 00 01 00   its rows have the high half 0, and are 1 + 1
//	10 00 00 00   it begins at byte 16
//	01 00 05 00   the low halves of its rows
//
// Source: RoaringFormatSpec, github.com/RoaringBitmap/RoaringFormatSpec.
func parseBitmap(data []byte) (*Vector, error) {
	bits := roaring.New()
	n, err := bits.ReadFrom(bytes.NewReader(data))
	if err != nil {
		return nil, corrupt("bitmap: %v", err)
	}
	if n != int64(len(data)) {
		return nil, corrupt("bitmap: %d bytes are left over", int64(len(data))-n)
	}
	if bits.IsEmpty() {
		return New(), nil
	}
	if err := bits.Validate(); err != nil {
		return nil, corrupt("bitmap: %v", err)
	}
	return &Vector{bits: bits}, nil
}

// Encode returns the bytes and the type of the vector's deletion file: an Arrow file for up
// to 5,000 rows, a bitmap for more.
func Encode(v *Vector) (data []byte, fileType int32, err error) {
	if v.Len() > maxArrow {
		bits := v.bits.Clone()
		bits.RunOptimize()
		data, err = bits.ToBytes()
		return data, pb.DeletionBitmap, err
	}
	data, err = encodeArrow(v)
	return data, pb.DeletionArrow, err
}

// compressFrom is the number of offsets from which compression is worth it: they fill a
// page of 4 KiB.
const compressFrom = 1024

// encodeArrow writes one batch with one column of offsets, compressed with zstd from
// compressFrom on.
func encodeArrow(v *Vector) ([]byte, error) {
	column := array.NewUint32Builder(memory.DefaultAllocator)
	column.AppendValues(v.Offsets(), nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: columnName, Type: arrow.PrimitiveTypes.Uint32}}, nil)
	var out bytes.Buffer
	options := []ipc.Option{ipc.WithSchema(schema)}
	if v.Len() >= compressFrom {
		options = append(options, ipc.WithZstd())
	}
	w, err := ipc.NewFileWriter(&out, options...)
	if err != nil {
		return nil, fmt.Errorf("write deletion file: %w", err)
	}
	batch := array.NewRecordBatch(schema, []arrow.Array{column.NewArray()}, int64(v.Len()))
	if err := w.Write(batch); err != nil {
		return nil, fmt.Errorf("write deletion file: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write deletion file: %w", err)
	}
	return out.Bytes(), nil
}

// Write stores the vector of a fragment as a new file of the table under the prefix table,
// and returns the entry of the file for the manifest. readVersion is the version on which
// the deletion is based. id is random, so that concurrent writers use different names.
func Write(ctx context.Context, store objectstore.Store, table string, fragment, readVersion, id uint64, v *Vector) (*pb.DeletionFile, error) {
	data, fileType, err := Encode(v)
	if err != nil {
		return nil, err
	}
	file := &pb.DeletionFile{FileType: fileType, ReadVersion: readVersion, ID: id, DeletedRows: uint64(v.Len())}
	key := Path(fragment, file)
	if table != "" {
		key = table + "/" + key
	}
	if _, err := store.Put(ctx, key, data, objectstore.Condition{}); err != nil {
		return nil, fmt.Errorf("write deletion file %s: %w", key, err)
	}
	return file, nil
}
