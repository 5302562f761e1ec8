package secretbox

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A KeyFile is a file of keys. Each use reads the file, so that a key that an operator adds is used
// at once. It is safe for concurrent use, also by several processes.
type KeyFile struct{ path string }

// A ring is the JSON content of a key file. New values are encrypted with the first key; the other
// keys decrypt older values.
type ring struct {
	Deployment string `json:"deployment"` // distinguishes deployments that share a key
	Keys       []key  `json:"keys"`
}

type key struct {
	ID  string `json:"id"`
	Key []byte `json:"key"` // base64 of KeyBytes bytes
}

// maxFileBytes is the size of the largest file of keys, some hundreds of them.
const maxFileBytes = 64 << 10

// OpenKeyFile returns the key file at a path. Its folder must exist. The path must not be inside
// any of the shared folders, because programs with fewer rights read those.
func OpenKeyFile(path string, shared ...string) (*KeyFile, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	for _, folder := range shared {
		folder, err := resolve(folder)
		if err != nil {
			return nil, err
		}
		if inside, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(inside) {
			return nil, fmt.Errorf("the file of keys %s lies inside of %s, where tables are", path, folder)
		}
	}
	return &KeyFile{path: path}, nil
}

// resolve returns an absolute path without symbolic links. The last part of the path may be missing.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(folder, filepath.Base(path)), err
}

func (f *KeyFile) readOrMake() (*ring, error) {
	found, err := f.read()
	if !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	if err := f.make(); err != nil {
		return nil, fmt.Errorf("make the file of keys: %w", err)
	}
	return f.read() // another process may have created it
}

// read reads the file. It refuses a file that other users may read or write.
func (f *KeyFile) read() (*ring, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("read the file of keys: %w", err)
	}
	defer func() { _ = file.Close() }() // the file was only read
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the file of keys: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the file of keys %s has the mode %v; it must be a file that only its owner may read and write (chmod 600)", f.path, info.Mode())
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the file of keys: %w", err)
	}
	found, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("the file of keys %s: %w", f.path, err)
	}
	return found, nil
}

// parse reads the content of a file of keys. Errors quote nothing of it.
func parse(data []byte) (*ring, error) {
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("is larger than %d bytes", maxFileBytes)
	}
	found := new(ring)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(found); err != nil || len(bytes.TrimSpace(data[decoder.InputOffset():])) > 0 {
		return nil, errors.New("is not a JSON object of a deployment and its keys")
	}
	if found.Deployment == "" || len(found.Keys) == 0 {
		return nil, errors.New("names no deployment, or holds no key")
	}
	ids := map[string]bool{}
	for i, one := range found.Keys {
		if one.ID == "" || ids[one.ID] || len(one.Key) != KeyBytes {
			return nil, fmt.Errorf("key %d needs an id of its own and %d bytes", i+1, KeyBytes)
		}
		ids[one.ID] = true
	}
	return found, nil
}

// make makes the file with one new key, unless another process makes it first.
func (f *KeyFile) make() error {
	return f.write(ring{Deployment: strings.ToLower(rand.Text()), Keys: []key{newKey()}}, func(draft string) error {
		if err := os.Link(draft, f.path); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

func newKey() key {
	fresh := key{ID: strings.ToLower(rand.Text()), Key: make([]byte, KeyBytes)}
	rand.Read(fresh.Key) // never returns an error: a failure ends the program
	return fresh
}

// AddKey adds a key that encrypts from now on, and returns its id. The other keys stay, since they
// decrypt older values.
func (f *KeyFile) AddKey() (id string, err error) {
	unlock, err := f.lock()
	if err != nil {
		return "", fmt.Errorf("add a key: %w", err)
	}
	defer unlock()
	found, err := f.read()
	if err != nil {
		return "", err
	}
	fresh := newKey()
	found.Keys = append([]key{fresh}, found.Keys...)
	if err := f.write(*found, func(draft string) error { return os.Rename(draft, f.path) }); err != nil {
		return "", fmt.Errorf("add a key: %w", err)
	}
	return fresh.ID, nil
}

// IDs returns the ids of the keys, that which seals first.
func (f *KeyFile) IDs() ([]string, error) {
	found, err := f.read()
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found.Keys))
	for i, one := range found.Keys {
		ids[i] = one.ID
	}
	return ids, nil
}

// lock keeps other processes from adding keys. Each of them replaces the file, so the lock of a file is
// good only while the file has its name.
func (f *KeyFile) lock() (unlock func(), err error) {
	for {
		file, err := os.Open(f.path)
		if err != nil {
			return nil, err
		}
		if err := lockFile(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		locked, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		named, err := os.Stat(f.path)
		if err == nil && os.SameFile(locked, named) {
			return func() { _ = file.Close() }, nil // which ends the lock
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
}

// write writes a file of keys and calls name with its path, to give it its name. The file has its whole
// content before that.
func (f *KeyFile) write(r ring, name func(draft string) error) (err error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if data = append(data, '\n'); len(data) > maxFileBytes {
		return fmt.Errorf("the file of keys would be larger than %d bytes: remove keys that seal no secret any more", maxFileBytes)
	}
	folder := filepath.Dir(f.path)
	draft, err := os.CreateTemp(folder, filepath.Base(f.path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(draft.Name()); !errors.Is(gone, fs.ErrNotExist) { // after a rename the draft no longer exists
			err = errors.Join(err, gone)
		}
	}()
	_, err = draft.Write(data)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	if err := name(draft.Name()); err != nil {
		return err
	}
	return syncFolder(folder)
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
