package udfregister_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/expression"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/transactionapi"
	functionservice "tiltyard/shared/service/function"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/udfcall"
	"tiltyard/shared/work/udfregister"
)

// A process is a server and a worker over one storage. Its function is f.
type process struct {
	tables.Tables
	service *functionservice.Service
	worker  *jobs.Worker
	names   int
}

func open(t *testing.T, objects objectstore.Store) *process {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Tables: tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, Queue: new(memqueue.Queue),
	})}
	p.service = functionservice.New(p.Tables)
	p.worker = &jobs.Worker{
		Starter: *p.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Memory: memory.NewBudget(1<<30, 1<<30),
		Name:  func() string { p.names++; return fmt.Sprintf("%p-%d", p, p.names) },
		Kinds: map[string]jobs.Kind{udfregister.Kind: udfregister.Create(udfcall.Directory{Names: p.Names, Runtimes: udf.Runtimes{"sql": expression.Runtime{}}})},
	}
	return p
}

var named = protocol.Common{ID: []string{"f"}}

// begin asks for a version with a code, and returns the job.
func (p *process) begin(ctx context.Context, code string) (string, error) {
	text := fmt.Sprintf(`{
		"artifact": {"kind": "sql_expression", "digest": %q, "content": {"encoding": "base64", "data": %q}},
		"signature": {"inputs": [{"name": "n", "arrow_type": "int64", "nullable": true}], "output": {"kind": "scalar", "arrow_type": "int64", "nullable": false}},
		"runtime": {"kind": "sql"}
	}`, functionapi.DigestOf([]byte(code)), base64.StdEncoding.EncodeToString([]byte(code)))
	req := &functionapi.CreateRequest{Common: named}
	if err := errors.Join(json.Unmarshal([]byte(text), req), req.Validate()); err != nil {
		return "", err
	}
	begun, err := p.service.Create(ctx, req)
	if err != nil {
		return "", err
	}
	return begun.JobID, nil
}

// drop drops the function with all versions.
func (p *process) drop(ctx context.Context) error {
	_, err := p.service.Drop(ctx, &functionapi.Request{Common: named, Version: "1"})
	return err
}

// serve does what messages ask for until there are none for a while, or the process dies.
func (p *process) serve(t *testing.T) {
	for {
		ctx, done := context.WithTimeout(t.Context(), 10*time.Minute)
		d, err := p.worker.Queue.Receive(ctx, time.Minute)
		done()
		if err != nil || p.worker.Do(t.Context(), d.Message) != nil {
			return
		}
		_ = p.worker.Queue.Done(t.Context(), d)
	}
}

// codes returns the codes of the versions, each of which was proved and has its artifact, and the keys of
// these.
func (p *process) codes(t *testing.T) (codes, artifacts []string) {
	t.Helper()
	record, err := p.Names.Functions.Get(t.Context(), named.ID)
	if functions.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range record.Versions {
		described, err := p.service.Describe(t.Context(), &functionapi.Request{Common: named, Version: fmt.Sprint(i + 1)})
		if err != nil || described.Disabled || described.ObjectID != record.UID {
			t.Fatalf("version %d is described as %+v, %v", i+1, described, err)
		}
		content, _, err := p.Names.Functions.Artifact(t.Context(), v.Artifact, described.Image.Descriptor.Artifact.Digest)
		if err != nil {
			t.Fatalf("version %d: %v", i+1, err)
		}
		codes, artifacts = append(codes, string(content)), append(artifacts, v.Artifact)
	}
	return codes, artifacts
}

// stored returns the keys of all artifacts.
func stored(t *testing.T, store objectstore.Store) (keys []string) {
	t.Helper()
	for object, err := range objectstore.Objects(t.Context(), store, objectstore.ListOptions{Prefix: "_functions/"}) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

var faults = []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("the store is busy")}, {Err: objectstore.ErrUnknownOutcome}}

// A change is one of the versions of the function.
type change struct {
	name         string
	before, want []string // codes
	code         string   // of the version to make; "" drops the function
}

var changes = []change{
	{"make the function", nil, []string{"n + 1"}, "n + 1"},
	{"make another version", []string{"n + 1"}, []string{"n + 1", "n * 2"}, "n * 2"},
	{"make a version that is there", []string{"n + 1", "n * 2"}, []string{"n + 1", "n * 2"}, "n + 1"},
	{"drop the function", []string{"n + 1", "n * 2"}, nil, ""},
}

// A server and a worker that die at any request, or get no answer, leave the versions as they were or as they
// shall be. Other processes end the job, the client may send its request again, and in the end a sweep leaves
// the artifacts of the versions and no others.
func TestChangesOfFunctionsSurviveACrashAnywhere(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			for _, fault := range faults {
				for n, more := 1, true; more && !t.Failed(); n++ {
					synctest.Test(t, func(t *testing.T) { more = c.crash(t, fault, n) })
					if more {
						requests++
					}
					if t.Failed() {
						t.Logf("request %d of %+v", n, fault)
					}
				}
			}
			if requests < 3*len(faults) {
				t.Errorf("%d requests had a fault, want more", requests)
			}
			t.Log(requests, "requests had a fault")
		})
	}
}

// crash makes a change by a process that meets a fault at its n-th request, and reports whether it did.
func (c change) crash(t *testing.T, fault faultstore.Fault, n int) bool {
	var met atomic.Bool // by a read that may go on beside the test
	inner := memstore.New()
	sound := open(t, inner)
	for _, code := range c.before {
		if _, err := sound.begin(t.Context(), code); err != nil {
			t.Fatal(err)
		}
		sound.serve(t)
	}
	dying := open(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.N != n {
			return faultstore.Fault{}
		}
		met.Store(true)
		return fault
	}))
	dying.Jobs.Queue, dying.worker.Queue = sound.Jobs.Queue, sound.Jobs.Queue
	var jobs []string
	do := func(p *process) error {
		if c.code == "" {
			return p.drop(t.Context())
		}
		id, err := p.begin(t.Context(), c.code)
		if err == nil {
			jobs = append(jobs, id)
			p.serve(t)
		}
		return err
	}
	first := do(dying)
	if got, _ := open(t, inner).codes(t); !slices.Equal(got, c.before) && !slices.Equal(got, c.want) {
		t.Errorf("afterwards the versions are %q, want %q or %q", got, c.before, c.want)
	} else if c.code == "" && first == nil && len(got) > 0 {
		t.Errorf("the function is dropped, and has the versions %q", got)
	}
	sound.serve(t)
	time.Sleep(time.Hour) // messages of the dead are lost
	if _, err := sound.worker.ReviveAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	sound.serve(t)
	if got, _ := open(t, inner).codes(t); len(jobs) > 0 && !slices.Equal(got, c.want) {
		t.Errorf("when the job has ended the versions are %q, want %q", got, c.want)
	}
	if err := do(sound); err != nil {
		t.Errorf("the request again: %v", err)
	}
	c.ended(t, sound, jobs)
	got, artifacts := open(t, inner).codes(t)
	if !slices.Equal(got, c.want) {
		t.Errorf("in the end the versions are %q, want %q", got, c.want)
	}
	sweep(t, inner, artifacts)
	return met.Load()
}

// ended checks that the jobs have made the version.
func (c change) ended(t *testing.T, p *process, jobs []string) {
	t.Helper()
	for _, id := range jobs {
		done, err := p.Transactions.Job(t.Context(), transaction.Unit{Job: id})
		var told functionapi.Version
		if err != nil || done.Status != transactionapi.Succeeded || json.Unmarshal(done.Result, &told) != nil {
			t.Errorf("the job is %s: %s %s, %v", done.Status, done.Failure, done.Result, err)
			continue
		}
		if at := functionapi.VersionNumber(told.Version); at < 1 || at > len(c.want) || c.want[at-1] != c.code {
			t.Errorf("the job has made version %s, want that of %q among %q", told.Version, c.code, c.want)
		}
	}
}

// sweep checks that a sweep leaves what is young, and then no artifacts but those of versions.
func sweep(t *testing.T, store objectstore.Store, artifacts []string) {
	t.Helper()
	p := open(t, store)
	time.Sleep(2 * objects.MinSweepAge)
	if _, err := p.Names.Sweeper.Sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	slices.Sort(artifacts)
	if got := stored(t, store); !slices.Equal(got, artifacts) {
		t.Errorf("after a sweep there are %q, want %q", got, artifacts)
	}
	if deleted, err := p.Names.Sweeper.Sweep(t.Context(), 0); err != nil || deleted != 0 {
		t.Errorf("another sweep takes %d objects, %v", deleted, err)
	}
}

// A sweep that dies at any request has taken nothing that a version names, and another one takes the rest.
func TestSweepOfArtifactsSurvivesACrashAnywhere(t *testing.T) {
	for _, fault := range faults {
		for n, more := 1, true; more && !t.Failed(); n++ {
			synctest.Test(t, func(t *testing.T) {
				inner := memstore.New()
				p := open(t, inner)
				for _, code := range []string{"n + 1", "n + 1", "n * 2", "n +"} { // the last two requests leave garbage
					if _, err := p.begin(t.Context(), code); err != nil {
						t.Fatal(err)
					}
					p.serve(t)
				}
				time.Sleep(2 * objects.MinSweepAge)
				codes, artifacts := p.codes(t)
				if all := stored(t, inner); len(codes) != 2 || len(all) != 4 {
					t.Fatalf("there are the versions %q and the artifacts %q", codes, all)
				}
				more = false
				dying := open(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
					if call.N != n {
						return faultstore.Fault{}
					}
					more = true
					return fault
				}))
				_, _ = dying.Names.Sweeper.Sweep(t.Context(), 0)
				if got, _ := open(t, inner).codes(t); !slices.Equal(got, codes) {
					t.Errorf("request %d of %+v: the versions are %q, want %q", n, fault, got, codes)
				}
				sweep(t, inner, artifacts)
			})
		}
	}
}

// Code that the runtime refuses makes no version, and the job says why.
func TestCodeThatIsRefusedMakesNoVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, memstore.New())
		id, err := p.begin(t.Context(), "n +")
		if err != nil {
			t.Fatal(err)
		}
		p.serve(t)
		done, err := p.Transactions.Job(t.Context(), transaction.Unit{Job: id})
		if err != nil || done.Status != transactionapi.Failed || !strings.Contains(done.Failure, "n +") && !strings.Contains(done.Failure, "expression") {
			t.Errorf("the job is %s: %s, %v", done.Status, done.Failure, err)
		}
		if codes, _ := p.codes(t); codes != nil {
			t.Errorf("there are the versions %q", codes)
		}
	})
}
