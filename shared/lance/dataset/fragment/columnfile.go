package fragment

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/internal/legacyfile"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A columnFile is an open data file of any version of the format. Package datafile documents the
// methods.
type columnFile interface {
	Version() lance.Version
	NumRows() int64
	MemBytes() int64
	Size() int64
	BytesPerRow(fields []*schema.Field) float64
	StoredBytes(ctx context.Context, field *schema.Field) (int64, error)
	ReadRange(ctx context.Context, fields []*schema.Field, from, to int64) ([]arrow.Array, error)
	Take(ctx context.Context, fields []*schema.Field, rows []int64) ([]arrow.Array, error)
}

// openColumns reads the metadata of the file. All tables and versions that name the file share the
// result; viewOf adds this table's mapping of fields to columns.
func (d *File) openColumns(ctx context.Context) (columnFile, error) {
	size := int64(d.meta.SizeBytes)
	if isLegacy(d.meta) {
		return legacyfile.Open(ctx, d.base.Store, d.key, size)
	}
	if tail, ok := d.takeTail(); ok {
		return datafile.OpenTail(ctx, d.base.Store, d.key, size, tail, noColumns)
	}
	return datafile.Open(ctx, d.base.Store, d.key, size, noColumns)
}

// KeepTail caches the end of a new data file, so that opening it needs no read. The file's name
// must be random.
func KeepTail(kept *cache.Cache, uri, key string, file []byte) {
	tail := datafile.Tail(file)
	cache.Put(kept, uri, tailPart(key, uint64(len(file))), tail, int64(len(tail)))
}

// takeTail returns the bytes cached by KeepTail and removes them from the cache, because the open
// file replaces them.
func (d *File) takeTail() ([]byte, bool) {
	part := tailPart(d.key, d.meta.SizeBytes)
	tail, ok := cache.Get[[]byte](d.cache, d.base.URI, part)
	d.cache.Drop(d.base.URI, part)
	return tail, ok
}

// tailPart returns the key in the cache of the tail of a data file.
func tailPart(key string, size uint64) string {
	return key + "?" + strconv.FormatUint(size, 10) + "!tail"
}

var noColumns = map[int32]int32{}

// viewOf returns the file with the manifest's mapping of fields to columns.
func (d *File) viewOf(file columnFile) columnFile {
	switch file := file.(type) {
	case *datafile.File:
		return file.View(d.columns)
	case *legacyfile.File:
		return file.View(d.columns)
	}
	return file
}

func isLegacy(file *pb.DataFile) bool {
	version, err := lance.VersionOf(file.MajorVersion, file.MinorVersion)
	return err == nil && version == lance.Legacy
}

// checkVersion rejects a file whose version differs from its manifest entry, because the version
// decides how to interpret the entry's field list.
func (d *File) checkVersion(is lance.Version) error {
	want, err := lance.VersionOf(d.meta.MajorVersion, d.meta.MinorVersion)
	if err == nil && want != is {
		err = fmt.Errorf("%w: data file %s has version %s, its manifest gives %s", lance.ErrCorrupt, d.key, is, want)
	}
	return err
}

// OpenBlobs opens the file for reading blobs. Legacy files cannot hold any.
func (d *File) OpenBlobs(ctx context.Context) (*datafile.File, error) {
	opened, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	file, ok := opened.(*datafile.File)
	if !ok {
		return nil, fmt.Errorf("%w: blobs in legacy data files", lance.ErrUnsupported)
	}
	return file, nil
}

// LegacyBatches returns the batch lengths of the fragment's legacy files, or nil if it has no
// files. Native readers read the batches of all files of a fragment in parallel, so another file
// needs batches of the same lengths.
func (f *Fragment) LegacyBatches(ctx context.Context) ([]int64, error) {
	if len(f.files) == 0 {
		return nil, nil
	}
	opened, err := f.files[0].open(ctx)
	if err != nil {
		return nil, err
	}
	file, ok := opened.(*legacyfile.File)
	if !ok {
		return nil, fmt.Errorf("%w: fragment %d has files of version %s in a legacy table", lance.ErrUnsupported, f.Meta.ID, opened.Version())
	}
	return file.Batches(), nil
}
