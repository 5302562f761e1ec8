package rangecache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// childFolder is the variable with the folder that another process of the test works in.
const childFolder = "RANGECACHE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		if err := churn(folder, uint64(os.Getpid())); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// churn writes and reads entries that other processes write and read as well, in a folder that is too small for
// all of them. It returns an error if an entry has other bytes than its own.
func churn(folder string, seed uint64) error {
	d, err := OpenDisk(folder, leastLimit, time.Now)
	if err != nil {
		return err
	}
	random, found := rand.New(rand.NewPCG(seed, 0)), 0
	for range 1000 {
		i := random.IntN(400)
		r := objectstore.Range{Offset: int64(i), Length: 100 << 10}
		name := nameOf("place", "key", r)
		data := bytes.Repeat([]byte{byte(i)}, int(r.Length))
		blob := d.get(name, r.Length)
		if blob == nil {
			d.put(name, encode(entry{info: objectstore.Info{Size: 1 << 20, ETag: "e"}, kept: time.Now(), data: data}, name))
			continue
		}
		e, ok := decode(blob, name, r, time.Now())
		if !ok || !bytes.Equal(e.data, data) {
			return fmt.Errorf("entry %d is not what was written", i)
		}
		found++
	}
	if found == 0 {
		return fmt.Errorf("no entry was found")
	}
	return nil
}

const leastLimit = 16 << 20

// Several processes may use one folder.
func TestProcessesShareAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ranges")
	var children []*exec.Cmd
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childFolder+"="+folder)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	d, err := OpenDisk(folder, leastLimit, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for file := range d.files(time.Now()) {
		total += file.bytes
	}
	if most := int64(leastLimit / parts * (parts + 2)); total > most {
		t.Errorf("the folder has %d bytes, want at most %d", total, most)
	}
	if left, err := filepath.Glob(filepath.Join(folder, unfinished+"*")); err != nil || len(left) > 0 {
		t.Errorf("unfinished files are left: %s, %v", left, err)
	}
}
