package rangecache

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// unusedPause is how long a folder is not written to after a write has failed, as on a full disk.
	unusedPause = time.Minute
	// touchAfter is the age of a file's time of modification from which a read sets it again. The time orders the
	// files by their last use.
	touchAfter = time.Minute
	// abandoned is the age from which an unfinished file is that of a process that has died.
	abandoned = 10 * time.Minute
	// blockBytes is the least that a file counts for.
	blockBytes = 4 << 10
	// parts is the number of parts that the bound is divided into. The sizes of all files are added up when the
	// process has written one part since the last time. If fewer than two parts are free then, the files that
	// were not used for the longest time are deleted until four are.
	parts = 16
	// unfinished is the prefix of the names of files that are being written.
	unfinished = "new-"
)

// A Disk keeps entries as files of a folder. Several processes may use one folder: a file appears complete by its
// rename, and whoever misses a file that another process has deleted reads the range from the store.
//
// The name of a file is that of its entry, its first two digits being a folder. Files with other names are left
// alone.
type Disk struct {
	root  *os.Root
	limit int64
	now   func() time.Time

	mu      sync.Mutex
	since   int64 // bytes written since the last sweep; the first write sweeps
	swept   bool
	sweeps  bool // a sweep is running
	resting time.Time
}

// OpenDisk opens a folder, which it creates if it is missing. Its files have about limit bytes together: each
// process beyond the second that writes at the same time may add a sixteenth. The folder must belong to the user
// of the process, and be closed to all others, because it holds bytes of tables.
func OpenDisk(path string, limit int64, now func() time.Time) (*Disk, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder", path)
	case info.Mode().Perm() != 0o700 || !isOurs(info):
		return nil, fmt.Errorf("%s holds bytes of tables, so it must belong to the user of this process and have the mode 0700; it has %04o", path, info.Mode().Perm())
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Disk{root: root, limit: limit, now: now}, nil
}

// pathOf returns the path of an entry's file in the folder.
func pathOf(name digest) string {
	text := name.String()
	return text[:2] + "/" + text[2:]
}

// get returns the content of a file, or nil if there is none, or if it cannot be an entry of at most that many bytes.
func (d *Disk) get(name digest, most int64) []byte {
	path := pathOf(name)
	file, err := d.root.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() < headerBytes || info.Size() > headerBytes+most {
		d.drop(name)
		return nil
	}
	blob := make([]byte, info.Size())
	if _, err := io.ReadFull(file, blob); err != nil {
		return nil
	}
	if now := d.now(); now.Sub(info.ModTime()) > touchAfter {
		_ = d.root.Chtimes(path, now, now) // it is only counted as less used
	}
	return blob
}

// drop deletes a file that is of no use.
func (d *Disk) drop(name digest) { _ = d.root.Remove(pathOf(name)) } // if it stays, it is found useless again

// put writes a file, and reports whether it did.
func (d *Disk) put(name digest, blob []byte) bool {
	if int64(len(blob)) > d.limit/parts || !d.begin() {
		return false
	}
	if err := d.write(pathOf(name), blob); err != nil {
		d.mu.Lock()
		d.resting = d.now().Add(unusedPause)
		d.mu.Unlock()
		return false
	}
	d.wrote(int64(len(blob)))
	return true
}

// begin reports whether a file may be written now. The first time it sweeps, because the folder may be full from
// earlier processes.
func (d *Disk) begin() bool {
	d.mu.Lock()
	resting, swept := d.now().Before(d.resting), d.swept
	d.mu.Unlock()
	if !resting && !swept {
		d.wrote(d.limit)
	}
	return !resting
}

// write writes a file under another name and renames it.
func (d *Disk) write(path string, blob []byte) error {
	temporary, now := unfinished+rand.Text(), d.now()
	err := d.root.WriteFile(temporary, blob, 0o600)
	if err == nil {
		err = d.root.Chtimes(temporary, now, now)
	}
	if err == nil {
		err = d.root.Rename(temporary, path)
		if errors.Is(err, fs.ErrNotExist) { // the folder of the first two digits is missing
			if err = d.root.Mkdir(path[:2], 0o700); err == nil || errors.Is(err, fs.ErrExist) {
				err = d.root.Rename(temporary, path)
			}
		}
	}
	if err != nil {
		_ = d.root.Remove(temporary) // or a later sweep does
	}
	return err
}

// wrote counts written bytes, and sweeps when they may have filled the folder.
func (d *Disk) wrote(bytes int64) {
	d.mu.Lock()
	d.since += max(bytes, blockBytes)
	due := d.since >= d.limit/parts && !d.sweeps
	if due {
		d.sweeps, d.since = true, 0
	}
	d.mu.Unlock()
	if !due {
		return
	}
	d.sweep()
	d.mu.Lock()
	d.sweeps, d.swept = false, true
	d.mu.Unlock()
}

// A kept is a file in the folder.
type kept struct {
	path  string
	bytes int64
	used  time.Time
}

// sweep deletes files of processes that died, files that are too old, and those that were not used for the
// longest time if the folder is nearly full. Another process may do the same.
func (d *Disk) sweep() {
	now, total := d.now(), int64(0)
	var files []kept
	for file := range d.files(now) {
		if now.Sub(file.used) > maxAge {
			_ = d.root.Remove(file.path)
			continue
		}
		files = append(files, file)
		total += file.bytes
	}
	if total <= d.limit/parts*(parts-2) {
		return
	}
	slices.SortFunc(files, func(a, b kept) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.path, b.path)) })
	for _, file := range files {
		if total <= d.limit/parts*(parts-4) {
			return
		}
		if err := d.root.Remove(file.path); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= file.bytes
		}
	}
}

// files yields the entries' files. On the way it deletes abandoned files.
func (d *Disk) files(now time.Time) func(yield func(kept) bool) {
	return func(yield func(kept) bool) {
		_ = fs.WalkDir(d.root.FS(), ".", func(path string, item fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what cannot be listed is not counted
			}
			if item.IsDir() {
				if path != "." && (len(path) != 2 || !isHex(path)) {
					return fs.SkipDir
				}
				return nil
			}
			info, err := item.Info()
			if err != nil || !info.Mode().IsRegular() {
				return nil //nolint:nilerr // another process has deleted it
			}
			if strings.HasPrefix(path, unfinished) && now.Sub(info.ModTime()) > abandoned {
				_ = d.root.Remove(path) // or the next sweep does
				return nil
			}
			folder, name, _ := strings.Cut(path, "/")
			if len(folder)+len(name) != 2*len(digest{}) || !isHex(name) {
				return nil
			}
			size := (info.Size() + blockBytes - 1) / blockBytes * blockBytes
			if !yield(kept{path, size, info.ModTime()}) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }
