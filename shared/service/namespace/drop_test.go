package namespace_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/service/namespace"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/work/dropping"
)

// house is the service over a namespace "n" that holds some tables, and a worker.
type house struct {
	*namespace.Service
	names  *catalog.Catalog
	worker *jobs.Worker
	runs   int
}

func open(t *testing.T, tables int) *house {
	t.Helper()
	objects := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{names: catalog.Open(roots, time.Now)}
	starter := jobs.NewStarter(transaction.Open(objectrecord.Open(objects, time.Now), time.Now), new(memqueue.Queue))
	h.Service = namespace.New(h.names, starter)
	h.worker = &jobs.Worker{
		Starter: *starter, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Name:  func() string { h.runs++; return fmt.Sprint("run ", h.runs) },
		Kinds: map[string]jobs.Kind{dropping.Kind: dropping.Drop(h.names)},
	}
	if _, err := h.names.Namespaces.Create(t.Context(), []string{"n"}, map[string]string{"k": "v"}, namespaces.FailIfExists); err != nil {
		t.Fatal(err)
	}
	for i := range tables {
		if err := h.createTable(t, fmt.Sprint("t", i)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *house) createTable(t *testing.T, name string) error {
	id := []string{"n", name}
	_, err := h.names.CreateTable(t.Context(), id, h.names.Places.New(id), 0, nil)
	return err
}

func (h *house) cascade(t *testing.T) *namespaceapi.DropResponse {
	t.Helper()
	answer, err := h.Drop(t.Context(), &namespaceapi.DropRequest{
		Common: protocol.Common{ID: []string{"n"}}, Behavior: namespaceapi.DropBehaviorCascade,
	})
	if err != nil || answer.Properties["k"] != "v" {
		t.Fatalf("got %+v, %v; want the properties", answer, err)
	}
	return answer
}

func (h *house) work(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	h.worker.Serve(ctx, 1)
}

func (h *house) status(t *testing.T, id string) transactionapi.Status {
	t.Helper()
	got, err := h.worker.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil {
		t.Fatal(err)
	}
	return got.Status
}

func (h *house) exists(t *testing.T) bool {
	t.Helper()
	_, err := h.names.Namespaces.Get(t.Context(), []string{"n"})
	if err != nil && protocol.CodeOf(err) != protocol.NamespaceNotFound {
		t.Fatal(err)
	}
	return err == nil
}

func TestCascadeThatIsSmallIsDoneWithTheAnswer(t *testing.T) {
	h := open(t, 16)
	if answer := h.cascade(t); answer.TransactionID != nil || h.exists(t) {
		t.Errorf("the answer names %v, and the namespace is there: %v", answer.TransactionID, h.exists(t))
	}
}

func TestCascadeThatIsLargeIsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, 100)
		answer := h.cascade(t)
		if len(answer.TransactionID) != 1 || !h.exists(t) {
			t.Fatalf("the answer names %v, and the namespace is there: %v", answer.TransactionID, h.exists(t))
		}
		if err := h.createTable(t, "late"); protocol.CodeOf(err) != protocol.ConcurrentModification {
			t.Errorf("create in it: got %v, want ConcurrentModification", err)
		}
		h.work(t)
		if got := h.status(t, answer.TransactionID[0]); got != transactionapi.Succeeded || h.exists(t) {
			t.Errorf("the job is %v, and the namespace is there: %v", got, h.exists(t))
		}
	})
}

func TestCascadeThatIsCanceledLeavesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, 100)
		id := h.cascade(t).TransactionID[0]
		_, err := h.worker.Transactions.Advance(t.Context(), transaction.Unit{Job: id}, func(t *transaction.Transaction) { t.Status = transactionapi.Canceled })
		if err != nil {
			t.Fatal(err)
		}
		h.work(t)
		if got := h.status(t, id); got != transactionapi.Canceled || !h.exists(t) {
			t.Errorf("the job is %v, and the namespace is there: %v", got, h.exists(t))
		}
		if err := h.createTable(t, "late"); err != nil { // the mark has run out
			t.Errorf("create in it: %v", err)
		}
	})
}
