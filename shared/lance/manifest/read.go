package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// ErrNoTransaction means that a version does not record the transaction that made it.
var ErrNoTransaction = errors.New("version has no transaction")

const (
	tailLen  = 64 << 10 // size of Read's first request
	wholeLen = 1 << 20  // files known to be no longer are read at once

	maxTransactionLen = 64 << 20

	// parsedFactor is the memory per byte of a long manifest during a read: parts are joined and
	// then parsed.
	parsedFactor = 5

	// entryBytes is the approximate memory of a fragment, file, field or index entry without
	// variable parts.
	entryBytes = 256
)

// Read reads the manifest under key. A size, known from a listing, saves a request for manifests
// between 64 KiB and 1 MiB; 0 means unknown. A manifest up to 64 KiB takes one request, a longer
// one of unknown size takes two. The inline transaction is kept if it was read as well. Bytes past
// the first request are charged to the context's memory budget during the read.
func Read(ctx context.Context, store objectstore.Store, key string, size int64) (*Manifest, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	m, err := read(ctx, store, key, size)
	if err != nil {
		return nil, &readError{key, err}
	}
	return m, nil
}

// A readError is an error of Read. Its text is made only when it is read, because a missing manifest is the usual end of a
// search for the newest version.
type readError struct {
	key string
	err error
}

func (e *readError) Error() string { return fmt.Sprintf("read manifest %s: %v", e.key, e.err) }

func (e *readError) Unwrap() error { return e.err }

// read requests the end of a manifest, or all of it if the size is known and moderate, and decodes
// it.
func read(ctx context.Context, store objectstore.Store, key string, size int64) (*Manifest, error) {
	ask := int64(tailLen)
	if size > tailLen && size <= wholeLen {
		ask = size
	}
	parts, info, err := store.GetRanges(ctx, key, objectstore.Range{Offset: -ask})
	if err != nil {
		return nil, err
	}
	tail := parts[0]
	m, err := readFrom(ctx, store, key, tail, info)
	if err != nil {
		return nil, err
	}
	if m.Location, err = locate(info); err != nil {
		return nil, err
	}
	if m.Version != m.Location.Version {
		return nil, m.corrupt("its name says version %d", m.Location.Version)
	}
	return m, nil
}

// readFrom parses the manifest whose last bytes are tail, and reads missing parts.
func readFrom(ctx context.Context, store objectstore.Store, key string, tail []byte, info objectstore.Info) (*Manifest, error) {
	start, err := messagePosition(tail, info.Size)
	if err != nil {
		return nil, err
	}
	if from := info.Size - int64(len(tail)); start < from {
		if start < wholeLen {
			start = 0 // the sections before the message are small enough to come along
		}
		head, err := readRange(ctx, store, key, info, start, from-start)
		if err != nil {
			return nil, err
		}
		tail = append(head, tail...)
	}
	if info.Size > tailLen {
		body, err := messageIn(tail, info.Size)
		if err == nil {
			err = takeEntries(ctx, body)
		}
		if err != nil {
			return nil, err
		}
	}
	m, err := parseTail(tail, info.Size)
	if err != nil {
		return nil, err
	}
	if err := m.takeDictionaries(info.Size, partOf(ctx, store, key, tail, info)); err != nil {
		return nil, err
	}
	if at := m.Manifest.IndexSection; at != nil && m.IndexSection == nil {
		if m.IndexSection, err = readSection(ctx, store, key, info, position(*at), maxFileLen); err != nil {
			return nil, fmt.Errorf("index section: %w", err)
		}
	}
	return m, takeEntries(ctx, m.IndexSection)
}

// takeEntries reserves memory for the entries of a long message beyond the multiple of its bytes.
// An entry may take only two bytes.
func takeEntries(ctx context.Context, message []byte) error {
	more := entryBytes*pb.CountEntries(message) - parsedFactor*len(message)
	return memory.FromContext(ctx).Take(ctx, int64(max(more, 0)))
}

// readRange reads a range of the object that info describes. It charges the range and the parsed
// messages to the context's memory budget.
func readRange(ctx context.Context, store objectstore.Store, key string, info objectstore.Info, offset, length int64) ([]byte, error) {
	if err := memory.FromContext(ctx).Take(ctx, parsedFactor*length); err != nil {
		return nil, err
	}
	parts, again, err := store.GetRanges(ctx, key, objectstore.Range{Offset: offset, Length: length})
	if err != nil {
		return nil, err
	}
	if info.ETag != "" && again.ETag != info.ETag {
		return nil, corrupt("replaced while it was read")
	}
	return parts[0], nil
}

// readSection reads a length and the message after it.
func readSection(ctx context.Context, store objectstore.Store, key string, info objectstore.Info, at, limit int64) ([]byte, error) {
	if at < 0 || at > info.Size-footerLen-lengthLen {
		return nil, corrupt("section at %d in a file of %d bytes", at, info.Size)
	}
	// The sections come before the Manifest message, so that a first guess of this
	// length is in the file and nearly always enough.
	guess := min(tailLen, info.Size-at)
	head, err := readRange(ctx, store, key, info, at, guess)
	if err != nil {
		return nil, err
	}
	whole := window{bytes: head, from: at, size: info.Size}
	length, err := whole.sectionLen()
	if err != nil {
		return nil, err
	}
	if length > limit {
		return nil, corrupt("section of %d bytes, want at most %d", length, limit)
	}
	if missing := lengthLen + length - guess; missing > 0 {
		more, err := readRange(ctx, store, key, info, at+guess, missing)
		if err != nil {
			return nil, err
		}
		whole.bytes = slices.Concat(head, more)
	}
	body, _, err := whole.section(at)
	return body, err
}

// ReadTransaction returns the transaction that made the version: the inline one, or that of the
// file in _transactions. It makes a request unless the transaction was read with the manifest. A
// version without either is [ErrNoTransaction].
func (m *Manifest) ReadTransaction(ctx context.Context, store objectstore.Store, table string) (*pb.Transaction, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	raw, err := m.rawTransaction(ctx, store, table)
	if err != nil {
		return nil, fmt.Errorf("transaction of version %d: %w", m.Version, err)
	}
	txn := new(pb.Transaction)
	if err := txn.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("%w: transaction of version %d: %w", lance.ErrCorrupt, m.Version, err)
	}
	return txn, nil
}

// rawTransaction returns the encoded transaction: from memory, from the manifest file, or from its
// own file.
func (m *Manifest) rawTransaction(ctx context.Context, store objectstore.Store, table string) ([]byte, error) {
	if m.transaction != nil {
		return m.transaction, nil
	}
	if at, ok := m.transactionPosition(); ok && m.Location.Key != "" {
		info := objectstore.Info{Key: m.Location.Key, Size: m.Location.Size, ETag: m.Location.ETag}
		return readSection(ctx, store, info.Key, info, at, maxTransactionLen)
	}
	if m.TransactionFile == "" {
		return nil, ErrNoTransaction
	}
	key := TransactionKey(table, m.TransactionFile)
	if err := objectstore.CheckKey(key); err != nil {
		return nil, fmt.Errorf("%w: %w", lance.ErrCorrupt, err)
	}
	parts, info, err := store.GetRanges(ctx, key, objectstore.Range{Offset: -maxTransactionLen})
	if err != nil {
		return nil, err
	}
	if info.Size > maxTransactionLen {
		return nil, corrupt("transaction file %s of %d bytes, want at most %d", key, info.Size, maxTransactionLen)
	}
	return parts[0], nil
}
