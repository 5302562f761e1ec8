package all_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/lance"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/rangecache"
	"tiltyard/shared/tables"
)

// tierLatency is about what S3 Express One Zone takes to answer a small request.
const tierLatency = 5 * time.Millisecond

// An instance is a process with a cache of ranges. Requests to its store and to the bucket of the cache are
// counted apart.
type instance struct {
	t      testing.TB
	serve  http.Handler
	home   *faultstore.Store
	tier   *faultstore.Store
	ranges *rangecache.Cache // nil: none
}

// tiers are what the instances of a deployment, or the processes of a machine, share.
type tiers struct {
	folder string            // empty: none
	bucket objectstore.Store // nil: none
}

func startInstance(t testing.TB, inner objectstore.Store, shared tiers, slow bool) *instance {
	t.Helper()
	i := &instance{t: t, home: faultstore.New(inner, nil)}
	if slow {
		i.home.Inject(faultstore.Latency(storageLatency))
	}
	root := objectstore.Root{URI: "memory://test", Store: objectstore.Counting(i.home)}
	options := rangecache.Options{Immutable: lance.IsImmutable, Now: time.Now}
	if shared.bucket != nil {
		i.tier = faultstore.New(shared.bucket, nil)
		if slow {
			i.tier.Inject(faultstore.Latency(tierLatency))
		}
		options.Bucket = objectstore.Counting(i.tier)
	}
	if shared.folder != "" {
		var err error
		if options.Disk, err = rangecache.OpenDisk(shared.folder, 64<<20, time.Now); err != nil {
			t.Fatal(err)
		}
	}
	if options.Bucket != nil || options.Disk != nil {
		i.ranges = rangecache.New(options)
		root.Store = i.ranges.Store(root.Store, root.URI)
	}
	roots, err := objectstore.NewRoots(root)
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	routes := all.Routes(tables.Stores{Objects: roots, Now: time.Now}, arrowipc.Limits{})
	i.serve = httpapi.Handler(routes, httpapi.Options{Verifier: token})
	return i
}

// A firstAnswer is what one request to an instance has cost.
type firstAnswer struct {
	answer       string
	home, tier   faultstore.Counts
	took         time.Duration // of the answer, without writes beside it
	immutable    []string      // requests to the store for bytes of immutable files
	tierReads    int
	tierWritings int
}

// call sends one request, and waits for the writes beside it.
func (i *instance) call(path string, body []byte) firstAnswer {
	i.t.Helper()
	i.home.Reset()
	if i.tier != nil {
		i.tier.Reset()
	}
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer secret-of-the-test")
	recorder := httptest.NewRecorder()
	began := time.Now()
	i.serve.ServeHTTP(recorder, req)
	c := firstAnswer{answer: recorder.Body.String(), took: time.Since(began)}
	if recorder.Code != http.StatusOK {
		i.t.Fatalf("%s: status %d: %s", path, recorder.Code, recorder.Body)
	}
	if i.ranges != nil {
		i.ranges.Wait()
	}
	c.home = i.home.Snapshot()
	for _, line := range c.home.Log {
		if fields := strings.Fields(line); fields[0] == "RANGE" && lance.IsImmutable(fields[1]) {
			c.immutable = append(c.immutable, line)
		}
	}
	if i.tier != nil {
		c.tier = i.tier.Snapshot()
		c.tierReads, c.tierWritings = c.tier.ByKind[faultstore.Range], c.tier.ByKind[faultstore.Put]
	}
	return c
}

// firstQueries are queries that the first request of an instance may be.
func firstQueries() []call {
	queries := []call{
		{"filter 1%, no index", "/v1/table/t/query", func(int) []byte { return []byte(`{"columns":["id","x","s"],"filter":"id < 500"}`) }, false},
	}
	for _, q := range indexedQueries {
		queries = append(queries, call{q.name, "/v1/table/indexed/query", indexedQuery(q.query), false})
	}
	return queries
}

// addTables puts the tables of firstQueries into a store.
func addTables(t testing.TB, inner objectstore.Store) {
	t.Helper()
	setup := startInstance(t, inner, tiers{}, false)
	setup.call("/v1/table/t/create", stream(t, 0, 50_000))
	addIndexed(t, inner)
	setup.call("/v1/table/indexed/register", fmt.Appendf(nil, `{"location":%q}`, indexedLocation))
}

func newFolder(t testing.TB) string { return filepath.Join(t.TempDir(), "ranges") }

// The first query of a process finds all ranges of files that an earlier process with the same tiers has read.
// It gets the same answer, and asks the store of the tables for no byte of them.
func TestFirstQueryFindsTheRangesOfEarlierProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		addTables(t, inner)
		t.Logf("%-34s %17s %17s %17s %17s", "requests to store, to bucket, time", "no cache", "both empty", "folder full", "bucket full")
		for _, q := range firstQueries() {
			plain := startInstance(t, inner, tiers{}, true).call(q.path, q.body(0))
			if len(plain.immutable) == 0 {
				t.Errorf("%s: the query reads no file, so that it proves nothing", q.name)
			}
			folder, bucket := newFolder(t), memstore.New()
			empty := startInstance(t, inner, tiers{folder, bucket}, true).call(q.path, q.body(0))
			full := startInstance(t, inner, tiers{folder: folder}, true).call(q.path, q.body(0))
			shared := startInstance(t, inner, tiers{bucket: bucket}, true).call(q.path, q.body(0))
			for name, got := range map[string]firstAnswer{"empty tiers": empty, "a full folder": full, "a full bucket": shared} {
				if got.answer != plain.answer {
					t.Errorf("%s with %s: the answer differs", q.name, name)
				}
				if name != "empty tiers" && len(got.immutable) > 0 {
					t.Errorf("%s with %s: got requests to the store: %s", q.name, name, strings.Join(got.immutable, ", "))
				}
			}
			if want := len(plain.immutable); len(empty.immutable) != want || empty.tierReads != want || shared.tierReads != want {
				t.Errorf("%s: got %d requests to the store and %d to the empty bucket, %d to the full one; want %d each", q.name, len(empty.immutable), empty.tierReads, shared.tierReads, want)
			}
			if full.took >= plain.took || shared.took >= plain.took {
				t.Errorf("%s: took %v with a full folder and %v with a full bucket, and %v without", q.name, full.took, shared.took, plain.took)
			}
			row := ""
			for _, c := range []firstAnswer{plain, empty, full, shared} {
				row += fmt.Sprintf(" %4d %4d %5dms", c.home.Requests, c.tierReads, c.took.Milliseconds())
			}
			t.Logf("%-34s%s", q.name, row)
		}
	})
}

// Instances that have no folder in common, and answer different queries, fill the bucket for each other.
func TestFiftiethInstanceReadsNoFileFromTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, bucket := memstore.New(), memstore.New()
		addTables(t, inner)
		queries := firstQueries()
		for n := range 49 {
			q := queries[n%len(queries)]
			startInstance(t, inner, tiers{newFolder(t), bucket}, true).call(q.path, q.body(n/len(queries)))
		}
		var found, missed int
		for _, q := range queries {
			again := startInstance(t, inner, tiers{newFolder(t), bucket}, true).call(q.path, q.body(0))
			if len(again.immutable) > 0 {
				t.Errorf("%s: got requests to the store: %s", q.name, strings.Join(again.immutable, ", "))
			}
			other := startInstance(t, inner, tiers{bucket: bucket}, true).call(q.path, q.body(40))
			found, missed = found+other.tierReads-len(other.immutable), missed+len(other.immutable)
			t.Logf("%-34s for another value: %d of %d ranges found", q.name, other.tierReads-len(other.immutable), other.tierReads)
		}
		t.Logf("other values in all: %d of %d ranges found", found, found+missed)
		if found < missed {
			t.Errorf("queries for other values: got %d ranges of the bucket and %d of the store, want most of the bucket", found, missed)
		}
	})
}

// Prewarming by one instance spares the others the store.
func TestPrewarmingFillsTheTiers(t *testing.T) {
	inner, bucket := memstore.New(), memstore.New()
	addTables(t, inner)
	startInstance(t, inner, tiers{bucket: bucket}, false).call("/v1/table/t/page_cache/prewarm", []byte(`{"columns":["id","x","s"]}`))
	scan := startInstance(t, inner, tiers{bucket: bucket}, false).call("/v1/table/t/query", []byte(`{"columns":["id","x","s"]}`))
	if len(scan.immutable) > 0 || scan.tierReads == 0 {
		t.Errorf("got %d requests to the bucket, and to the store: %s", scan.tierReads, strings.Join(scan.immutable, ", "))
	}
}

// Searches for ever other vectors, each by a new instance, find the ranges of the index that others have read. The
// rows that they return are mostly others.
func TestSearchesForOtherVectorsFindTheIndex(t *testing.T) {
	const rows, searches = 300_000, 60
	inner, bucket := memstore.New(), memstore.New()
	setup := startInstance(t, inner, tiers{}, false)
	setup.call("/v1/table/v/create", stream(t, 0, rows))
	setup.call("/v1/table/v/create_index", []byte(`{"column":"vector","index_type":"IVF_PQ","num_partitions":64,"num_sub_vectors":8}`))
	random := rand.New(rand.NewPCG(1, 2))
	search := func() []byte {
		near, vector := random.IntN(rows), make([]string, 8)
		for d := range vector {
			vector[d] = fmt.Sprintf("%.2f", float32(near*31+d*17)/100+random.Float32())
		}
		return fmt.Appendf(nil, `{"columns":{"column_names":["id","s"]},"vector":{"single_vector":[%s]},"k":10}`, strings.Join(vector, ","))
	}
	for _, phase := range []string{"first", "later"} {
		var looked, puts, ofIndex, ofRows int
		for range searches {
			c := startInstance(t, inner, tiers{bucket: bucket}, false).call("/v1/table/v/query", search())
			looked, puts = looked+c.tierReads, puts+c.tierWritings
			for _, line := range c.immutable {
				if strings.Contains(line, "/_indices/") {
					ofIndex++
				} else {
					ofRows++
				}
			}
		}
		found := looked - ofIndex - ofRows
		t.Logf("%s %d searches: %d ranges, %d found; read of the store: %d of the index, %d of rows; %d kept", phase, searches, looked, found, ofIndex, ofRows, puts)
		if phase == "later" && (ofIndex > searches || found < looked/2) {
			t.Errorf("later searches found %d of %d ranges, and read %d of the index from the store", found, looked, ofIndex)
		}
	}
}

// A tier that fails, is slow or holds damaged bytes changes no answer, and delays it little.
func TestFaultsOfTiersChangeNoAnswer(t *testing.T) {
	never := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	damage := func(change func(data []byte) []byte) func(t *testing.T, folder string, bucket objectstore.Store, _ *instance) {
		return func(t *testing.T, folder string, bucket objectstore.Store, _ *instance) {
			files := 0
			err := filepath.WalkDir(folder, func(path string, item os.DirEntry, err error) error {
				if err != nil || item.IsDir() {
					return err
				}
				files++
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return os.WriteFile(path, change(data), 0o600)
			})
			if err != nil || files == 0 {
				t.Fatalf("damage %d files: %v", files, err)
			}
			for info, err := range objectstore.Objects(t.Context(), bucket, objectstore.ListOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				data, _, err := bucket.Get(t.Context(), info.Key)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := bucket.Put(t.Context(), info.Key, change(data), objectstore.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	cases := []struct {
		name   string
		fault  func(t *testing.T, folder string, bucket objectstore.Store, i *instance)
		within time.Duration // longer than without the cache
	}{
		{"the bucket is down", func(_ *testing.T, folder string, _ objectstore.Store, i *instance) {
			_ = os.RemoveAll(folder)
			i.tier.Inject(func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Err: errors.New("is down")} })
		}, 0},
		{"the bucket never answers", func(_ *testing.T, folder string, _ objectstore.Store, i *instance) {
			_ = os.RemoveAll(folder)
			i.tier.Inject(func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Wait: never} })
		}, 300 * time.Millisecond},
		{"a byte is flipped", damage(func(data []byte) []byte { data[len(data)/2] ^= 1; return data }), 6 * tierLatency},
		{"the header is flipped", damage(func(data []byte) []byte { data[60] ^= 1; return data }), 6 * tierLatency},
		{"entries are cut short", damage(func(data []byte) []byte { return data[:len(data)-1] }), 6 * tierLatency},
		{"entries are empty", damage(func([]byte) []byte { return nil }), 6 * tierLatency},
		{"entries are too long", damage(func(data []byte) []byte { return append(data, 0) }), 6 * tierLatency},
	}
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		addTables(t, inner)
		for _, c := range cases {
			for _, q := range firstQueries() {
				plain := startInstance(t, inner, tiers{}, true).call(q.path, q.body(0))
				shared := tiers{newFolder(t), memstore.New()}
				startInstance(t, inner, shared, true).call(q.path, q.body(0))
				i := startInstance(t, inner, shared, true)
				c.fault(t, shared.folder, shared.bucket, i)
				got := i.call(q.path, q.body(0))
				if got.answer != plain.answer {
					t.Errorf("%s, %s: the answer differs", c.name, q.name)
				}
				if late := got.took - plain.took; late > c.within {
					t.Errorf("%s, %s: took %v longer than without the cache, want at most %v", c.name, q.name, late, c.within)
				}
				if len(got.immutable) != len(plain.immutable) {
					t.Errorf("%s, %s: got %d requests to the store, want %d", c.name, q.name, len(got.immutable), len(plain.immutable))
				}
			}
		}
	})
}

// BenchmarkFirstQuery counts the requests of the first query of a process with tiers that earlier ones have
// filled. The times are those of memory.
func BenchmarkFirstQuery(b *testing.B) {
	inner := memstore.New()
	addTables(b, inner)
	for _, q := range firstQueries() {
		for _, mode := range []string{"none", "empty", "folder", "bucket"} {
			b.Run(q.name+"/"+mode, func(b *testing.B) {
				shared := tiers{}
				switch mode {
				case "folder":
					shared.folder = newFolder(b)
				case "bucket":
					shared.bucket = memstore.New()
				}
				if mode == "folder" || mode == "bucket" {
					startInstance(b, inner, shared, false).call(q.path, q.body(0))
				}
				var home, tier, writes, bytes int64
				for b.Loop() {
					if mode == "empty" {
						shared = tiers{newFolder(b), memstore.New()}
					}
					c := startInstance(b, inner, shared, false).call(q.path, q.body(0))
					home, tier = home+int64(c.home.Requests), tier+int64(c.tierReads)
					writes, bytes = writes+int64(c.tierWritings), bytes+c.home.ReadBytes
				}
				n := float64(b.N)
				b.ReportMetric(float64(home)/n, "store-requests/op")
				b.ReportMetric(float64(bytes)/n, "store-bytes/op")
				b.ReportMetric(float64(tier)/n, "bucket-reads/op")
				b.ReportMetric(float64(writes)/n, "bucket-writes/op")
			})
		}
	}
}
