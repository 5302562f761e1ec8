package datafile

import (
	"fmt"
	"io"
	"strconv"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// BlobPlaces are the functions by which a Writer stores blobs outside of the data file, as files of
// version 2.2 can. If a function is nil, a blob that needs it is an error.
type BlobPlaces struct {
	// SideFile begins the side file with the number id. Its Close marks the file as complete; a
	// Writer that fails does not close it.
	SideFile func(id uint32) (io.WriteCloser, error)
	// External returns the stored form of a blob's URI in another object: the id of the table's
	// base path that contains it and the rest of the URI, or 0 and the whole URI. An error rejects
	// the URI.
	External func(uri string) (base uint32, path string, err error)
}

// The sizes from which the native writer moves a blob into a shared side file, and into one of its
// own, and the size that a shared side file does not exceed. The metadata of a field can override
// each of them. Source: crate lance, src/dataset/blob/write.rs.
const (
	inlineBlobBytes = 64 << 10
	packedBlobBytes = 4 << 20
	sideFileBytes   = 1 << 30

	inlineBlobKey = "lance-encoding:blob-inline-size-threshold"
	packedBlobKey = "lance-encoding:blob-dedicated-size-threshold"
	sideFileKey   = "lance-encoding:blob-pack-file-size-threshold"
)

// A blobWriter stores each blob according to its size.
type blobWriter struct {
	file   *Writer
	places BlobPlaces
	sides  uint32 // side files so far, which have the numbers 1, 2 …

	shared      io.WriteCloser // the side file that takes blobs now; nil: none
	sharedID    uint32
	sharedBytes int64
	sharedLimit int64
}

// blobLimits are the largest sizes of a blob of a field in the data file and in a shared side file,
// and of a shared side file.
type blobLimits struct{ inline, packed, sideFile int64 }

// limitsOf reads the size limits of a blob column from the field's metadata.
func limitsOf(f *schema.Field) (l blobLimits, err error) {
	limit := func(key string, otherwise, least int64) int64 {
		value, ok := f.Metadata[key]
		if !ok {
			return otherwise
		}
		n, bad := strconv.ParseInt(value, 10, 64)
		if bad != nil || n < least {
			err = fmt.Errorf("%w: field %q: %s is %q, which is no size of at least %d", lance.ErrUnsupported, f.Name, key, value, least)
		}
		return n
	}
	l.inline = limit(inlineBlobKey, inlineBlobBytes, 0)
	l.packed = limit(packedBlobKey, packedBlobBytes, 1)
	l.sideFile = limit(sideFileKey, sideFileBytes, 1)
	return l, err
}

// inline writes a blob into the data file, between its pages.
func (w *blobWriter) inline(value []byte) (Blob, error) {
	if err := w.file.align(); err != nil {
		return Blob{}, err
	}
	b := Blob{Position: uint64(w.file.size), Size: uint64(len(value))}
	return b, w.file.put(value)
}

// put stores a blob according to its size: in the data file, in a shared side file, or in one of
// its own.
func (w *blobWriter) put(value []byte, l blobLimits) (Blob, error) {
	switch size := int64(len(value)); {
	case w.file.version != lance.V2_2 && size == 0:
		return Blob{}, nil // at position 0
	case w.file.version != lance.V2_2:
		return w.inline(value)
	case size > l.packed:
		return w.dedicated(value)
	case size > l.inline:
		return w.packed(value, l.sideFile)
	}
	return w.inline(value)
}

// dedicated writes a blob into a side file of its own.
func (w *blobWriter) dedicated(value []byte) (Blob, error) {
	file, id, err := w.sideFile()
	if err != nil {
		return Blob{}, err
	}
	if _, err := file.Write(value); err != nil {
		return Blob{}, err
	}
	return Blob{Kind: DedicatedBlob, ID: id, Size: uint64(len(value))}, file.Close()
}

// packed appends a blob to the shared side file, or to a new one if that is full.
func (w *blobWriter) packed(value []byte, limit int64) (Blob, error) {
	size := int64(len(value))
	if w.shared == nil || w.sharedLimit != limit || w.sharedBytes+size > limit {
		if err := w.close(); err != nil {
			return Blob{}, err
		}
		var err error
		if w.shared, w.sharedID, err = w.sideFile(); err != nil {
			return Blob{}, err
		}
		w.sharedBytes, w.sharedLimit = 0, limit
	}
	b := Blob{Kind: PackedBlob, ID: w.sharedID, Position: uint64(w.sharedBytes), Size: uint64(size)}
	w.sharedBytes += size
	_, err := w.shared.Write(value)
	return b, err
}

// sideFile opens the next blob side file and returns its number, from 1 on.
func (w *blobWriter) sideFile() (io.WriteCloser, uint32, error) {
	if w.places.SideFile == nil {
		return nil, 0, fmt.Errorf("%w: a blob that needs a side file", lance.ErrUnsupported)
	}
	if w.sides == 1<<32-1 {
		return nil, 0, fmt.Errorf("%w: more side files than there are numbers", lance.ErrUnsupported)
	}
	w.sides++
	file, err := w.places.SideFile(w.sides)
	return file, w.sides, err
}

// close completes the shared side file.
func (w *blobWriter) close() error {
	if w.shared == nil {
		return nil
	}
	shared := w.shared
	w.shared = nil
	return shared.Close()
}

// external describes a blob that stays in another object.
func (w *blobWriter) external(uri string, position, size uint64) (Blob, error) {
	if w.places.External == nil {
		return Blob{}, fmt.Errorf("%w: a blob that is elsewhere", lance.ErrUnsupported)
	}
	base, path, err := w.places.External(uri)
	return Blob{Kind: ExternalBlob, ID: base, URI: path, Position: position, Size: size}, err
}
