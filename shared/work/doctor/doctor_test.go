package doctor_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog/sweep"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/jobs/multipart"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/doctor"
)

// findings runs the doctor and returns what it finds, as kind and object.
func findings(t *testing.T, h *servicetest.House, fix bool) (found []string, fixed int) {
	t.Helper()
	err := doctor.Run(t.Context(), doctor.Options{Tables: h.Tables, Home: h.Objects, Fix: fix}, func(f doctor.Finding) {
		found = append(found, jobID.ReplaceAllString(f.Kind+" "+f.Object, "JOB"))
		if f.Mend == "" || f.Fixed && !f.Fixable {
			t.Errorf("%+v has no way out", f)
		}
		if f.Fixed {
			fixed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found, fixed
}

// a house with a table t of two versions, which is as it should be.
func sound(t *testing.T) *servicetest.House {
	t.Helper()
	h := servicetest.Open(t)
	h.Create(t, "t", `[{"id":1,"name":"a"}]`)
	h.Insert(t, "t", `[{"id":2,"name":"b"}]`)
	if got, _ := findings(t, h, true); len(got) > 0 {
		t.Fatalf("a sound root has %v", got)
	}
	return h
}

// keysOf returns the keys in the folder of the table t that contain a text.
func keysOf(t *testing.T, h *servicetest.House, part string) []string {
	t.Helper()
	var all []string
	for object, err := range objectstore.Objects(t.Context(), h.Objects, objectstore.ListOptions{Prefix: "t-", Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(object.Key, part) {
			all = append(all, object.Key)
		}
	}
	return all
}

func put(t *testing.T, h *servicetest.House, key, text string) {
	t.Helper()
	if _, err := h.Objects.Put(t.Context(), key, []byte(text), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, h *servicetest.House, keys ...string) {
	t.Helper()
	if len(keys) == 0 {
		t.Fatal("there is nothing to remove")
	}
	for _, key := range keys {
		if err := h.Objects.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

var jobID = regexp.MustCompile("[0-9a-f]{32}")

// begin begins a job and returns its id.
func begin(t *testing.T, h *servicetest.House) string {
	t.Helper()
	job, err := h.Transactions.BeginWork(t.Context(), tables.MaintainKind, []string{"t"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return job.ID
}

// die lets the workers of a job end with their processes until it is set aside.
func die(t *testing.T, h *servicetest.House, job string) {
	t.Helper()
	for range transaction.MaxDeaths {
		if _, _, err := h.Transactions.Take(t.Context(), transaction.Unit{Job: job}, rand.Text(), time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
	}
	if _, _, err := h.Transactions.Take(t.Context(), transaction.Unit{Job: job}, "last", time.Minute); !errors.Is(err, transaction.ErrEnded) {
		t.Fatalf("the job is not set aside: %v", err)
	}
}

// upload begins a multipart write of the table t.
func upload(t *testing.T, h *servicetest.House) string {
	t.Helper()
	begun, err := data.New(h.Tables, arrowipc.Limits{}).CreateMultipart(t.Context(), &dataapi.CreateMultipartWriteRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	return begun.UploadID
}

// part sends a row as a part of an upload.
func part(t *testing.T, h *servicetest.House, upload string) {
	t.Helper()
	_, err := data.New(h.Tables, arrowipc.Limits{}).Insert(t.Context(), &dataapi.InsertRequest{
		Common: servicetest.Named("t"), Upload: servicetest.Upload(t, `[{"id":7,"name":"x"}]`), UploadID: upload, UploadPartID: uuid.NewString(),
	})
	if err != nil {
		t.Fatal(err)
	}
}

const gone = "gone-0123456789abcdef01234567.lance"

// Each fault is planted in a sound root, found there, and mended if it can be.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		plant func(t *testing.T, h *servicetest.House)
		want  []string
		fixed bool // --fix mends it
	}{
		{"a record that is no JSON", func(t *testing.T, h *servicetest.House) { put(t, h, "_catalog/$/t/bad", "{") },
			[]string{"damaged-record _catalog/$/t/bad"}, false},
		{"a namespace that is no JSON", func(t *testing.T, h *servicetest.House) { put(t, h, "_catalog/$/n/bad", "{") },
			[]string{"damaged-record _catalog/$/n/bad"}, false},
		{"a record without a namespace", func(t *testing.T, h *servicetest.House) {
			put(t, h, "_catalog/$none/t/x", `{"id":["none","x"],"uid":"u","location":"t.lance","created_at":"2026-01-02T03:04:05Z"}`)
		}, []string{"orphan-record none"}, true},
		{"files of no table", func(t *testing.T, h *servicetest.House) { put(t, h, gone+"/data/x.lance", "x") },
			[]string{"orphan-folder " + gone}, true},
		{"files in a folder that no location names", func(t *testing.T, h *servicetest.House) {
			put(t, h, "a\nb-0123456789abcdef01234567.lance/data/x.lance", "x")
		}, []string{"unknown-folder a\nb-0123456789abcdef01234567.lance"}, false},
		{"a table of LanceDB", func(t *testing.T, h *servicetest.House) { put(t, h, "other.lance/data/x.lance", "x") },
			[]string{"unknown-folder other.lance"}, false},
		{"a folder of another program", func(t *testing.T, h *servicetest.House) { put(t, h, "photos/x.jpg", "x") }, nil, false},
		{"a deregistered table", func(t *testing.T, h *servicetest.House) {
			if _, err := h.Names.DeregisterTable(t.Context(), []string{"t"}); err != nil {
				t.Fatal(err)
			}
		}, nil, false},
		{"a dropped table whose time is over", func(t *testing.T, h *servicetest.House) {
			h.Names.Drops.Retention = time.Hour
			if _, err := h.Names.DropTable(t.Context(), []string{"t"}); err != nil {
				t.Fatal(err)
			}
		}, []string{"expired-drop t"}, true},
		{"all versions are gone", func(t *testing.T, h *servicetest.House) { remove(t, h, keysOf(t, h, "/_versions/")...) },
			[]string{"no-version t"}, false},
		{"a manifest is cut short", func(t *testing.T, h *servicetest.House) { put(t, h, keysOf(t, h, "/_versions/")[0], "LANC") },
			[]string{"unreadable-table t"}, false},
		{"an old manifest is cut short", func(t *testing.T, h *servicetest.House) { put(t, h, keysOf(t, h, "/_versions/")[1], "LANC") },
			[]string{"unreadable-version t"}, false},
		{"an index is behind", func(t *testing.T, h *servicetest.House) {
			makeIndex(t, h)
			h.Insert(t, "t", `[{"id":3,"name":"c"}]`)
		}, []string{"stale-index t"}, false},
		{"the files of an index are gone", func(t *testing.T, h *servicetest.House) {
			makeIndex(t, h)
			remove(t, h, keysOf(t, h, "/_indices/")...)
		}, []string{"damaged-index t"}, false},
		{"a job that no worker takes", func(t *testing.T, h *servicetest.House) { begin(t, h) },
			[]string{"stuck-job JOB of t"}, false},
		{"a job that is set aside", func(t *testing.T, h *servicetest.House) { die(t, h, begin(t, h)) },
			[]string{"set-aside-job JOB of t"}, false},
		{"a job that is paused", func(t *testing.T, h *servicetest.House) {
			_, err := h.Transactions.Advance(t.Context(), transaction.Unit{Job: begin(t, h)}, func(job *transaction.Transaction) { job.Work.Paused = true })
			if err != nil {
				t.Fatal(err)
			}
		}, nil, false},
		{"a job whose record is no JSON", func(t *testing.T, h *servicetest.House) {
			id := begin(t, h)
			for object, err := range objectstore.Objects(t.Context(), h.Objects, objectstore.ListOptions{Limit: 100}) {
				if err == nil && strings.Contains(object.Key, id) {
					put(t, h, object.Key, "{")
				}
			}
		}, []string{"damaged-job jobs"}, false},
		{"an upload that was given up", func(t *testing.T, h *servicetest.House) {
			part(t, h, upload(t, h))
			time.Sleep(10 * 24 * time.Hour)
			if _, err := record.Sweep(t.Context(), h.Records, time.Hour); err != nil {
				t.Fatal(err)
			}
		}, []string{"left-files t"}, true},
		{"entries of the log of events that are gone", func(t *testing.T, h *servicetest.House) {
			for _, position := range []uint64{1, 2, 5} {
				put(t, h, fmt.Sprintf("_events/log/%016x", math.MaxUint64-position), `{"batch":"b","key":"k","events":[{}]}`)
			}
		}, []string{"lost-events _events/"}, false},
		{"a log of events whose begin is no JSON", func(t *testing.T, h *servicetest.House) { put(t, h, "_events/start", "{") },
			[]string{"lost-events _events/"}, false},
		{"records that nobody deletes", func(t *testing.T, h *servicetest.House) {
			upload(t, h)
			time.Sleep(4 * 24 * time.Hour)
		}, []string{"expired-records records"}, true},
		{"a data file is gone", func(t *testing.T, h *servicetest.House) { remove(t, h, keysOf(t, h, "/data/")[0]) },
			[]string{"missing-file t"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := sound(t)
				test.plant(t, h)
				if got, _ := findings(t, h, false); strings.HasPrefix(test.name, "files of no") && len(got) > 0 {
					t.Errorf("young files are %v", got)
				}
				time.Sleep(sweep.MinFolderAge + time.Minute)
				before := content(t, h)
				if got, fixed := findings(t, h, false); !cmp.Equal(got, test.want) || fixed > 0 {
					t.Errorf("found %v, want %v", got, test.want)
				}
				if diff := cmp.Diff(before, content(t, h)); diff != "" {
					t.Errorf("the doctor changed, without --fix:\n%s", diff)
				}
				if got, fixed := findings(t, h, true); !cmp.Equal(got, test.want) || (fixed == len(got) && fixed > 0) != test.fixed {
					t.Errorf("found %v and mended %d, want %v", got, fixed, test.want)
				}
				if test.fixed {
					test.want = nil
				}
				if got, _ := findings(t, h, false); !cmp.Equal(got, test.want) {
					t.Errorf("afterwards there are %v, want %v", got, test.want)
				}
			})
		})
	}
}

// The process of --fix ends at each of its writes in turn. What is left is sound but for the faults, and another
// --fix mends them.
func TestFixThatCrashesLeavesASoundRoot(t *testing.T) {
	plants := map[string]func(t *testing.T, h *servicetest.House){
		"records": func(t *testing.T, h *servicetest.House) {
			upload(t, h)
			upload(t, h)
		},
		"files": func(t *testing.T, h *servicetest.House) { part(t, h, upload(t, h)) },
		"a folder and a drop": func(t *testing.T, h *servicetest.House) {
			put(t, h, gone+"/data/x.lance", "x")
			put(t, h, gone+"/data/y.lance", "y")
			h.Create(t, "dropped", `[{"id":1,"name":"a"}]`)
			h.Names.Drops.Retention = time.Hour
			if _, err := h.Names.DropTable(t.Context(), []string{"dropped"}); err != nil {
				t.Fatal(err)
			}
		},
		"an orphan": func(t *testing.T, h *servicetest.House) {
			put(t, h, "_catalog/$none/t/x", `{"id":["none","x"],"uid":"u","location":"t.lance","created_at":"2026-01-02T03:04:05Z"}`)
		},
	}
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for crash, crashed := 1, true; crashed; crash++ {
					h := sound(t)
					want := h.Rows(t, "t")
					plant(t, h)
					time.Sleep(10 * 24 * time.Hour)
					writes := 0
					broken := servicetest.Over(t, faultstore.New(h.Objects, func(c faultstore.Call) faultstore.Fault {
						if c.Kind == faultstore.Put || c.Kind == faultstore.Delete {
							writes++
						}
						return faultstore.Fault{Crash: writes == crash}
					}))
					_ = doctor.Run(t.Context(), doctor.Options{Tables: broken.Tables, Fix: true}, func(doctor.Finding) {})
					crashed = writes >= crash
					time.Sleep(time.Hour)
					h = servicetest.Over(t, h.Objects)
					findings(t, h, true)
					if left, _ := findings(t, h, false); len(left) > 0 || h.Rows(t, "t") != want {
						t.Fatalf("after a crash at write %d there are %v, and the rows %s", crash, left, h.Rows(t, "t"))
					}
				}
			})
		})
	}
}

// An upload whose client asked no more while it was committed stays unsure until its record ends.
func TestUploadOfUnknownOutcomeIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := sound(t)
		id := upload(t, h)
		part(t, h, id)
		found, err := h.Names.Table(t.Context(), []string{"t"})
		if err != nil {
			t.Fatal(err)
		}
		up, err := h.Uploads.Find(t.Context(), id, multipart.Target{Table: found.UID})
		if err == nil {
			if up, err = h.Uploads.Close(t.Context(), up); err == nil {
				_, err = h.Uploads.Fix(t.Context(), up, multipart.Contents{Rows: 1}, 2)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := findings(t, h, false); len(got) > 0 {
			t.Errorf("found %v while it may be completed", got)
		}
		time.Sleep(time.Hour)
		if got, _ := findings(t, h, true); !cmp.Equal(got, []string{"unsure-upload JOB"}) {
			t.Errorf("found %v", got)
		}
	})
}

func makeIndex(t *testing.T, h *servicetest.House) {
	t.Helper()
	found, err := h.Names.Table(t.Context(), []string{"t"})
	if err == nil {
		_, err = indices.Create(t.Context(), h.At(found), indexbuild.Index{Name: "id_idx", Column: "id", Kind: indexmeta.BTree})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, h *servicetest.House) map[string]string {
	t.Helper()
	all := map[string]string{}
	for object, err := range objectstore.Objects(t.Context(), h.Objects, objectstore.ListOptions{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		all[object.Key] = object.ETag
	}
	return all
}

// A branch has files of its table by their full address, at which they are no longer when the root is
// at another place.
func TestFilesThatAMovedRootHasLeftAreFound(t *testing.T) {
	h := sound(t)
	found, err := h.Tables.Names.Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := branches.Create(t.Context(), h.Tables.At(found).Data(), "dev", "", 0); err != nil {
		t.Fatal(err)
	}
	if got, _ := findings(t, h, false); len(got) > 0 {
		t.Errorf("a sound branch has %v", got)
	}
	former := found.Location.URI[:len(found.Location.URI)-len(found.Location.Prefix)-1]
	for _, c := range []struct {
		places []string
		want   string // part of the mend
	}{
		{[]string{"memory://moved"}, "give the place to --allow-location"},
		{[]string{"memory://moved", former}, "jobs leave it out"},
	} {
		var roots []objectstore.Root
		for _, place := range c.places {
			roots = append(roots, objectstore.Root{URI: place, Store: h.Objects})
		}
		objects, err := objectstore.NewRoots(roots...)
		if err != nil {
			t.Fatal(err)
		}
		moved := tables.Open(tables.Stores{Objects: objects, Records: h.Records, Now: h.Now, Logger: slog.New(slog.DiscardHandler)})
		var got []doctor.Finding
		if err := doctor.Run(t.Context(), doctor.Options{Tables: moved}, func(f doctor.Finding) { got = append(got, f) }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Kind != doctor.OutOfReach || got[0].Object != "t, branch dev" || !strings.Contains(got[0].Mend, c.want) {
			t.Errorf("at %v: got %+v, want what says %q", c.places, got, c.want)
		}
	}
}

// keepingParts is a store whose server has parts of so many objects.
type keepingParts struct {
	objectstore.Store
	count  int
	err    error
	before time.Time
}

func (k *keepingParts) Unfinished(_ context.Context, before time.Time) (int, string, error) {
	k.before = before
	return k.count, "data/a", k.err
}

func (k *keepingParts) AbortUnfinished(context.Context, time.Time) (int, error) {
	aborted := k.count
	k.count = 0
	return aborted, k.err
}

// Parts that a server has of objects are found when they are a day old, and deleted. A bucket that does not tell is
// a finding and no failure.
func TestPartsOfObjects(t *testing.T) {
	h := sound(t)
	server := &keepingParts{Store: h.Objects}
	look := func(fix bool) (found []doctor.Finding) {
		t.Helper()
		options := doctor.Options{Tables: h.Tables, Home: objectstore.Counting(server), Fix: fix}
		if err := doctor.Run(t.Context(), options, func(f doctor.Finding) { found = append(found, f) }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := look(true); len(found) > 0 {
		t.Errorf("got %+v, want nothing", found)
	}
	server.count = 3
	if found := look(false); len(found) != 1 || found[0].Kind != doctor.LeftParts || !found[0].Fixable || found[0].Fixed || server.count != 3 {
		t.Errorf("got %+v, and %d are left", found, server.count)
	}
	if age := h.Now().Sub(server.before); age < 24*time.Hour {
		t.Errorf("parts of the last %v are taken for left ones", age)
	}
	if found := look(true); len(found) != 1 || !found[0].Fixed || server.count != 0 {
		t.Errorf("got %+v, and %d are left", found, server.count)
	}
	server.err = errors.New("denied")
	if found := look(true); len(found) != 1 || found[0].Fixable || !strings.Contains(found[0].Reason, "denied") {
		t.Errorf("got %+v, want what went wrong", found)
	}
}
