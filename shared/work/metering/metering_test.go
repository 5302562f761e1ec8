package metering

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// metered is a deployment whose clock the test sets.
type metered struct {
	t       *testing.T
	at      time.Time
	on      tables.Tables
	records *failing
}

// failing is a store of records in which one key cannot be written while it is set.
type failing struct {
	record.Store
	key string
}

func (f *failing) Put(ctx context.Context, r record.Record) (string, error) {
	if r.Key == f.key {
		return "", errors.New("the process was killed")
	}
	return f.Store.Put(ctx, r)
}

func newMetered(t *testing.T) *metered {
	m := &metered{t: t, at: time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)}
	now := func() time.Time { return m.at }
	objects := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	m.records = &failing{Store: objectrecord.Open(objects, now)}
	m.on = tables.Open(tables.Stores{Objects: roots, Records: m.records, Now: now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue), Metered: true})
	return m
}

func (m *metered) fold() result {
	m.t.Helper()
	done, err := folder{m.on}.fold(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return done
}

// rows returns the rows of the table in order: hour, tenant, namespace, kind, requests, compute_ms, written_rows.
func (m *metered) rows() []string {
	m.t.Helper()
	return m.cells("hour", "tenant", "namespace", "kind", "requests", "compute_ms", "written_rows")
}

// cells returns some columns of the rows in order, the first of which is the hour.
func (m *metered) cells(columns ...string) []string {
	m.t.Helper()
	found, err := m.on.Names.Table(m.t.Context(), id())
	if protocol.HasCode(err, protocol.TableNotFound, protocol.NamespaceNotFound) {
		return nil
	}
	if err != nil {
		m.t.Fatal(err)
	}
	var rows []string
	err = engine.Do(m.t.Context(), m.on.At(found), nil, func(ctx context.Context, d *dataset.Dataset) error {
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: columns})
		if err != nil {
			return err
		}
		for batch, err := range batches {
			if err != nil {
				return err
			}
			for i := range int(batch.NumRows()) {
				cells := []string{batch.Column(0).(*array.Timestamp).ValueStr(i)[11:13]}
				for _, c := range batch.Columns()[1:] {
					cells = append(cells, c.ValueStr(i))
				}
				rows = append(rows, strings.Join(cells, " "))
			}
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}

func (m *metered) want(rows ...string) {
	m.t.Helper()
	if got := m.rows(); !slices.Equal(got, rows) {
		m.t.Errorf("got  %q\nwant %q", got, rows)
	}
}

func (m *metered) process(name string) *usage.Meter {
	return usage.Open(m.records, func() time.Time { return m.at }, name)
}

func (m *metered) flush(meters ...*usage.Meter) {
	m.t.Helper()
	for _, meter := range meters {
		if err := meter.Flush(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
	}
}

var acme, bolt = usage.Key{Tenant: "acme", Namespace: "sales", Kind: "data"}, usage.Key{Tenant: "bolt", Kind: "query"}

func TestHoursAreFoldedOnceTheyHaveEnded(t *testing.T) {
	m := newMetered(t)
	one, other := m.process("one"), m.process("other")
	one.Add(acme, usage.Counts{Requests: 1, ComputeMicros: 1500, WrittenRows: 7})
	other.Add(acme, usage.Counts{Requests: 2, ComputeMicros: 200})
	other.Add(bolt, usage.Counts{Requests: 3})
	m.flush(one, other)
	m.fold()
	m.want()
	m.at = m.at.Add(time.Hour)
	one.Add(acme, usage.Counts{Requests: 100})
	m.flush(one)
	if done := m.fold(); done != (result{Hours: 1, Rows: 2}) {
		t.Errorf("got %+v", done)
	}
	first := []string{"12 acme sales data 3 2 7", "12 bolt  query 3 0 0"}
	m.want(first...)
	if done := m.fold(); done != (result{}) {
		t.Errorf("folded again: %+v", done)
	}
	m.at = m.at.Add(time.Hour)
	m.fold()
	m.want(append(first, "13 acme sales data 100 0 0")...)
}

// A job that is killed after its commit repeats it without effect.
func TestAJobThatIsKilledCountsOnce(t *testing.T) {
	m := newMetered(t)
	one := m.process("one")
	one.Add(acme, usage.Counts{Requests: 5})
	m.flush(one)
	m.at = m.at.Add(time.Hour)
	for range 3 {
		m.records.key = progressKey
		if _, err := (folder{m.on}).fold(t.Context()); err == nil {
			t.Fatal("the job was not killed")
		}
		m.want("12 acme sales data 5 0 0")
	}
	m.records.key = ""
	m.fold()
	m.want("12 acme sales data 5 0 0")
}

// Records of a process that was frozen are added once they come, up to a day later. Hours in which no job ran are not lost.
func TestRecordsThatComeLate(t *testing.T) {
	m := newMetered(t)
	one, frozen := m.process("one"), m.process("frozen")
	one.Add(acme, usage.Counts{Requests: 5})
	frozen.Add(acme, usage.Counts{Requests: 2})
	m.flush(one)
	m.at = m.at.Add(time.Hour)
	m.fold()
	m.want("12 acme sales data 5 0 0")
	m.at = m.at.Add(20 * time.Hour)
	m.flush(frozen)
	m.fold()
	m.want("12 acme sales data 7 0 0")

	m.at = m.at.Add(5 * 24 * time.Hour)
	before := m.at.UTC().Hour()
	one.Add(bolt, usage.Counts{Requests: 1})
	m.flush(one)
	m.at = m.at.Add(3 * 24 * time.Hour)
	m.fold()
	want := []string{"12 acme sales data 7 0 0", fmt.Sprintf("%02d bolt  query 1 0 0", before)}
	slices.Sort(want)
	m.want(want...)
}

// A job that reads old records and commits after another one takes nothing back.
func TestSumsOnlyGrow(t *testing.T) {
	m := newMetered(t)
	old := usage.Sum{Hour: usage.HourOf(m.at), Counts: map[usage.Key]usage.Counts{acme: {Requests: 5}}}
	grown := usage.Sum{Hour: old.Hour, Counts: map[usage.Key]usage.Counts{acme: {Requests: 6, WrittenRows: 4}, bolt: {Requests: 1}}}
	for _, sum := range []usage.Sum{old, grown, old, grown} {
		if err := (folder{m.on}).write(t.Context(), []usage.Sum{sum}, sizes{}); err != nil {
			t.Fatal(err)
		}
	}
	m.want("12 acme sales data 6 0 4", "12 bolt  query 1 0 0")
}

func (m *metered) note(location, namespace string, bytes int64) {
	m.t.Helper()
	if err := usage.NoteStored(m.t.Context(), m.records, m.at, location, namespace, bytes); err != nil {
		m.t.Fatal(err)
	}
}

func (m *metered) wantStored(rows ...string) {
	m.t.Helper()
	var got []string
	for _, row := range m.cells("hour", "tenant", "namespace", "requests", "kind", "stored_bytes") {
		if _, stored, ok := strings.Cut(row, "storage "); ok {
			got = append(got, row[:len(row)-len(" storage "+stored)]+" "+stored)
		}
	}
	if !slices.Equal(got, rows) {
		m.t.Errorf("got  %q\nwant %q", got, rows)
	}
}

// There is one row of stored bytes for each first namespace and day, from the first whole day on. Jobs that are killed or
// repeated, and tables that change later, do not change it.
func TestStoredBytesHaveOneRowADay(t *testing.T) {
	m := newMetered(t)
	m.note("a", "acme", 100)
	m.fold()
	m.wantStored()
	m.at = m.at.Add(8 * time.Hour)
	m.note("a", "acme", 150)
	m.note("b", "acme", 7)
	m.note("c", "", 9)
	m.fold()
	m.wantStored()

	m.at = m.at.Add(8 * time.Hour) // the next day
	m.records.key = progressKey
	if _, err := (folder{m.on}).fold(t.Context()); err == nil {
		t.Fatal("the job was not killed")
	}
	m.records.key = ""
	want := []string{"00   0 9", "00 acme acme 0 157"}
	m.wantStored(want...)
	m.note("a", "acme", 1000)
	for range 2 {
		m.fold()
		m.wantStored(want...)
	}

	m.at = m.at.Add(50 * time.Hour) // no job ran for a day, and a and c were dropped
	m.note("b", "acme", 8)
	if done := m.fold(); done != (result{Rows: 1}) {
		t.Errorf("got %+v", done)
	}
	m.wantStored("00   0 9", "00 acme acme 0 157", "00 acme acme 0 8")
}

// A table that an older release has made gets the column, and keeps its rows.
func TestTheTableOfAnOlderReleaseGetsTheColumnOfStoredBytes(t *testing.T) {
	m := newMetered(t)
	one := m.process("one")
	one.Add(acme, usage.Counts{Requests: 5})
	m.flush(one)
	m.at = m.at.Add(time.Hour)
	m.fold()
	_, err := m.on.Open(id(), "").Commit(t.Context(), func(t tables.Table) (engine.Written, error) {
		return evolution.DropColumns(context.Background(), t.Table, []string{storedBytes})
	})
	if err != nil {
		t.Fatal(err)
	}
	m.note("a", "acme", 3)
	m.at = m.at.Add(24 * time.Hour)
	m.fold()
	m.want("00 acme acme storage 0 0 0", "12 acme sales data 5 0 0")
	m.wantStored("00 acme acme 0 3")
}

// The work of jobs has no requests. It counts once, too, and grows when records come late.
func TestTheWorkOfJobsIsFolded(t *testing.T) {
	m := newMetered(t)
	one, late := m.process("one"), m.process("late")
	work := usage.Key{Tenant: "acme", Namespace: "sales", Kind: "work"}
	one.Add(work, usage.Counts{ComputeMicros: 5_000_000, WrittenRows: 7})
	late.Add(work, usage.Counts{ComputeMicros: 1_000, StorageReads: 3})
	m.flush(one)
	m.at = m.at.Add(time.Hour)
	for range 2 {
		m.fold()
		m.want("12 acme sales work 0 5000 7")
	}
	m.flush(late)
	m.fold()
	m.want("12 acme sales work 0 5001 7")
}

// Each job also keeps the sums that quotas of stored bytes ask for, even if it cannot write the table of usage.
func TestJobsKeepTheSumsOfStoredBytes(t *testing.T) {
	m := newMetered(t)
	want := func(namespace string, bytes int64) {
		t.Helper()
		if got, err := usage.Stored(t.Context(), m.records, m.at, namespace); err != nil || got != bytes {
			t.Errorf("%q stores %d, %v; want %d", namespace, got, err, bytes)
		}
	}
	run := Fold(m.on).Stages[0].Do
	m.note("a", "acme", 100)
	m.note("b", "acme", 7)
	m.note("c", "bolt", 9)
	want("acme", 0)
	want("bolt", 0)
	if _, err := run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want("acme", 107)
	want("bolt", 9)
	if err := usage.ForgetStored(t.Context(), m.records, "a"); err != nil {
		t.Fatal(err)
	}
	m.at = m.at.Add(time.Hour)
	m.records.key = progressKey
	if _, err := run(t.Context(), nil); err == nil {
		t.Error("the job was not killed")
	}
	want("acme", 7)
}

func TestJobsOfUsageHaveNoObject(t *testing.T) {
	kind := Fold(newMetered(t).on)
	if trigger, err := kind.Poll(t.Context(), nil); trigger == nil || err != nil {
		t.Errorf("got %v, %v", trigger, err)
	}
	if trigger, err := kind.Poll(t.Context(), []string{"a"}); trigger != nil || err != nil {
		t.Errorf("got %v, %v", trigger, err)
	}
}
