package rangecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/storetest"
)

func isFile(key string) bool { return strings.HasSuffix(key, ".lance") }

func newDisk(t testing.TB, limit int64) *Disk {
	t.Helper()
	d, err := OpenDisk(filepath.Join(t.TempDir(), "ranges"), limit, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A fixture is a cached store with its tiers.
type fixture struct {
	home, tier *faultstore.Store
	disk       *Disk
	cache      *Cache
	store      objectstore.Store
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{home: faultstore.New(memstore.New(), nil), tier: faultstore.New(memstore.New(), nil), disk: newDisk(t, 64<<20)}
	f.open(f.disk, f.tier)
	return f
}

// open starts another process over tiers.
func (f *fixture) open(disk *Disk, bucket objectstore.Store) {
	f.cache = New(Options{Disk: disk, Bucket: bucket, Immutable: isFile, Now: time.Now})
	f.store = f.cache.Store(f.home, "memory://home")
}

// read reads ranges, and returns how many requests the store and the bucket got.
func (f *fixture) read(t testing.TB, key string, ranges ...objectstore.Range) (parts [][]byte, home, tier int) {
	t.Helper()
	f.cache.Wait()
	f.home.Reset()
	f.tier.Reset()
	parts, _, err := f.store.GetRanges(t.Context(), key, ranges...)
	if err != nil {
		t.Fatal(err)
	}
	f.cache.Wait()
	return parts, f.home.Snapshot().Requests, f.tier.Snapshot().ByKind[faultstore.Range]
}

func put(t testing.TB, s objectstore.Store, key string, n int, seed uint64) []byte {
	t.Helper()
	data := make([]byte, n)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	if _, err := s.Put(t.Context(), key, data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	return data
}

// The contract writes objects again under the same keys, so that none of them may be immutable.
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) objectstore.Store {
		cache := New(Options{Disk: newDisk(t, 64<<20), Bucket: memstore.New(), Immutable: func(string) bool { return false }, Now: time.Now})
		return cache.Store(memstore.New(), "memory://home")
	})
}

func TestRangesAreFoundInEachTier(t *testing.T) {
	f := newFixture(t)
	data := put(t, f.home, "a.lance", 1000, 1)
	ranges := []objectstore.Range{{Offset: 10, Length: 20}, {Offset: -64}, {Offset: 0, Length: 1000}, {Offset: -5000}}
	want := [][]byte{data[10:30], data[936:], data, data}
	steps := []struct {
		name       string
		open       func()
		home, tier int
	}{
		{"nothing is kept", func() {}, 4, 4},
		{"the folder is full", func() {}, 0, 0},
		{"another folder", func() { f.open(newDisk(t, 64<<20), f.tier) }, 0, 4},
		{"that folder is full", func() {}, 0, 0},
		{"only the bucket", func() { f.open(nil, f.tier) }, 0, 4},
		{"only the folder", func() { f.open(f.disk, nil) }, 0, 0},
	}
	for _, step := range steps {
		step.open()
		got, home, tier := f.read(t, "a.lance", ranges...)
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%s: range %d has other bytes", step.name, i)
			}
			clear(got[i]) // the caller owns the bytes
		}
		if home != step.home || tier != step.tier {
			t.Errorf("%s: got %d requests to the store and %d to the bucket, want %d and %d", step.name, home, tier, step.home, step.tier)
		}
	}
	if got, want := f.cache.Usage(), (Usage{Disk: 4}); got != want {
		t.Errorf("usage: got %+v, want %+v", got, want)
	}
}

func TestWhatIsNotKept(t *testing.T) {
	f := newFixture(t)
	put(t, f.home, "a.lance", 1000, 1)
	put(t, f.home, "1.manifest", 1000, 2)
	put(t, f.home, "large.lance", maxEntry+1, 3)
	cases := []struct {
		name string
		ctx  context.Context
		key  string
		r    []objectstore.Range
	}{
		{"an object that may change", t.Context(), "1.manifest", []objectstore.Range{{Offset: 0, Length: 10}}},
		{"a large range", t.Context(), "large.lance", []objectstore.Range{{Offset: 0, Length: maxEntry + 1}}},
		{"the end of a large object", t.Context(), "large.lance", []objectstore.Range{{Offset: -2 * maxEntry}}},
		{"a read that passes", objectstore.Passing(t.Context()), "a.lance", []objectstore.Range{{Offset: 0, Length: 10}}},
		{"no range", t.Context(), "a.lance", nil},
		{"an empty range", t.Context(), "a.lance", []objectstore.Range{{Offset: 5, Length: 0}}},
	}
	for _, c := range cases {
		for range 2 {
			f.home.Reset()
			if _, _, err := f.store.GetRanges(c.ctx, c.key, c.r...); err != nil {
				t.Fatal(err)
			}
			f.cache.Wait()
			if got := f.home.Snapshot().Requests; got != 1 {
				t.Errorf("%s: got %d requests to the store, want 1", c.name, got)
			}
		}
	}
	if got := f.cache.Usage().Kept; got != 0 {
		t.Errorf("%d entries were kept", got)
	}
}

// The name of an entry holds all that its bytes depend on.
func TestEntriesAreOfOnePlaceKeyAndRange(t *testing.T) {
	f := newFixture(t)
	put(t, f.home, "a.lance", 1000, 1)
	put(t, f.home, "b.lance", 1000, 2)
	f.read(t, "a.lance", objectstore.Range{Offset: 0, Length: 10})
	elsewhere := memstore.New()
	other := put(t, elsewhere, "a.lance", 1000, 3)
	got, _, err := f.cache.Store(elsewhere, "memory://elsewhere").GetRanges(t.Context(), "a.lance", objectstore.Range{Offset: 0, Length: 10})
	if err != nil || !bytes.Equal(got[0], other[:10]) {
		t.Errorf("the same key in another place: %v, or other bytes", err)
	}
	for _, c := range []struct {
		key string
		r   objectstore.Range
	}{
		{"b.lance", objectstore.Range{Offset: 0, Length: 10}},
		{"a.lance", objectstore.Range{Offset: 0, Length: 11}},
		{"a.lance", objectstore.Range{Offset: 1, Length: 10}},
		{"a.lance", objectstore.Range{Offset: -10}},
	} {
		if _, home, _ := f.read(t, c.key, c.r); home != 1 {
			t.Errorf("%s, %+v: got %d requests to the store, want 1", c.key, c.r, home)
		}
	}
}

// If an object is not what it was when some of its ranges were kept, all ranges are read again.
func TestPartsOfDifferentObjectsAreNotMixed(t *testing.T) {
	f := newFixture(t)
	put(t, f.home, "a.lance", 1000, 1)
	first, second := objectstore.Range{Offset: 0, Length: 10}, objectstore.Range{Offset: 500, Length: 10}
	f.read(t, "a.lance", first)
	data := put(t, f.home, "a.lance", 1000, 2)
	got, _, _ := f.read(t, "a.lance", first, second)
	if !bytes.Equal(got[0], data[:10]) || !bytes.Equal(got[1], data[500:510]) {
		t.Error("got bytes of the object that was replaced")
	}
	got, home, _ := f.read(t, "a.lance", first, second)
	if !bytes.Equal(got[0], data[:10]) || home != 0 {
		t.Errorf("afterwards: got %d requests, or bytes of the object that was replaced", home)
	}
	// Entries that do not fit together, all of which are kept.
	put(t, f.home, "a.lance", 1000, 3)
	third := objectstore.Range{Offset: 100, Length: 10}
	f.read(t, "a.lance", third)
	data = put(t, f.home, "a.lance", 1000, 4)
	got, _, _ = f.read(t, "a.lance", first, third)
	if !bytes.Equal(got[0], data[:10]) || !bytes.Equal(got[1], data[100:110]) {
		t.Error("got bytes of two objects that were replaced")
	}
}

// A blob of any other bytes than those that were encoded is no entry.
func TestDamagedEntriesAreAbsent(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 300).Draw(t, "size")
		from := rapid.Int64Range(0, size-1).Draw(t, "from")
		r := objectstore.Range{Offset: from, Length: rapid.Int64Range(1, size-from).Draw(t, "length")}
		if rapid.Bool().Draw(t, "suffix") {
			r = objectstore.Range{Offset: -rapid.Int64Range(1, 400).Draw(t, "suffix")}
		}
		_, length, err := r.Within(size)
		if err != nil {
			t.Fatal(err)
		}
		name := nameOf("s3://lake", "a.lance", r)
		e := entry{
			info: objectstore.Info{Size: size, ETag: rapid.StringN(1, 20, 100).Draw(t, "etag"), Modified: time.Unix(1_700_000_000, 5)},
			kept: now, data: rapid.SliceOfN(rapid.Byte(), int(length), int(length)).Draw(t, "data"),
		}
		blob := encode(e, name)
		got, ok := decode(blob, name, r, now)
		if !ok || got.info.ETag != e.info.ETag || got.info.Size != size || !got.info.Modified.Equal(e.info.Modified) || !bytes.Equal(got.data, e.data) {
			t.Fatalf("got %+v, %t; want %+v", got, ok, e)
		}
		damaged := bytes.Clone(blob)
		switch rapid.IntRange(0, 4).Draw(t, "fault") {
		case 0:
			damaged[rapid.IntRange(0, len(blob)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		case 1:
			damaged = damaged[:rapid.IntRange(0, len(blob)-1).Draw(t, "cut")]
		case 2:
			damaged = append(damaged, 0)
		case 3:
			name = nameOf("s3://lake", "b.lance", r)
		case 4:
			now := now.Add(maxAge + time.Second)
			if _, ok := decode(blob, name, r, now); ok {
				t.Fatal("an old entry is used")
			}
			return
		}
		if _, ok := decode(damaged, name, r, now); ok {
			t.Fatal("a damaged entry is used")
		}
	})
}

func FuzzDecode(f *testing.F) {
	r := objectstore.Range{Offset: 3, Length: 4}
	name := nameOf("s3://lake", "a.lance", r)
	now := time.Unix(1_800_000_000, 0)
	f.Add(encode(entry{info: objectstore.Info{Size: 10, ETag: "e"}, kept: now, data: []byte("data")}, name))
	f.Fuzz(func(t *testing.T, blob []byte) {
		e, ok := decode(blob, name, r, now)
		if ok && !bytes.Equal(encode(e, name)[headerBytes:], blob[headerBytes:]) {
			t.Error("an entry is encoded to other bytes")
		}
	})
}

func TestFolderStaysWithinItsBound(t *testing.T) {
	const limit, each = 16 << 20, 100 << 10
	now := time.Now()
	path := filepath.Join(t.TempDir(), "ranges")
	first, err := OpenDisk(path, limit, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenDisk(path, limit, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	name := func(i int) digest { return nameOf("place", fmt.Sprint(i), objectstore.Range{Length: each}) }
	often := name(0)
	for i := range 1000 {
		d := first
		if i%2 == 1 {
			d = second
		}
		if !d.put(name(i), make([]byte, headerBytes+each)) {
			t.Fatalf("file %d was not written", i)
		}
		now = now.Add(2 * touchAfter)
		if first.get(often, each) == nil {
			t.Fatalf("the file that is used most was deleted after %d others", i)
		}
		if i%10 > 0 {
			continue
		}
		total := int64(0)
		for file := range first.files(now) {
			total += file.bytes
		}
		if total > limit {
			t.Fatalf("after %d files the folder has %d bytes, want at most %d", i+1, total, limit)
		}
	}
	if first.get(name(999), each) == nil || first.get(name(1), each) != nil {
		t.Error("the newest file is missing, or the oldest is still there")
	}
}

func TestSweepDeletesWhatIsOldAndLeavesForeignFiles(t *testing.T) {
	now := time.Now()
	d, err := OpenDisk(filepath.Join(t.TempDir(), "ranges"), 64<<20, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	old, recent := nameOf("place", "old", objectstore.Range{Length: 1}), nameOf("place", "recent", objectstore.Range{Length: 1})
	blob := make([]byte, headerBytes+1)
	d.put(old, blob)
	for path, gone := range map[string]bool{unfinished + "A": true, "notes.txt": false, "ab/notes.txt": false, "other/x": false} {
		_ = d.root.Mkdir(filepath.Dir(path), 0o700)
		if err := d.root.WriteFile(path, blob, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := d.root.Stat(path); errors.Is(err, fs.ErrNotExist) != gone {
				t.Errorf("%s: got %v, want gone: %t", path, err, gone)
			}
		}()
	}
	now = now.Add(maxAge + time.Hour)
	d.put(recent, blob)
	d.sweep()
	if d.get(old, 1) != nil || d.get(recent, 1) == nil {
		t.Error("the old file is still there, or the recent one is gone")
	}
}

func TestFolderMustBeOursAlone(t *testing.T) {
	parent := t.TempDir()
	open, file, link := filepath.Join(parent, "open"), filepath.Join(parent, "file"), filepath.Join(parent, "link")
	if err := errors.Join(os.Mkdir(open, 0o755), os.WriteFile(file, nil, 0o600), os.Symlink(t.TempDir(), link)); err != nil { //nolint:gosec // this is the case
		t.Fatal(err)
	}
	for _, path := range []string{open, file, link, filepath.Join(parent, "missing", "parent")} {
		if _, err := OpenDisk(path, 64<<20, time.Now); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
	made := filepath.Join(parent, "made")
	for range 2 {
		if _, err := OpenDisk(made, 64<<20, time.Now); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has the mode %v, %v; want 0700", info.Mode(), err)
	}
}

// A folder that takes no writes is not tried with each entry.
func TestFolderThatTakesNoWritesIsLeftAlone(t *testing.T) {
	now := time.Now()
	d, err := OpenDisk(filepath.Join(t.TempDir(), "ranges"), 64<<20, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(d.root.Name()); err != nil { // writes fail, as on a full disk
		t.Fatal(err)
	}
	name, blob := nameOf("place", "key", objectstore.Range{Length: 1}), make([]byte, headerBytes+1)
	if d.put(name, blob) || d.get(name, 1) != nil {
		t.Error("a file was written to a folder that is gone")
	}
	if err := os.Mkdir(d.root.Name(), 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := os.OpenRoot(d.root.Name())
	if err != nil {
		t.Fatal(err)
	}
	d.root = again
	if d.put(name, blob) {
		t.Error("the folder is tried again at once")
	}
	now = now.Add(unusedPause)
	if !d.put(name, blob) || d.get(name, 1) == nil {
		t.Error("the folder is not tried again after the pause")
	}
}

func TestBucketThatFailsIsLeftAlone(t *testing.T) {
	now := time.Now()
	home, tier := memstore.New(), faultstore.New(memstore.New(), nil)
	data := put(t, home, "a.lance", 1000, 1)
	cache := New(Options{Bucket: tier, Immutable: isFile, Now: func() time.Time { return now }})
	store := cache.Store(home, "memory://home")
	offset := int64(0)
	reads := func() int {
		t.Helper()
		tier.Reset()
		offset++
		got, _, err := store.GetRanges(t.Context(), "a.lance", objectstore.Range{Offset: offset, Length: 5}, objectstore.Range{Offset: -offset})
		if err != nil || !bytes.Equal(got[0], data[offset:offset+5]) {
			t.Fatalf("%v, or other bytes", err)
		}
		cache.Wait()
		return tier.Snapshot().ByKind[faultstore.Range]
	}
	fail := func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Err: errors.New("is down")} }
	steps := []struct {
		name  string
		fault func(faultstore.Call) faultstore.Fault
		after time.Duration
		want  []int // requests to the bucket, call by call
	}{
		{"it has never answered", fail, 0, []int{2, 0, 0}},
		{"still", fail, pause, []int{2, 0}},
		{"it answers", nil, pause, []int{2, 2, 2}},
		{"it fails now and then", fail, 0, []int{2, 2}},
		{"it answers again", nil, 0, []int{2}},
		{"it fails for good", fail, 0, []int{2, 2, 2, 0, 0}},
		{"it still fails after the pause", fail, pause, []int{2, 0}},
		{"after the pause", nil, pause, []int{2, 2}},
	}
	for _, step := range steps {
		now = now.Add(step.after)
		tier.Inject(step.fault)
		for i, want := range step.want {
			if got := reads(); got != want {
				t.Errorf("%s, call %d: got %d requests to the bucket, want %d", step.name, i, got, want)
			}
		}
	}
}

// Entries that wait to be written hold memory of the account, within a bound, and return it.
func TestWaitingEntriesAreBounded(t *testing.T) {
	home, tier := memstore.New(), faultstore.New(memstore.New(), nil)
	put(t, home, "a.lance", 1<<20, 1)
	release := make(chan struct{})
	tier.Inject(func(c faultstore.Call) faultstore.Fault {
		if c.Kind != faultstore.Put {
			return faultstore.Fault{}
		}
		return faultstore.Fault{Wait: func(context.Context) error { <-release; return nil }}
	})
	budget := memory.NewBudget(8<<20, 6<<20)
	cache := New(Options{Bucket: tier, Immutable: isFile, Memory: budget, Now: time.Now})
	store := cache.Store(home, "memory://home")
	const each = 100 << 10
	for i := range int64(100) {
		if _, _, err := store.GetRanges(t.Context(), "a.lance", objectstore.Range{Offset: i, Length: each}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := budget.Usage().Held, int64(1<<20)/(each+headerBytes)*(each+headerBytes); got != want {
		t.Errorf("100 entries hold %d bytes, want %d", got, want)
	}
	ended := make(chan struct{})
	go func() {
		cache.Close() // with all but those that are being written
		close(ended)
	}()
	for budget.Usage().Held > maxWriters*(each+headerBytes) {
		time.Sleep(time.Millisecond)
	}
	close(release)
	<-ended
	if got := budget.Usage().Held; got != 0 {
		t.Errorf("%d bytes are held when all is written", got)
	}
	if got, want := cache.Usage().Kept, int64(maxWriters); got != want {
		t.Errorf("%d entries were kept, want %d", got, want)
	}
}
