package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
)

func TestExpiredRecordsAreDeletedWhileTheServerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := memstore.New()
		records := objectrecord.Open(objects, time.Now)
		for name, lifetime := range map[string]time.Duration{"short": time.Hour, "long": 1000 * time.Hour} {
			r := record.Record{Key: "once/" + name, Value: json.RawMessage("1"), Expires: time.Now().Add(lifetime)}
			if _, err := records.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		wait := startSweeps(ctx, records, slog.New(slog.DiscardHandler))
		for _, want := range []int{2, 1} {
			synctest.Wait()
			left, err := objects.List(ctx, objectstore.ListOptions{})
			if err != nil || len(left.Objects) != want {
				t.Errorf("after %v: %d records are left, %v; want %d", time.Now(), len(left.Objects), err, want)
			}
			time.Sleep(2 * sweepEvery)
		}
		stop()
		wait()
	})
}
