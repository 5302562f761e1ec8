// Package metering keeps the table of usage, __system$usage: one row for each hour, tenant, first namespace and kind of
// request. A job adds up the records of the processes ([usage.Read]) when their hour has ended.
//
// The rows of an hour are a function of its records, whose counts only grow. The job merges them by hour, tenant, namespace
// and kind, and a row replaces only one with smaller counts. So each request counts once, however often a job runs, is
// interrupted, or runs beside another one. Records that come late, from a process that was frozen, are added by the next
// run.
//
// The first job after the end of a day also adds a row of the kind storage for each first namespace: the bytes that it
// stores ([usage.ReadStored]). Nothing replaces such a row, so that there is one for each day. Each job also keeps the sums
// that quotas of stored bytes need ([usage.SumStored]), about once an hour.
package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
)

// id returns the id of the table.
func id() []string { return []string{"__system", "usage"} }

// Fold returns the kind of the jobs that keep the table. They have no object.
func Fold(on tables.Tables) jobs.Kind {
	poll := func(_ context.Context, object []string) (*jobs.Trigger, error) {
		if len(object) > 0 {
			return nil, nil
		}
		return &jobs.Trigger{Input: struct{}{}}, nil
	}
	return jobs.Kind{Poll: poll, Stages: []jobs.Stage{{Name: "fold", Do: func(ctx context.Context, _ *jobs.Run) (any, error) {
		done, err := folder{on}.fold(ctx)
		return done, errors.Join(err, usage.SumStored(ctx, on.Records, on.Now()))
	}}}}
}

type folder struct{ on tables.Tables }

// progress is the record of the hours that are in the table.
type progress struct {
	// Through is the newest hour that was looked at.
	Through usage.Hour `json:"through"`
	// States identifies the records that were added up, by hours since 1970. Hours before late are left out.
	States map[usage.Hour]string `json:"states"`
	// Stored is the start of the newest day that needs no rows of stored bytes any more: it has them, or metering began
	// later. Zero: no job of this release has run.
	Stored usage.Hour `json:"stored,omitempty"`
}

const (
	progressKey = "usage/folded"
	// late is the time in which records of an hour may come.
	late = 26
	// day is the number of hours for which there is one row of stored bytes.
	day = 24
	// oldest is the number of hours for which there are records.
	oldest = usage.Hour(usage.Kept/time.Hour) - 1
)

// result is the result of a job.
type result struct {
	Hours int `json:"hours"` // whose rows were written
	Rows  int `json:"rows"`
}

// fold writes the rows of all hours that have ended, and whose records have changed.
func (f folder) fold(ctx context.Context) (done result, err error) {
	var known progress
	at, err := f.on.Records.Get(ctx, progressKey)
	if err == nil {
		err = at.Decode(&known)
	} else if errors.Is(err, record.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return done, err
	}
	current := usage.HourOf(f.on.Now())
	first := max(current-oldest, min(known.Through+1, current-late))
	next := progress{Through: current - 1, States: map[usage.Hour]string{}, Stored: current/day*day - day}
	var sums []usage.Sum
	for hour := first; hour < current; hour++ {
		sum, err := usage.Read(ctx, f.on.Records, hour)
		if err != nil {
			return done, err
		}
		if sum.State == "" {
			continue
		}
		if hour >= current-late {
			next.States[hour] = sum.State
		}
		if known.States[hour] != sum.State {
			sums = append(sums, sum)
			done.Hours, done.Rows = done.Hours+1, done.Rows+len(sum.Counts)
		}
	}
	stored := sizes{Day: next.Stored}
	if known.Stored != 0 && known.Stored < stored.Day {
		if stored.Bytes, err = usage.ReadStored(ctx, f.on.Records); err != nil {
			return done, err
		}
		done.Rows += len(stored.Bytes)
	}
	if len(sums) > 0 || len(stored.Bytes) > 0 {
		if err := f.write(ctx, sums, stored); err != nil {
			return done, err
		}
	}
	value, err := json.Marshal(next)
	if err != nil {
		return done, err
	}
	_, err = f.on.Records.Put(ctx, record.Record{Key: progressKey, Value: value, Version: at.Version})
	if errors.Is(err, record.ErrConflict) {
		return done, protocol.Errorf(protocol.ConcurrentModification, "another job writes the table of usage")
	}
	return done, err
}

// write merges rows into the table, which it creates if it is missing.
func (f folder) write(ctx context.Context, sums []usage.Sum, stored sizes) error {
	err := f.extend(ctx)
	if protocol.HasCode(err, protocol.TableNotFound, protocol.NamespaceNotFound) {
		err = f.create(ctx)
	}
	if err != nil {
		return err
	}
	rows := rowsOf(sums, stored)
	_, err = f.on.Open(id(), "").Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return t.Merge(ctx, rows, merge.Spec{
			On: []string{"hour", "tenant", "namespace", "kind"}, InsertAll: true, UpdateAll: true, UpdateIf: grown(),
		})
	})
	return err
}

// extend adds the column of stored bytes to a table that an older release has made.
func (f folder) extend(ctx context.Context) error {
	table := f.on.Open(id(), "")
	has, err := tables.Read(ctx, table, nil, func(_ context.Context, v tables.Version) (bool, error) {
		return v.ArrowSchema().HasField(storedBytes), nil
	})
	if err != nil || has {
		return err
	}
	_, err = table.Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return evolution.AddNullColumns(ctx, t.Table, arrow.NewSchema([]arrow.Field{storedField()}, nil))
	})
	return err
}

// create makes the table, without rows.
func (f folder) create(ctx context.Context) error {
	_, err := f.on.Names.Namespaces.Create(ctx, id()[:1], nil, namespaces.FailIfExists)
	if err = protocol.Ignore(err, protocol.NamespaceAlreadyExists); err != nil {
		return fmt.Errorf("create the namespace of the table of usage: %w", err)
	}
	at := f.on.Names.Places.New(id())
	none := dataset.Rows{Schema: schema(), Batches: func(func(arrow.RecordBatch, error) bool) {}}
	made, err := f.on.Rows.Table(id(), at).Create(ctx, none)
	if err != nil {
		return fmt.Errorf("create the table of usage: %w", err)
	}
	_, err = f.on.Names.CreateTable(ctx, id(), at, uint64(made.Version), nil)
	return protocol.Ignore(err, protocol.TableAlreadyExists)
}

// sizes are the bytes that are stored at the end of a day, by first namespace.
type sizes struct {
	Day   usage.Hour // its start
	Bytes map[string]int64
}

const (
	// storageKind is the kind of the rows of stored bytes.
	storageKind = "storage"
	// storedBytes is their column, which is null in other rows.
	storedBytes = "stored_bytes"
)

func storedField() arrow.Field {
	return arrow.Field{Name: storedBytes, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
}

// numbers are the columns of counts, in their order.
var numbers = []struct {
	name string
	of   func(usage.Counts) int64
}{
	{"requests", func(c usage.Counts) int64 { return c.Requests }},
	{"refused", func(c usage.Counts) int64 { return c.Refused }},
	{"failed", func(c usage.Counts) int64 { return c.Failed }},
	{"compute_ms", func(c usage.Counts) int64 { return (c.ComputeMicros + 999) / 1000 }},
	{"received_bytes", func(c usage.Counts) int64 { return c.ReceivedBytes }},
	{"sent_bytes", func(c usage.Counts) int64 { return c.SentBytes }},
	{"read_bytes", func(c usage.Counts) int64 { return c.ReadBytes }},
	{"written_bytes", func(c usage.Counts) int64 { return c.WrittenBytes }},
	{"storage_reads", func(c usage.Counts) int64 { return c.StorageReads }},
	{"storage_writes", func(c usage.Counts) int64 { return c.StorageWrites }},
	{"returned_rows", func(c usage.Counts) int64 { return c.ReturnedRows }},
	{"written_rows", func(c usage.Counts) int64 { return c.WrittenRows }},
	{"jobs", func(c usage.Counts) int64 { return c.Jobs }},
}

// grown returns the condition that a row has larger counts than the one that it replaces.
func grown() string {
	conditions := make([]string, len(numbers))
	for i, n := range numbers {
		conditions[i] = fmt.Sprintf("source.%s > target.%[1]s", n.name)
	}
	return strings.Join(conditions, " OR ")
}

// schema returns the columns of the table.
func schema() *arrow.Schema {
	fields := []arrow.Field{
		{Name: "hour", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "tenant", Type: arrow.BinaryTypes.String},
		{Name: "namespace", Type: arrow.BinaryTypes.String},
		{Name: "kind", Type: arrow.BinaryTypes.String},
	}
	for _, n := range numbers {
		fields = append(fields, arrow.Field{Name: n.name, Type: arrow.PrimitiveTypes.Int64})
	}
	return arrow.NewSchema(append(fields, storedField()), nil)
}

// rowsOf returns the rows of some hours and of a day.
func rowsOf(sums []usage.Sum, stored sizes) dataset.Rows {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema())
	last := len(numbers) + 4
	add := func(hour usage.Hour, k usage.Key, counts usage.Counts) {
		b.Field(0).(*array.TimestampBuilder).AppendTime(hour.Start())
		for i, text := range []string{k.Tenant, k.Namespace, k.Kind} {
			b.Field(1 + i).(*array.StringBuilder).Append(text)
		}
		for i, n := range numbers {
			b.Field(4 + i).(*array.Int64Builder).Append(n.of(counts))
		}
	}
	for _, sum := range sums {
		for _, k := range slices.SortedFunc(maps.Keys(sum.Counts), usage.CompareKeys) {
			add(sum.Hour, k, sum.Counts[k])
			b.Field(last).AppendNull()
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(stored.Bytes)) {
		add(stored.Day, usage.Key{Tenant: namespace, Namespace: namespace, Kind: storageKind}, usage.Counts{})
		b.Field(last).(*array.Int64Builder).Append(stored.Bytes[namespace])
	}
	batch := b.NewRecordBatch()
	return dataset.Rows{Schema: schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}
