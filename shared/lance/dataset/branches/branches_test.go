package branches_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/clone"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/tags"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func keysBelow(t testing.TB, store objectstore.Store, prefix string) []string {
	t.Helper()
	page, err := store.List(context.Background(), objectstore.ListOptions{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, info := range page.Objects {
		keys = append(keys, info.Key)
	}
	return keys
}

func TestBranchesHaveHistoriesOfTheirOwn(t *testing.T) {
	store := memstore.New()
	table := datasettest.TableIn(store)
	datasettest.Create(t, table, 1, 2, 3)
	datasettest.Append(t, table, "", 4)
	if got := datasettest.Branch(t, table, "dev", "", 1).Version(); got != 1 {
		t.Errorf("first version of the branch: got %d, want 1, that of its source", got)
	}
	datasettest.Append(t, table, "dev", 50)
	datasettest.Branch(t, table, "dev/x", "dev", 0)
	datasettest.Append(t, table, "dev/x", 60)
	made := datasettest.OnBranch(t, table, "dev/x")
	if _, err := made.Delete(t.Context(), rowset.At(datasettest.AddressesOf(t, made, datasettest.Multiples(2))...), ""); err != nil {
		t.Fatal(err)
	}
	for _, reader := range []*dataset.Table{table, datasettest.TableIn(store)} {
		for branch, want := range map[string][]int64{"": {1, 2, 3, 4}, "main": {1, 2, 3, 4}, "dev": {1, 2, 3, 50}, "dev/x": {1, 3}} {
			d := datasettest.OnBranch(t, reader, branch)
			if got := datasettest.IDsOf(t, d, snapshot.ScanOptions{}); !cmp.Equal(got, want) {
				t.Errorf("branch %q holds %v, want %v", branch, got, want)
			}
			if named := d.Manifest().Branch; !refs.IsMain(branch) && (named == nil || *named != branch) {
				t.Errorf("the manifest of branch %q says %v", branch, named)
			}
		}
	}
	infos, _, err := table.Refs().Branches(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	dev, x := infos["dev"], infos["dev/x"]
	if x.Parent == nil || *x.Parent != "dev" || x.ParentVersion != 2 || len(x.Identifier.Forks) != 2 || x.Identifier.Forks[0] != dev.Identifier.Forks[0] {
		t.Errorf("dev/x: got %+v, want one of version 2 of dev, which is %+v", x, dev)
	}
}

// A branch is stored as native Lance stores it.
func TestBranchesAreWrittenInTheFormat(t *testing.T) {
	store := memstore.New()
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	table := dataset.NewSession(0, func() time.Time { return time.Unix(1_800_000_000, 0) }).Table(at, 0)
	size := datasettest.Create(t, table, 1).Manifest().Location.Size
	datasettest.Branch(t, table, "a/é", "main", 0)
	data, _, err := store.Get(t.Context(), "t.lance/_refs/branches/a%2F%C3%A9.json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	fork := got["identifier"].(map[string]any)["version_mapping"].([]any)[0].([]any)
	if id, ok := fork[1].(string); !ok || len(id) != 32 {
		t.Errorf("id of the branch: got %v, want 32 digits", fork[1])
	}
	want := map[string]any{
		"parentBranch": nil, "parentVersion": 1.0, "createAt": 1_800_000_000.0, "manifestSize": float64(size), "metadata": map[string]any{},
		"identifier": map[string]any{"version_mapping": []any{[]any{1.0, fork[1]}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("branch (-want +got):\n%s", diff)
	}
	if keys := keysBelow(t, store, "t.lance/tree/a/é/_versions/"); len(keys) != 1 {
		t.Errorf("versions of the branch: got %v, want one", keys)
	}
}

func TestBranchesRefuseImpossibleChanges(t *testing.T) {
	ctx, table := t.Context(), datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	datasettest.Branch(t, table, "a", "", 0)
	datasettest.Branch(t, table, "a/b", "a", 0)
	datasettest.Branch(t, table, "tagged", "", 0)
	if err := tags.Create(ctx, table, "v", "tagged", 1); err != nil {
		t.Fatal(err)
	}
	create := func(name, from string, version uint64) func() error {
		return func() error {
			_, err := branches.Create(ctx, table, name, from, version)
			return err
		}
	}
	remove := func(name string) func() error { return func() error { return branches.Delete(ctx, table, name) } }
	for _, step := range []struct {
		name string
		do   func() error
		want error
	}{
		{"create what is there", create("a", "", 0), refs.ErrExists},
		{"create main", create("main", "", 0), refs.ErrName},
		{"create a path", create("../a", "", 0), refs.ErrName},
		{"create a long name", create(strings.Repeat("x", 300), "", 0), refs.ErrName},
		{"create of no version", create("n", "", 9), dataset.ErrNoVersion},
		{"create of no version of a branch", create("n", "a", 9), dataset.ErrNoVersion},
		{"create of no branch", create("n", "z", 0), refs.ErrNoBranch},
		{"tag of no branch", func() error { return tags.Create(ctx, table, "w", "z", 1) }, refs.ErrNoBranch},
		{"delete what is not there", remove("z"), refs.ErrNoBranch},
		{"delete main", remove("main"), refs.ErrName},
		{"delete a parent", remove("a"), refs.ErrInUse},
		{"delete what is tagged", remove("tagged"), refs.ErrInUse},
		{"delete a child", remove("a/b"), nil},
		{"delete the parent then", remove("a"), nil},
		{"untag", func() error { return tags.Delete(ctx, table, "v") }, nil},
		{"delete what was tagged", remove("tagged"), nil},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Errorf("%s: got %v, want %v", step.name, err, step.want)
		}
	}
	if got := keysBelow(t, table.Place().Store, "t.lance/tree/"); len(got) > 0 {
		t.Errorf("all branches are deleted, but there are %v", got)
	}
	if got := datasettest.IDsOf(t, datasettest.OnBranch(t, table, ""), snapshot.ScanOptions{}); !cmp.Equal(got, []int64{1}) {
		t.Errorf("the table holds %v, want 1", got)
	}
}

// The names of branches may lie in one another, also where a branch keeps its files.
func TestDeletedBranchLeavesThoseBelowItsNameAlone(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	for i, name := range []string{"a", "a/data", "a/b", "ab"} {
		datasettest.Branch(t, table, name, "", 0)
		datasettest.Append(t, table, name, int64(10+i))
	}
	if err := branches.Delete(t.Context(), table, "a"); err != nil {
		t.Fatal(err)
	}
	fresh := datasettest.TableIn(table.Place().Store)
	for name, want := range map[string][]int64{"a/data": {1, 11}, "a/b": {1, 12}, "ab": {1, 13}} {
		if got := datasettest.IDsOf(t, datasettest.OnBranch(t, fresh, name), snapshot.ScanOptions{}); !cmp.Equal(got, want) {
			t.Errorf("branch %s holds %v, want %v", name, got, want)
		}
	}
	if _, err := branches.Open(t.Context(), fresh, "a"); !errors.Is(err, refs.ErrNoBranch) {
		t.Errorf("the deleted branch: got %v, want refs.ErrNoBranch", err)
	}
}

// Cached parts of a branch do not outlive it, and a process that has it open cannot write to a
// later branch of the same name.
func TestBranchMadeAnewIsAnotherOne(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	table, other := datasettest.TableIn(store), datasettest.TableIn(store)
	datasettest.Create(t, table, 1)
	datasettest.Branch(t, table, "b", "", 0)
	datasettest.Append(t, table, "b", 2)
	stale, err := branches.Open(ctx, table, "b")
	if err != nil {
		t.Fatal(err)
	}
	datasettest.Append(t, other, "", 3)
	if err := branches.Delete(ctx, other, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := stale.Append(ctx, datasettest.RowsOf(9)); !errors.Is(err, refs.ErrNoBranch) {
		t.Errorf("append to a deleted branch: got %v, want refs.ErrNoBranch", err)
	}
	datasettest.Branch(t, other, "b", "", 1)
	datasettest.Append(t, other, "b", 4)
	if got := datasettest.IDsOf(t, datasettest.OnBranch(t, table, "b"), snapshot.ScanOptions{}); !cmp.Equal(got, []int64{1, 4}) {
		t.Errorf("the branch holds %v, want 1 and 4", got)
	}
	if _, err := stale.Append(ctx, datasettest.RowsOf(9)); !errors.Is(err, refs.ErrNoBranch) {
		t.Errorf("append to the branch as it was: got %v, want refs.ErrNoBranch", err)
	}
}

// A branch without a stored identifier gets the one that native Lance computes.
func TestBranchWithoutIdentifier(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	datasettest.Branch(t, table, "dev", "", 0)
	old := `{"parentBranch":null,"parentVersion":1,"createAt":1234567890,"manifestSize":369,"metadata":{}}`
	if _, err := table.Place().Store.Put(t.Context(), "t.lance/_refs/branches/dev.json", []byte(old), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	info, _, err := table.Refs().Branch(t.Context(), "dev")
	if err != nil {
		t.Fatal(err)
	}
	want := []refs.Fork{{Version: 0, ID: "37e68dd00eadf40e569a06574795ef2b"}}
	if diff := cmp.Diff(want, info.Identifier.Forks); diff != "" {
		t.Errorf("identifier (-want +got):\n%s", diff)
	}
	datasettest.Branch(t, table, "kid", "dev", 0)
	if err := branches.Delete(t.Context(), table, "dev"); !errors.Is(err, refs.ErrInUse) {
		t.Errorf("delete the parent: got %v, want refs.ErrInUse", err)
	}
}

// A leftover of another version, or of an unfinished creation, is not taken for the branch.
func TestLeftoverOfAnotherVersion(t *testing.T) {
	ctx, store, now := t.Context(), memstore.New(), time.Now()
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	table := dataset.NewSession(0, func() time.Time { return now }).Table(at, 0)
	datasettest.Create(t, table, 1)
	newest := datasettest.Append(t, table, "", 2)
	place := table.Branch("b", refs.Branch{Identifier: refs.Identifier{Forks: []refs.Fork{{Version: 2, ID: "x"}}}})
	if _, err := clone.Shallow(ctx, newest, place, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := branches.Create(ctx, table, "b", "", 1); !errors.Is(err, dataset.ErrConflict) {
		t.Errorf("while another may be made: got %v, want ErrConflict", err)
	}
	now = now.Add(branches.YoungClone + time.Second)
	datasettest.Branch(t, table, "b", "", 1)
	if got := datasettest.IDsOf(t, datasettest.OnBranch(t, table, "b"), snapshot.ScanOptions{}); !cmp.Equal(got, []int64{1}) {
		t.Errorf("the branch holds %v, want 1", got)
	}
}

// Of many concurrent creations of one branch from different versions, at most one succeeds, with
// the result that its caller got.
func TestBranchIsMadeOnce(t *testing.T) {
	for range 50 {
		store := memstore.New()
		datasettest.Create(t, datasettest.TableIn(store), 1)
		for id := int64(2); id <= 4; id++ {
			datasettest.Append(t, datasettest.TableIn(store), "", id)
		}
		var group sync.WaitGroup
		var mu sync.Mutex
		var made []uint64
		for version := uint64(1); version <= 4; version++ {
			group.Go(func() {
				d, err := branches.Create(context.Background(), datasettest.TableIn(store), "b", "", version)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					made = append(made, d.Version())
				} else if !errors.Is(err, dataset.ErrConflict) && !errors.Is(err, refs.ErrExists) {
					t.Errorf("version %d: %v", version, err)
				}
			})
		}
		group.Wait()
		info, _, err := datasettest.TableIn(store).Refs().Branch(t.Context(), "b")
		switch {
		case len(made) > 1:
			t.Fatalf("%d were told that they made the branch", len(made))
		case len(made) == 0 && !errors.Is(err, refs.ErrNoBranch):
			t.Fatalf("nobody made the branch, but it is %+v, %v", info, err)
		case len(made) == 1:
			if got := datasettest.OnBranch(t, datasettest.TableIn(store), "b").Version(); got != made[0] || info.ParentVersion != got {
				t.Fatalf("the branch is version %d of %d, but was made of version %d", got, info.ParentVersion, made[0])
			}
		}
	}
}

// during does something when a request is about to be made, once.
func during(inner objectstore.Store, kind faultstore.Kind, part string, do func() faultstore.Fault) objectstore.Store {
	var once sync.Once
	return faultstore.New(inner, func(c faultstore.Call) (fault faultstore.Fault) {
		if c.Kind == kind && strings.Contains(c.Key, part) {
			once.Do(func() { fault = do() })
		}
		return fault
	})
}

func TestBranchIsMadeByTheFirstToNameIt(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	datasettest.Create(t, datasettest.TableIn(store), 1)
	slow := during(store, faultstore.PutIfAbsent, "_refs", func() (none faultstore.Fault) {
		datasettest.Branch(t, datasettest.TableIn(store), "b", "", 0)
		datasettest.Append(t, datasettest.TableIn(store), "b", 2)
		return none
	})
	if _, err := branches.Create(ctx, datasettest.TableIn(slow), "b", "", 0); !errors.Is(err, refs.ErrExists) {
		t.Errorf("who was later: got %v, want refs.ErrExists", err)
	}
	if got := datasettest.IDsOf(t, datasettest.OnBranch(t, datasettest.TableIn(store), "b"), snapshot.ScanOptions{}); !cmp.Equal(got, []int64{1, 2}) {
		t.Errorf("the branch holds %v, want 1 and 2", got)
	}
}

// Another writer crashes while it creates the branch from another version.
func TestBranchIsNotMadeBesideACloneOfAnotherVersion(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	datasettest.Create(t, datasettest.TableIn(store), 1)
	datasettest.Append(t, datasettest.TableIn(store), "", 2)
	crashing := during(store, faultstore.PutIfAbsent, "_refs", func() faultstore.Fault { return faultstore.Fault{Crash: true} })
	slow := during(store, faultstore.PutIfAbsent, "tree/b/_versions", func() (none faultstore.Fault) {
		if _, err := branches.Create(ctx, datasettest.TableIn(crashing), "b", "", 2); !errors.Is(err, faultstore.ErrCrashed) {
			t.Errorf("the one that crashes: %v", err)
		}
		return none
	})
	if _, err := branches.Create(ctx, datasettest.TableIn(slow), "b", "", 1); !errors.Is(err, dataset.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
	datasettest.Branch(t, datasettest.TableIn(store), "b", "", 2)
	if got := datasettest.IDsOf(t, datasettest.OnBranch(t, datasettest.TableIn(store), "b"), snapshot.ScanOptions{}); !cmp.Equal(got, []int64{1, 2}) {
		t.Errorf("the branch holds %v, want 1 and 2", got)
	}
}

// A branch that is made while one of its name is being deleted keeps its files.
func TestBranchMadeWhileItsNameIsDeletedIsKept(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	datasettest.Create(t, datasettest.TableIn(store), 1)
	datasettest.Branch(t, datasettest.TableIn(store), "b", "", 0)
	slow := during(store, faultstore.Delete, "tree/b/", func() (none faultstore.Fault) {
		datasettest.Branch(t, datasettest.TableIn(store), "b", "", 0)
		return none
	})
	if err := branches.Delete(ctx, datasettest.TableIn(slow), "b"); err != nil {
		t.Fatal(err)
	}
	if got := datasettest.IDsOf(t, datasettest.OnBranch(t, datasettest.TableIn(store), "b"), snapshot.ScanOptions{}); !cmp.Equal(got, []int64{1}) {
		t.Errorf("the branch holds %v, want 1", got)
	}
}

// A branch made from a branch that is deleted concurrently is removed again.
func TestBranchOfADeletedBranchIsTakenBack(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	datasettest.Create(t, datasettest.TableIn(store), 1)
	datasettest.Branch(t, datasettest.TableIn(store), "a", "", 0)
	slow := during(store, faultstore.PutIfAbsent, "_refs", func() (none faultstore.Fault) {
		if err := branches.Delete(ctx, datasettest.TableIn(store), "a"); err != nil {
			t.Error(err)
		}
		return none
	})
	if _, err := branches.Create(ctx, datasettest.TableIn(slow), "b", "a", 0); !errors.Is(err, refs.ErrNoBranch) {
		t.Errorf("got %v, want refs.ErrNoBranch", err)
	}
	if _, err := branches.Open(ctx, datasettest.TableIn(store), "b"); !errors.Is(err, refs.ErrNoBranch) {
		t.Errorf("the branch of the deleted one: got %v, want refs.ErrNoBranch", err)
	}
}

// Making and deleting a branch is tried with a crash, a lost answer and an error at each
// request. The branch is there or not, and whole; trying again ends well.
func TestBranchesSurviveACrashAnywhere(t *testing.T) {
	ctx := context.Background()
	create := func(table *dataset.Table) error {
		_, err := branches.Create(ctx, table, "b", "a", 0)
		return err
	}
	remove := func(table *dataset.Table) error { return branches.Delete(ctx, table, "b") }
	prepare := func() objectstore.Store {
		store := memstore.New()
		datasettest.Create(t, datasettest.TableIn(store), 1, 2)
		datasettest.Branch(t, datasettest.TableIn(store), "a", "", 0)
		datasettest.Append(t, datasettest.TableIn(store), "a", 3)
		return store
	}
	made := func() objectstore.Store {
		store := prepare()
		datasettest.Branch(t, datasettest.TableIn(store), "b", "a", 0)
		datasettest.Append(t, datasettest.TableIn(store), "b", 4)
		return store
	}
	t.Run("create", func(t *testing.T) { branchCrashAnywhere(t, prepare, create, []int64{1, 2, 3}, nil, refs.ErrExists) })
	t.Run("delete", func(t *testing.T) { branchCrashAnywhere(t, made, remove, nil, []int64{1, 2, 3, 4}, refs.ErrNoBranch) })
}

// branchCrashAnywhere runs do on branch b with a fault at each request. Afterwards the branch holds
// the rows before or after; nil means no branch. A repeated do returns the error again.
func branchCrashAnywhere(t *testing.T, prepare func() objectstore.Store, do func(*dataset.Table) error, after, before []int64, again error) {
	look := func(store objectstore.Store) []int64 {
		branches, _, err := datasettest.TableIn(store).Refs().Branches(t.Context(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(slices.Collect(maps.Keys(branches)), "b") {
			return nil
		}
		return datasettest.IDsOf(t, datasettest.OnBranch(t, datasettest.TableIn(store), "b"), snapshot.ScanOptions{})
	}
	var reached atomic.Bool
	reached.Store(true)
	for n := 1; reached.Swap(false); n++ {
		for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("500")}} {
			inner := prepare()
			faulty := faultstore.New(inner, func(c faultstore.Call) faultstore.Fault {
				if c.N != n {
					return faultstore.Fault{}
				}
				reached.Store(true)
				return fault
			})
			err := do(datasettest.TableIn(faulty))
			at := fmt.Sprintf("request %d, %+v, answer %v", n, fault, err)
			got := look(inner)
			if !cmp.Equal(got, after) && !cmp.Equal(got, before) {
				t.Errorf("%s: the branch holds %v", at, got)
			}
			if err == nil && !cmp.Equal(got, after) {
				t.Errorf("%s: it said yes, but nothing has changed", at)
			}
			if errors.Is(err, again) {
				t.Errorf("%s: it takes itself for somebody else", at)
			}
			if err := do(datasettest.TableIn(inner)); err != nil && (!errors.Is(err, again) || !cmp.Equal(got, after)) {
				t.Errorf("%s: then %v", at, err)
			}
			if got := look(inner); !cmp.Equal(got, after) {
				t.Errorf("%s: after another try the branch holds %v", at, got)
			}
			// Leftovers do not prevent a new branch of the name.
			if after == nil {
				datasettest.Branch(t, datasettest.TableIn(inner), "b", "a", 0)
				if got := look(inner); !cmp.Equal(got, []int64{1, 2, 3}) {
					t.Errorf("%s: the branch made anew holds %v", at, got)
				}
			}
			datasettest.Append(t, datasettest.TableIn(inner), "b", 7)
		}
	}
}
