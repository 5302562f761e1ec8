// Package result stores large query answers as objects, which callers can download later and in
// ranges.
//
// An answer is an Arrow file or stream in the home root. Its key is derived from the caller and the
// table of the answer, so that no other caller, and no path with another table, finds it. It
// appears when it is complete; a failed answer leaves nothing. A sweep, or a lifecycle rule of the
// bucket, deletes it a day later.
package result

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

const (
	// Folder contains the answers, in the home root.
	Folder = "_results/"
	// Lifetime is how long an answer can be read.
	Lifetime = 24 * time.Hour
	// URLLifetime is how long a signed URL of an answer is valid. Later a new one can be requested.
	URLLifetime = time.Hour
	// MaxKept bounds the stored answers of one caller.
	MaxKept = 1000

	// writerBytes is the memory of a multipart upload's parts on their way to S3.
	writerBytes = 32 << 20
	pageSize    = 1000
)

// ErrNotFound means that a caller has no such answer from the table, or has it no more.
var ErrNotFound = errors.New("there is no such result")

// A Kind is the form of an answer. It is the end of the answer's id.
type Kind string

// The kinds of answers.
const (
	File   Kind = "arrow"
	Stream Kind = "arrows"
)

// An Owner is the caller that an answer is for, and the table that its rows are from.
type Owner struct {
	Principal string
	Table     []string
}

// folder returns the folder of the caller's answers.
func (o Owner) folder() string {
	sum := sha256.Sum256([]byte(o.Principal))
	return Folder + hex.EncodeToString(sum[:16]) + "/"
}

func (o Owner) key(id string) string {
	sum := sha256.Sum256([]byte(protocol.JoinID(o.Table, protocol.DefaultDelimiter)))
	return o.folder() + hex.EncodeToString(sum[:8]) + "-" + id
}

// Store stores answers. It is safe for concurrent use.
type Store struct {
	roots *objectstore.Roots
	now   func() time.Time
	most  int64
}

// Open returns the answers in the home root. The answers of one caller that are kept at a time have
// at most that many bytes.
func Open(roots *objectstore.Roots, now func() time.Time, most int64) *Store {
	return &Store{roots, now, most}
}

func (s *Store) objects() objectstore.Store { return s.roots.Home().Store }

// A Result is an answer that can be read.
type Result struct {
	ID       string
	Kind     Kind
	Location string // URI
	Size     int64
	Expires  time.Time

	key string
}

// Create begins an answer. It costs one LIST, which counts the answers of the caller.
func (s *Store) Create(ctx context.Context, owner Owner, kind Kind) (*Writer, error) {
	left, err := s.left(ctx, owner)
	if err != nil {
		return nil, err
	}
	hold, err := memory.Take(ctx, writerBytes)
	if err != nil {
		return nil, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never returns an error: a failure ends the program
	w := &Writer{store: s, left: left, hold: hold, Result: Result{ID: hex.EncodeToString(random[:]) + "." + string(kind), Kind: kind}}
	w.key = owner.key(w.ID)
	w.Location = s.roots.Join(w.key).URI
	if w.out, err = s.objects().Create(ctx, w.key); err != nil {
		w.hold.Release()
		return nil, fmt.Errorf("create a result: %w", err)
	}
	return w, nil
}

// left returns the maximum size in bytes of the caller's next answer.
func (s *Store) left(ctx context.Context, owner Owner) (int64, error) {
	var kept, bytes int64
	oldest := s.now().Add(-Lifetime)
	for object, err := range objectstore.Objects(ctx, s.objects(), objectstore.ListOptions{Prefix: owner.folder(), Limit: pageSize}) {
		if err != nil {
			return 0, fmt.Errorf("list results: %w", err)
		}
		if object.Modified.After(oldest) {
			kept, bytes = kept+1, bytes+object.Size
		}
	}
	if kept >= MaxKept || bytes >= s.most {
		return 0, s.full()
	}
	return s.most - bytes, nil
}

// full is the error for an answer that would exceed the quota of its caller.
func (s *Store) full() error {
	return &protocol.Error{
		Code: protocol.InvalidInput, TooLarge: true,
		Message: fmt.Sprintf("the stored results of one caller may be %d with %d bytes together", MaxKept, s.most),
		Detail: "each is deleted a day after it was made; ask for fewer rows or columns, for compression (Accept: application/vnd.apache.arrow.file; compression=zstd), " +
			"or for the rows in the response",
	}
}

// A Writer takes the bytes of one answer. It is used by one goroutine.
type Writer struct {
	Result
	store *Store
	out   objectstore.Writer
	left  int64
	hold  memory.Hold
}

// Write adds bytes.
func (w *Writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		return 0, w.store.full()
	}
	n, err := w.out.Write(p)
	w.left, w.Size = w.left-int64(n), w.Size+int64(n)
	return n, err
}

// Commit makes the answer readable.
func (w *Writer) Commit() (Result, error) {
	defer w.hold.Release()
	if _, err := w.out.Commit(); err != nil {
		return Result{}, fmt.Errorf("store a result: %w", err)
	}
	w.Expires = w.store.now().Add(Lifetime)
	return w.Result, nil
}

// Abort discards the answer. It does nothing after Commit. If it fails to end a multipart upload, a
// lifecycle rule of the bucket does.
func (w *Writer) Abort() {
	_ = w.out.Abort()
	w.hold.Release()
}

// Find returns an answer of a caller from a table, or ErrNotFound.
func (s *Store) Find(ctx context.Context, owner Owner, id string) (Result, error) {
	kind, ok := kindOf(id)
	if !ok {
		return Result{}, ErrNotFound
	}
	found := Result{ID: id, Kind: kind, key: owner.key(id)}
	_, info, err := s.objects().GetRanges(ctx, found.key)
	if errors.Is(err, objectstore.ErrNotExist) {
		return Result{}, ErrNotFound
	} else if err != nil {
		return Result{}, fmt.Errorf("find a result: %w", err)
	}
	found.Size, found.Expires = info.Size, info.Modified.Add(Lifetime)
	if !s.now().Before(found.Expires) {
		return Result{}, ErrNotFound
	}
	found.Location = s.roots.Join(found.key).URI
	return found, nil
}

// kindOf returns the kind of an answer by its id. ok is false for a malformed id.
func kindOf(id string) (Kind, bool) {
	random, kind, _ := strings.Cut(id, ".")
	bytes, err := hex.DecodeString(random)
	ok := err == nil && len(bytes) == 16 && random == strings.ToLower(random) && (kind == string(File) || kind == string(Stream))
	return Kind(kind), ok
}

// URL returns a URL from which anyone who has it can read an answer until a time, and "" if the store
// signs none. The answer arrives under the content type.
func (s *Store) URL(ctx context.Context, r Result, contentType string) (url string, expires time.Time, err error) {
	signer := objectstore.SignerOf(s.objects())
	if signer == nil {
		return "", time.Time{}, nil
	}
	lasts := min(URLLifetime, r.Expires.Sub(s.now()))
	url, err = signer.SignGet(ctx, r.key, contentType, lasts)
	return url, s.now().Add(lasts), err
}

// Read returns bytes of an answer, which must exist.
func (s *Store) Read(ctx context.Context, r Result, from, size int64) ([]byte, error) {
	ranges, _, err := s.objects().GetRanges(ctx, r.key, objectstore.Range{Offset: from, Length: size})
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	return ranges[0], nil
}
