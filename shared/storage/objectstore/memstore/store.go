// Package memstore keeps objects in memory. It fails in the same way as the durable stores, and loses
// everything when the process ends.
package memstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// A Store holds objects in memory. New makes one.
type Store struct {
	mu      sync.RWMutex
	objects map[string]object
	keys    []string // keys of objects, ascending
	puts    uint64   // number of puts; each gives its object a new ETag
}

// An object is replaced and never changed, so readers may use its bytes without the lock.
type object struct {
	data []byte
	info objectstore.Info
}

// New returns an empty store.
func New() *Store {
	return &Store{objects: make(map[string]object)}
}

var _ objectstore.Store = (*Store)(nil)

// Get implements objectstore.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return nil, objectstore.Info{}, fmt.Errorf("get %q: %w", key, err)
	}
	return clone(o.data), o.info, nil
}

// GetRanges implements objectstore.Store.
func (s *Store) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return nil, objectstore.Info{}, fmt.Errorf("get ranges of %q: %w", key, err)
	}
	parts := make([][]byte, len(ranges))
	for i, r := range ranges {
		offset, length, err := r.Within(o.info.Size)
		if err != nil {
			return nil, objectstore.Info{}, fmt.Errorf("get ranges of %q: %w", key, err)
		}
		parts[i] = clone(o.data[offset : offset+length])
	}
	return parts, o.info, nil
}

func (s *Store) find(ctx context.Context, key string) (object, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return object{}, err
	}
	if err := ctx.Err(); err != nil {
		return object{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.objects[key]
	if !ok {
		return object{}, objectstore.ErrNotExist
	}
	return o, nil
}

// Put implements objectstore.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if err := objectstore.CheckPut(key, cond); err != nil {
		return objectstore.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return objectstore.Info{}, fmt.Errorf("put %q: %w", key, err)
	}
	return s.put(key, clone(data), cond)
}

// put stores data, which the caller must not use again.
func (s *Store) put(key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.objects[key]
	if cond.IfAbsent && exists || cond.IfMatch != "" && old.info.ETag != cond.IfMatch {
		return objectstore.Info{}, fmt.Errorf("put %q: %w", key, objectstore.ErrPrecondition)
	}
	if !exists {
		i, _ := slices.BinarySearch(s.keys, key)
		s.keys = slices.Insert(s.keys, i, key)
	}
	s.puts++
	info := objectstore.Info{
		Key:      key,
		Size:     int64(len(data)),
		ETag:     strconv.FormatUint(s.puts, 36),
		Modified: time.Now().Round(0),
	}
	s.objects[key] = object{data: data, info: info}
	return info, nil
}

// Delete implements objectstore.Store.
func (s *Store) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	if err := objectstore.CheckDelete(key, cond); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.objects[key]
	if cond.IfMatch != "" && old.info.ETag != cond.IfMatch {
		return fmt.Errorf("delete %q: %w", key, objectstore.ErrPrecondition)
	}
	if exists {
		i, _ := slices.BinarySearch(s.keys, key)
		s.keys = slices.Delete(s.keys, i, i+1)
		delete(s.objects, key)
	}
	return nil
}

// List implements objectstore.Store.
func (s *Store) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	if err := objectstore.CheckList(opts); err != nil {
		return objectstore.ListPage{}, err
	}
	if err := ctx.Err(); err != nil {
		return objectstore.ListPage{}, fmt.Errorf("list %q: %w", opts.Prefix, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var page objectstore.ListPage
	for i := s.seek(max(opts.Prefix, opts.StartAfter)); i < len(s.keys); {
		key := s.keys[i]
		if !strings.HasPrefix(key, opts.Prefix) {
			break
		}
		// A key and its common prefix are compared with StartAfter separately.
		name, next := key, i+1
		if end := strings.Index(key[len(opts.Prefix):], "/"); opts.Delimiter != "" && end >= 0 {
			name = key[:len(opts.Prefix)+end+1]
			next = s.seek(name[:len(name)-1] + "0") // the byte after the slash
		}
		i = next
		switch {
		case name <= opts.StartAfter:
			continue
		case opts.Limit > 0 && len(page.Objects)+len(page.Prefixes) == opts.Limit:
			page.More = true
			return page, nil
		case name == key:
			page.Objects = append(page.Objects, s.objects[key].info)
		default:
			page.Prefixes = append(page.Prefixes, name)
		}
	}
	return page, nil
}

// seek returns the position of the first key that is not less than key.
func (s *Store) seek(key string) int {
	i, _ := slices.BinarySearch(s.keys, key)
	return i
}

// Create implements objectstore.Store.
func (s *Store) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create %q: %w", key, err)
	}
	return &writer{ended: ctx.Err, store: s, key: key}, nil
}

// A writer buffers the bytes of one object.
type writer struct {
	ended func() error // error of the context that was given to Create
	store *Store       // nil after Commit or Abort
	key   string
	buf   bytes.Buffer
}

var errFinished = errors.New("writer is finished")

func (w *writer) Write(p []byte) (int, error) {
	if err := w.usable(); err != nil {
		return 0, fmt.Errorf("write %q: %w", w.key, err)
	}
	return w.buf.Write(p)
}

func (w *writer) Commit() (objectstore.Info, error) {
	if err := w.usable(); err != nil {
		return objectstore.Info{}, fmt.Errorf("commit %q: %w", w.key, err)
	}
	s := w.store
	w.store = nil
	return s.put(w.key, w.buf.Bytes(), objectstore.Condition{})
}

func (w *writer) Abort() error {
	w.store = nil
	return nil
}

func (w *writer) usable() error {
	if w.store == nil {
		return errFinished
	}
	return w.ended()
}

// clone copies b; unlike bytes.Clone it never returns nil.
func clone(b []byte) []byte {
	return append(make([]byte, 0, len(b)), b...)
}
