package boot

import (
	"errors"
	"testing"
	"time"

	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/storage/record/recordtest"
)

func TestOpenRecordsChoosesTheRootOrDynamoDB(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	beside, err := openRecords(Config{}, Clients{}, roots, time.Now)
	if _, ok := beside.(*objectrecord.Store); err != nil || !ok {
		t.Errorf("when nothing is said: got %T, %v; want them in the root", beside, err)
	}
	table, err := parseRecords("dynamodb://my-records_1.x")
	if err != nil {
		t.Fatal(err)
	}
	apart, err := openRecords(Config{Records: table}, Clients{AWS: cloud.FromEnv, Records: dynamorecord.Open}, roots, time.Now)
	counted, _ := apart.(countedRecords)
	if _, ok := counted.Store.(*dynamorecord.Store); err != nil || !ok {
		t.Errorf("with a table: got %T, %v; want them in DynamoDB", apart, err)
	}
	without, err := openRecords(Config{Records: table}, Clients{}, roots, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Put(t.Context(), record.Record{Key: "k"}); !errors.Is(err, errNoRecords) {
		t.Errorf("without a client: put %v; want %v, and none in the root", err, errNoRecords)
	}
	for _, text := range []string{"records", "dynamodb://", "s3://bucket", "dynamodb://a/b", "dynamodb://a b"} {
		if _, err := parseRecords(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestCountedRecordsAreAStore(t *testing.T) {
	recordtest.Run(t, func(_ *testing.T, now func() time.Time) record.Store {
		return countedRecords{objectrecord.Open(memstore.New(), now)}
	})
}
