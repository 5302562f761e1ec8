package datafile

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/storage/objectstore"
)

// A Blob locates the bytes of one value of a blob column.
type Blob struct {
	Null bool // then the rest means nothing
	Kind BlobKind
	// Position and Size delimit the bytes in the file or object that holds them. An external blob
	// of size 0 extends from Position to the end of its object.
	Position, Size uint64
	// ID is the number of the side file. For an external blob it is the id of the base path that
	// URI is relative to, or 0 if URI is absolute.
	ID  uint32
	URI string // of an external blob
}

// A BlobKind names the object in which the bytes of a blob lie.
type BlobKind uint8

// The kinds of blobs, with their numbers in stored descriptions. Files up to version 2.1 have
// inline blobs only.
const (
	InlineBlob    BlobKind = 0 // in the data file itself
	PackedBlob    BlobKind = 1 // in a side file shared by several blobs
	DedicatedBlob BlobKind = 2 // in a side file of its own
	ExternalBlob  BlobKind = 3 // in an object that is not the table's
)

// Blobs returns the blobs that a column describes. The column is one that ReadRange or Take
// returned for a blob field; if the field is in a list or struct, it is the child array. Its type
// is one of
//
//	struct<position u64, size u64>                                       in 2.0 and 2.1
//	struct<kind u8, position u64, size u64, blob_id u32, blob_uri utf8>  in 2.2
//
// Source: crate lance-core, src/datatypes.rs.
func Blobs(column arrow.Array) ([]Blob, error) {
	s, ok := column.(*array.Struct)
	if !ok {
		return nil, fmt.Errorf("a column of type %s does not describe blobs", column.DataType())
	}
	switch s.NumField() {
	case 2:
		return inlineBlobs(s)
	case 5:
		return describedBlobs(s)
	}
	return nil, fmt.Errorf("a column of type %s does not describe blobs", column.DataType())
}

// inlineBlobs decodes the descriptions of versions 2.0 and 2.1. In 2.1 a null value has a null
// description. In 2.0 no description is null; among values of size 0, position 0 marks an empty
// value and any other position a null.
func inlineBlobs(s *array.Struct) ([]Blob, error) {
	positions, ok1 := s.Field(0).(*array.Uint64)
	sizes, ok2 := s.Field(1).(*array.Uint64)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("a column of type %s does not describe blobs", s.DataType())
	}
	blobs := make([]Blob, s.Len())
	for i := range blobs {
		b := Blob{Position: positions.Value(i), Size: sizes.Value(i)}
		if s.IsNull(i) || b.Size == 0 && b.Position != 0 {
			b = Blob{Null: true}
		}
		blobs[i] = b
	}
	return blobs, nil
}

// describedBlobs decodes the descriptions of version 2.2.
func describedBlobs(s *array.Struct) ([]Blob, error) {
	kinds, ok1 := s.Field(0).(*array.Uint8)
	positions, ok2 := s.Field(1).(*array.Uint64)
	sizes, ok3 := s.Field(2).(*array.Uint64)
	ids, ok4 := s.Field(3).(*array.Uint32)
	uris, ok5 := s.Field(4).(*array.String)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return nil, fmt.Errorf("a column of type %s does not describe blobs", s.DataType())
	}
	blobs := make([]Blob, s.Len())
	for i := range blobs {
		if s.IsNull(i) {
			blobs[i].Null = true
			continue
		}
		kind := BlobKind(kinds.Value(i))
		if kind > ExternalBlob {
			return nil, fmt.Errorf("%w: blobs of kind %d", lance.ErrUnsupported, kind)
		}
		blobs[i] = Blob{Kind: kind, Position: positions.Value(i), Size: sizes.Value(i), ID: ids.Value(i), URI: uris.Value(i)}
	}
	return blobs, nil
}

// ReadBlobs returns the bytes of blobs that columns of this file describe: nil for a null, not nil
// otherwise. All of them are in memory at once, so the caller checks their sizes first. External
// blobs are not read, because a data file must not decide which objects outside of the table may be
// read: one among blobs is [lance.ErrUnsupported].
func (f *File) ReadBlobs(ctx context.Context, blobs []Blob) ([][]byte, error) {
	places := map[string][]int{} // by key of the object: which blobs are in it
	for i, b := range blobs {
		if b.Null {
			continue
		}
		key, err := f.blobKey(b)
		if err != nil {
			return nil, fmt.Errorf("read blob %d of data file %s: %w", i, f.key, err)
		}
		places[key] = append(places[key], i)
	}
	contents := make([][]byte, len(blobs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxBlobFiles)
	for key, which := range places {
		group.Go(func() error { return f.readBlobs(ctx, key, blobs, which, contents) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return contents, nil
}

// maxBlobFiles bounds the files read concurrently.
const maxBlobFiles = 16

// SideFileKey returns the key of a side file of the data file at a key. Side files lie in a folder
// with the name of the data file. Their own name is the number of the side file in 32 binary
// digits, lowest digit first, so that consecutive files have different prefixes and spread over the
// partitions of an object store:
//
//	data/ab12.lance, 1   data/ab12/10000000000000000000000000000000.blob
//	data/ab12.lance, 6   data/ab12/01100000000000000000000000000000.blob
func SideFileKey(key string, id uint32) string {
	return fmt.Sprintf("%s/%032b.blob", strings.TrimSuffix(key, ".lance"), bits.Reverse32(id))
}

// blobKey returns the key of the object that holds a blob.
func (f *File) blobKey(b Blob) (string, error) {
	switch b.Kind {
	case InlineBlob:
		if b.Size > uint64(f.size) || b.Position > uint64(f.size)-b.Size {
			return "", fmt.Errorf("%w: %d bytes at %d of %d", lance.ErrCorrupt, b.Size, b.Position, f.size)
		}
		return f.key, nil
	case PackedBlob, DedicatedBlob:
		if b.Size > maxBlobBytes || b.Position > 1<<63-1-maxBlobBytes {
			return "", fmt.Errorf("%w: %d bytes at %d of a side file", lance.ErrCorrupt, b.Size, b.Position)
		}
		return SideFileKey(f.key, b.ID), nil
	}
	return "", fmt.Errorf("%w: it is outside of the table at %q", lance.ErrUnsupported, objectstore.URI(b.URI))
}

// maxBlobBytes bounds the request that a stored description can cause.
const maxBlobBytes = 1 << 40

// readBlobs reads the blobs with the indices which, all of them in one object: the data file or a
// side file.
func (f *File) readBlobs(ctx context.Context, key string, blobs []Blob, which []int, contents [][]byte) error {
	src := &source{file: &stored{store: f.store, key: key, gap: f.gap}}
	// Blobs in the data file itself may lie in the bytes kept since it was opened.
	if key == f.key {
		src = newSource(f.stored, false)
	}
	var wanted []interval
	for _, i := range which {
		if at := blobs[i].interval(); at.size > 0 && src.find(at) == nil {
			wanted = append(wanted, at)
		}
	}
	if len(wanted) > 0 {
		if err := src.read(ctx, wanted); errors.Is(err, objectstore.ErrInvalidRange) {
			return fmt.Errorf("%w: blobs that reach past the end of %s: %w", lance.ErrCorrupt, key, err)
		} else if err != nil {
			return fmt.Errorf("read blobs: %w", err)
		}
	}
	for _, i := range which {
		contents[i] = []byte{}
		at := blobs[i].interval()
		if at.size == 0 {
			continue
		}
		if contents[i] = src.find(at); contents[i] == nil {
			return fmt.Errorf("%w: %s ends before the %d bytes of a blob at %d", lance.ErrCorrupt, key, at.size, at.from)
		}
	}
	return nil
}

// interval returns the byte range of the blob in its object.
func (b Blob) interval() interval { return interval{int64(b.Position), int64(b.Size)} }
