package wal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/wal"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
)

// newest returns the newest version of a table.
func newest(t *testing.T, table *engine.Table) *dataset.Dataset {
	t.Helper()
	d, err := table.Data().Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSpecReturnsTheConfigurationOfALog(t *testing.T) {
	logged := newest(t, enginetest.NativeTable(t, "testdata/t.lance", engine.Limits{}))
	spec, err := wal.Spec(logged)
	want := &dataapi.LSMWriteSpec{Sharding: dataapi.LSMSharding{Mode: "unsharded"}, WriterConfigDefaults: map[string]string{}}
	if diff := cmp.Diff(want, spec); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	plain := newest(t, enginetest.Create(t, enginetest.IDSchema(), `[{"id":1}]`))
	if spec, err := wal.Spec(plain); spec != nil || err != nil {
		t.Errorf("without a log: got %+v and error %v, want no specification", spec, err)
	}
}

func TestCheckComparesTheLogWithTheRequest(t *testing.T) {
	logged := newest(t, enginetest.NativeTable(t, "testdata/t.lance", engine.Limits{}))
	plain := newest(t, enginetest.Create(t, enginetest.IDSchema(), `[{"id":1}]`))
	yes, no := true, false
	enginetest.WantCode(t, "a log without a choice", wal.CheckWhole(logged), protocol.Unsupported)
	enginetest.WantCode(t, "a log that is wanted", wal.Check(logged, &yes), protocol.Unsupported)
	enginetest.WantCode(t, "no log, but it is wanted", wal.Check(plain, &yes), protocol.InvalidInput)
	for what, err := range map[string]error{
		"a log that is ignored": wal.Check(logged, &no), "no log": wal.CheckWhole(plain), "no log to ignore": wal.Check(plain, &no),
	} {
		if err != nil {
			t.Errorf("%s: %v, want no error", what, err)
		}
	}
}
