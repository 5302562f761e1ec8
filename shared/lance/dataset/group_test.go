package dataset_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A gate holds back the puts of manifests.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil: open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.closed)
	g.closed = nil
}

func (g *gate) hold(call faultstore.Call) func(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	closed := g.closed
	if closed == nil || !isManifestPut(call) {
		return nil
	}
	return func(context.Context) error {
		<-closed
		return nil
	}
}

func isManifestPut(call faultstore.Call) bool {
	return call.Kind == faultstore.PutIfAbsent && strings.Contains(call.Key, "/"+manifest.VersionsDir+"/")
}

// A crowd appends to one table while the first of the appends is held back.
type crowd struct {
	t     *testing.T
	store *faultstore.Store
	gate  gate
	table *dataset.Table
	wait  sync.WaitGroup
	mu    sync.Mutex
	made  map[int64]uint64 // by id: the version
	errs  map[int64]error
}

// newCrowd makes a table with the row 0. fault decides on calls that passed the gate.
func newCrowd(t *testing.T, fault func(faultstore.Call) faultstore.Fault) *crowd {
	c := &crowd{t: t, made: map[int64]uint64{}, errs: map[int64]error{}}
	c.store = faultstore.New(memstore.New(), func(call faultstore.Call) faultstore.Fault {
		var f faultstore.Fault
		if fault != nil {
			f = fault(call)
		}
		f.Wait = c.gate.hold(call)
		return f
	})
	c.table = datasettest.TableIn(c.store)
	datasettest.Create(t, c.table, 0)
	return c
}

// append appends one row; it waits until all that can happen now has happened.
func (c *crowd) append(ctx context.Context, id int64) {
	c.wait.Go(func() {
		made, err := c.table.Append(ctx, datasettest.RowsOf(id))
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.errs[id] = err; err == nil {
			c.made[id] = made.Dataset.Version()
		}
	})
	synctest.Wait()
}

func (c *crowd) rows() []int64 {
	latest, err := datasettest.TableIn(c.store).Latest(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	return datasettest.IDsOf(c.t, latest, snapshot.ScanOptions{})
}

func (c *crowd) check(made map[int64]uint64, rows ...int64) {
	c.t.Helper()
	if diff := cmp.Diff(made, c.made); diff != "" {
		c.t.Errorf("versions by row (-want +got):\n%s\nerrors: %v", diff, c.errs)
	}
	got := c.rows()
	slices.Sort(got)
	if diff := cmp.Diff(rows, got); diff != "" {
		c.t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestAppendsThatWaitAreOneVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		c.gate.close()
		for id := range int64(5) {
			c.append(t.Context(), id+1)
		}
		c.gate.open()
		c.wait.Wait()
		c.check(map[int64]uint64{1: 2, 2: 3, 3: 3, 4: 3, 5: 3}, 0, 1, 2, 3, 4, 5)

		third, err := datasettest.TableIn(c.store).Version(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		txn, err := third.Transaction(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		joined := strings.Fields(txn.Properties[dataset.JoinedProperty])
		if n := len(txn.Operation.(*pb.Append).Fragments); n != 4 || len(joined) != 4 || joined[0] != txn.UUID || txn.ReadVersion != 2 {
			t.Errorf("transaction has %d fragments, joins %v, is %s and read %d; want 4 of each, it the first, after 2", n, joined, txn.UUID, txn.ReadVersion)
		}
		if third.TransactionUUID() != txn.UUID {
			t.Errorf("the version tells of transaction %s, want %s", third.TransactionUUID(), txn.UUID)
		}
	})
}

// A single writer makes no more requests than without groups.
func TestLoneAppendWritesThreeFiles(t *testing.T) {
	store := faultstore.New(memstore.New(), nil)
	table := datasettest.TableIn(store)
	datasettest.Create(t, table, 0)
	store.Reset()
	if _, err := table.Append(t.Context(), datasettest.RowsOf(1)); err != nil {
		t.Fatal(err)
	}
	if n := store.Snapshot().ByKind; n[faultstore.Put] != 2 || n[faultstore.PutIfAbsent] != 1 {
		t.Errorf("got %v, want 3 puts: data, transaction, manifest", n)
	}
}

func TestGroupMemberThatGoesAwayIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		c.gate.close()
		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		c.append(first, 1)
		c.append(second, 2)
		c.append(t.Context(), 3)
		leaveFirst() // its put is on its way: its outcome must be learnt
		leaveSecond()
		synctest.Wait()
		if err := c.errs[2]; !errors.Is(err, context.Canceled) {
			t.Errorf("who left while waiting: got %v, want it cancelled at once", err)
		}
		c.gate.open()
		c.wait.Wait()
		c.check(map[int64]uint64{1: 2, 3: 3}, 0, 1, 3)
	})
}

// The leader commits for the others even after its own context has ended.
func TestLeaderThatGoesAwayStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		c.gate.close()
		c.append(t.Context(), 1)
		leader, leave := context.WithCancel(t.Context())
		c.append(leader, 2)
		c.append(t.Context(), 3)
		c.gate.open()
		c.gate.close()
		synctest.Wait() // 1 is made, 2 or 3 leads and is held back
		leave()
		c.gate.open()
		c.wait.Wait()
		c.check(map[int64]uint64{1: 2, 2: 3, 3: 3}, 0, 1, 2, 3)
	})
}

func TestGroupMemberThatConflictsFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		c.gate.close()
		c.wait.Go(func() {
			if _, err := c.table.Overwrite(t.Context(), datasettest.RowsOf(7), nil); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		c.append(t.Context(), 1)
		c.append(t.Context(), 2)
		c.gate.open()
		c.wait.Wait()
		for id := range c.errs {
			if !errors.Is(c.errs[id], dataset.ErrConflict) {
				t.Errorf("append of %d after an overwrite: got %v, want a conflict", id, c.errs[id])
			}
		}
		c.append(t.Context(), 3)
		c.wait.Wait()
		c.check(map[int64]uint64{3: 3}, 3, 7)
	})
}

// All members of a group get the outcome of its put.
func TestGroupMembersGetTheOutcomeOfThePut(t *testing.T) {
	broken := errors.New("500")
	for _, test := range []struct {
		name  string
		fault faultstore.Fault
		all   bool // the answers of all tries are lost
		want  error
		rows  []int64
	}{
		{"its answer is lost", faultstore.Fault{Lost: true}, false, nil, []int64{0, 1, 2, 3}},
		{"it failed", faultstore.Fault{Err: broken}, false, broken, []int64{0, 1}},
		{"nobody knows", faultstore.Fault{Err: objectstore.ErrUnknownOutcome}, true, objectstore.ErrUnknownOutcome, []int64{0, 1}},
		{"nobody knows at first", faultstore.Fault{Err: objectstore.ErrUnknownOutcome}, false, nil, []int64{0, 1, 2, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				puts := 0
				c := newCrowd(t, func(call faultstore.Call) faultstore.Fault {
					if !isManifestPut(call) {
						return faultstore.Fault{}
					}
					if puts++; puts == 3 || puts > 3 && test.all {
						return test.fault
					}
					return faultstore.Fault{}
				})
				c.gate.close()
				for id := range int64(3) {
					c.append(t.Context(), id+1)
				}
				c.gate.open()
				c.wait.Wait()
				for _, id := range []int64{2, 3} {
					if err := c.errs[id]; !errors.Is(err, test.want) {
						t.Errorf("append of %d: got %v, want %v", id, err, test.want)
					}
				}
				got := c.rows()
				slices.Sort(got)
				if diff := cmp.Diff(test.rows, got); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Another process commits while appends wait: they come after it, each once.
func TestJoinedAppendsComeAfterOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		other := datasettest.TableIn(c.store)
		c.gate.close()
		c.append(t.Context(), 1)
		c.append(t.Context(), 2)
		c.append(t.Context(), 3)
		held := c.gate.closed
		c.gate.mu.Lock()
		c.gate.closed = nil // on behalf of the other process
		c.gate.mu.Unlock()
		for id := range int64(2) {
			if _, err := other.Append(t.Context(), datasettest.RowsOf(100+id)); err != nil {
				t.Fatal(err)
			}
		}
		close(held)
		c.wait.Wait()
		c.check(map[int64]uint64{1: 4, 2: 5, 3: 5}, 0, 1, 2, 3, 100, 101)
	})
}

func TestHoldKeepsOtherCommitsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		held, release, err := c.table.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.append(t.Context(), 1)
		c.append(t.Context(), 2)
		for want := uint64(2); want < 4; want++ {
			latest, err := held.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			made, err := latest.Replace(t.Context(), dataset.Replacement{Insert: datasettest.RowsOf(10 * int64(want))})
			if err != nil || made.Dataset.Version() != want {
				t.Fatalf("got %+v, %v; want version %d", made, err, want)
			}
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		c.wait.Go(func() {
			if _, _, err := c.table.Hold(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("who goes away while he waits for the table: got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		release()
		release() // once more is nothing
		c.wait.Wait()
		c.check(map[int64]uint64{1: 4, 2: 4}, 0, 1, 2, 20, 30)
		if c.table.Committers() > 0 {
			t.Errorf("%d tables are still being committed to", c.table.Committers())
		}
	})
}

// Transactions record who requested the commit, including all joined appends.
func TestTransactionsNameWhoAskedForThem(t *testing.T) {
	type asker struct{}
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		c.table.Session().Author = func(ctx context.Context) string {
			name, _ := ctx.Value(asker{}).(string)
			return name
		}
		as := func(name string) context.Context { return context.WithValue(t.Context(), asker{}, name) }
		c.gate.close()
		c.append(as("ada"), 1)
		for id, name := range []string{"ada", "eve", "", "two\nlines", strings.Repeat("x", dataset.MaxAuthorBytes+1), "eve"} {
			c.append(as(name), int64(id)+2)
		}
		c.gate.open()
		c.wait.Wait()
		for version, want := range map[uint64][]string{1: nil, 2: {"ada"}, 3: {"ada", "eve"}} {
			d, err := datasettest.TableIn(c.store).Version(t.Context(), version)
			if err != nil {
				t.Fatal(err)
			}
			txn, err := d.Transaction(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := dataset.Authors(txn); !slices.Equal(got, want) {
				t.Errorf("version %d is of %q, want %q", version, got, want)
			}
		}
	})
}

// Malformed recorded names are ignored.
func TestAuthorsAreBounded(t *testing.T) {
	many := strings.Repeat("a\n", 100) + "\x1b[2J\n" + strings.Repeat("b", dataset.MaxAuthorBytes+1)
	txn := &pb.Transaction{Properties: map[string]string{dataset.AuthorsProperty: "\x07\n" + many}}
	if got := dataset.Authors(txn); len(got) != dataset.MaxAuthors || got[0] != "a" {
		t.Errorf("got %q", got)
	}
	if got := dataset.Signed(nil); got != nil {
		t.Errorf("got %v for nobody", got)
	}
}
