package manifest

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"tiltyard/shared/storage/objectstore"
)

// A note is data that a catalog attaches to a version; the format ignores it. It is part of
// the manifest file, so that it appears and disappears together with the version. It lies
// directly before the Manifest message, where no position of the format points, so other
// readers skip it:
//
//	[note]
//	u32     its length
//	[8]     "tiltnote"
//	[u32 length][Manifest]
//	[16]    footer, with the position of the Manifest's length after the note
const (
	noteMagic = "tiltnote"
	noteEnd   = lengthLen + len(noteMagic)

	// MaxNoteBytes is the largest size of a note.
	MaxNoteBytes = 4 << 20
)

// WithNote returns a manifest file with a note. file must not have a note yet; it is not
// changed.
func WithNote(file, note []byte) ([]byte, error) {
	start, err := messagePosition(file, int64(len(file)))
	if err != nil {
		return nil, err
	}
	if len(note) > MaxNoteBytes {
		return nil, fmt.Errorf("a note of %d bytes; %d are possible", len(note), MaxNoteBytes)
	}
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(note)))
	noted := slices.Concat(file[:start], note, length, []byte(noteMagic), file[start:])
	footer := noted[len(noted)-footerLen:]
	binary.LittleEndian.PutUint64(footer, uint64(start)+uint64(len(note)+noteEnd))
	return noted, nil
}

// ReadNote returns the note of a manifest file of the given size, or nil if it has none.
func ReadNote(ctx context.Context, store objectstore.Store, key string, size int64) ([]byte, error) {
	const guess = 16 << 10 // reaches the note in most files
	from := max(0, size-guess)
	parts, _, err := store.GetRanges(ctx, key, objectstore.Range{Offset: from, Length: size - from})
	if err != nil {
		return nil, fmt.Errorf("read note of %s: %w", key, err)
	}
	end, err := messagePosition(parts[0], size)
	if err != nil {
		return nil, fmt.Errorf("read note of %s: %w", key, err)
	}
	around := window{bytes: parts[0], from: from, size: size}
	begin, err := readNotePart(ctx, store, key, around, end-int64(noteEnd), int64(noteEnd))
	if err != nil || len(begin) == 0 || string(begin[lengthLen:]) != noteMagic {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(begin))
	if length > MaxNoteBytes || length > end-int64(noteEnd) {
		return nil, corrupt("a note of %d bytes before %d", length, end)
	}
	return readNotePart(ctx, store, key, around, end-int64(noteEnd)-length, length)
}

// readNotePart returns a range of a file that is partly in memory. It is empty if the range would
// begin before the file.
func readNotePart(ctx context.Context, store objectstore.Store, key string, read window, offset, length int64) ([]byte, error) {
	if offset < 0 {
		return nil, nil
	}
	if offset >= read.from {
		return read.bytes[offset-read.from:][:length], nil
	}
	if length == 0 {
		return []byte{}, nil
	}
	parts, _, err := store.GetRanges(ctx, key, objectstore.Range{Offset: offset, Length: length})
	if err != nil {
		return nil, fmt.Errorf("read note of %s: %w", key, err)
	}
	return parts[0], nil
}
