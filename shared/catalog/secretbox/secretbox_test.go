package secretbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T) *KeyFile {
	t.Helper()
	f, err := OpenKeyFile(filepath.Join(t.TempDir(), "root.keys"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSealedValuesBelongToTheirNames(t *testing.T) {
	f, id := open(t), []string{"a", "b"}
	sealed, err := f.Seal(t.Context(), id, []byte("canary"))
	if err != nil {
		t.Fatal(err)
	}
	if value, err := f.Open(t.Context(), id, sealed); err != nil || string(value) != "canary" {
		t.Errorf("got %q, %v", value, err)
	}
	if info, err := os.Stat(f.path); err != nil || info.Mode() != 0o600 {
		t.Errorf("got file %v, %v", info.Mode(), err)
	}
	again, err := f.Seal(t.Context(), id, []byte("canary"))
	if err != nil || bytes.Equal(again.Ciphertext, sealed.Ciphertext) || again.Key != sealed.Key {
		t.Errorf("got %v, %v after %v", again, err, sealed)
	}
	for _, other := range [][]string{{"a", "c"}, {"b"}, {"a"}, {"a", "b", ""}, {"a,b"}, {`a","b`}} {
		if value, err := f.Open(t.Context(), other, sealed); err == nil {
			t.Errorf("%q opens as %q", other, value)
		}
	}
	if value, err := open(t).Open(t.Context(), id, sealed); err == nil {
		t.Errorf("opens as %q without the file", value)
	}
	changed := sealed
	changed.Ciphertext = bytes.Clone(sealed.Ciphertext)
	changed.Ciphertext[0] ^= 1
	for _, bad := range []Sealed{changed, {Key: sealed.Key}, {Key: "other", Nonce: sealed.Nonce, Ciphertext: sealed.Ciphertext}} {
		if value, err := f.Open(t.Context(), id, bad); err == nil {
			t.Errorf("%+v opens as %q", bad, value)
		}
	}
}

func TestFirstKeySeals(t *testing.T) {
	f, id := open(t), []string{"s"}
	before, err := f.Seal(t.Context(), id, []byte("old"))
	if err != nil {
		t.Fatal(err)
	}
	added, err := f.AddKey()
	if err != nil || added == before.Key {
		t.Fatalf("added %q, %v", added, err)
	}
	now, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	after, err := f.Seal(t.Context(), id, []byte("value"))
	if err != nil || after.Key != added {
		t.Errorf("got %v, %v", after, err)
	}
	if value, err := f.Open(t.Context(), id, before); err != nil || string(value) != "old" {
		t.Errorf("got %q, %v", value, err)
	}
	again, changed, err := f.Reseal(t.Context(), id, before)
	if err != nil || !changed || again.Key != added {
		t.Errorf("got %v, %v, %v", again, changed, err)
	}
	if value, err := f.Open(t.Context(), id, again); err != nil || string(value) != "old" {
		t.Errorf("got %q, %v", value, err)
	}
	if _, changed, err := f.Reseal(t.Context(), id, again); err != nil || changed {
		t.Errorf("a value of the first key is sealed again: %v", err)
	}
	if _, _, err := f.Reseal(t.Context(), []string{"other"}, before); err == nil {
		t.Error("the value of another secret is sealed again")
	}
	now.Deployment = "another"
	data, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if value, err := f.Open(t.Context(), id, before); err == nil {
		t.Errorf("opens as %q in another deployment", value)
	}
}

func TestConcurrentFirstSealsMakeOneFile(t *testing.T) {
	f, id := open(t), []string{"s"}
	sealed := make([]Sealed, 16)
	var all sync.WaitGroup
	for i := range sealed {
		all.Go(func() {
			var err error
			if sealed[i], err = f.Seal(t.Context(), id, []byte("v")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, one := range sealed {
		if _, err := f.Open(t.Context(), id, one); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(f.path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("drafts are left: %v, %v", left, err)
	}
}

// Keys that several processes add at once are all kept, and no draft is.
func TestConcurrentlyAddedKeysAreKept(t *testing.T) {
	f := open(t)
	if _, err := f.AddKey(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("adds a key to no file: %v", err)
	}
	if _, err := f.Seal(t.Context(), []string{"s"}, []byte("v")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ids := make([]string, 16)
	for i := range ids {
		all.Go(func() {
			var err error
			if ids[i], err = f.AddKey(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	found, err := f.read()
	if err != nil || len(found.Keys) != 17 {
		t.Fatalf("got %d keys, %v", len(found.Keys), err)
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found.Keys, func(k key) bool { return k.ID == id }) {
			t.Errorf("the key %s is lost", id)
		}
	}
	if left, err := filepath.Glob(f.path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("drafts are left: %v, %v", left, err)
	}
	if info, err := os.Stat(f.path); err != nil || info.Mode() != 0o600 {
		t.Errorf("got file %v, %v", info.Mode(), err)
	}
}

func TestFilesOfKeysThatAreRefused(t *testing.T) {
	good := `{"deployment":"d","keys":[{"id":"k","key":"` + strings.Repeat("A", 43) + `="}]}`
	if _, err := parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":         "",
		"no object":     "[]",
		"no deployment": strings.Replace(good, `"d"`, `""`, 1),
		"no keys":       `{"deployment":"d","keys":[]}`,
		"short key":     strings.Replace(good, "AAAA", "", 1),
		"no id":         strings.Replace(good, `"k"`, `""`, 1),
		"id twice":      strings.Replace(good, `}]`, `},{"id":"k","key":"`+strings.Repeat("B", 43)+`="}]`, 1),
		"more fields":   strings.Replace(good, `"id"`, `"x":1,"id"`, 1),
		"more text":     good + "{}",
		"too large":     good + strings.Repeat(" ", maxFileBytes),
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Seal(t.Context(), []string{"s"}, []byte("v")); err == nil || strings.Contains(err.Error(), "AAAA") {
				t.Errorf("got error %v", err)
			}
		})
	}
	f := open(t)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.WriteFile(f.path, []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(f.path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seal(t.Context(), []string{"s"}, []byte("v")); err == nil {
			t.Errorf("mode %v is accepted", mode)
		}
	}
}

func TestKeysLieOutsideOfTables(t *testing.T) {
	root := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(root, "keys"), filepath.Join(link, "keys"), root} {
		if _, err := OpenKeyFile(path, root); err == nil {
			t.Errorf("%s is accepted", path)
		}
		if _, err := OpenKeyFile(path, link); err == nil {
			t.Errorf("%s is accepted beside a link", path)
		}
	}
	for _, path := range []string{root + ".keys", filepath.Join(root, "..", "..keys")} {
		if _, err := OpenKeyFile(path, root); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"deployment":"d","keys":[{"id":"k","key":"` + strings.Repeat("A", 43) + `="}]}`))
	f.Add([]byte(`{"keys":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := parse(data)
		if err != nil {
			return
		}
		for _, k := range found.Keys {
			if _, err := aeadOf(k.Key); err != nil {
				t.Errorf("key %q: %v", k.ID, err)
			}
		}
	})
}
