package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/s3store"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/storage/record/objectrecord"
)

// A place is where an outbox is.
type place struct {
	objects objectstore.Store
	records record.Store // nil: they are among the objects
}

// process returns the outbox of a process that has just begun.
func process(at place, now func() time.Time) *Outbox {
	records := at.records
	if records == nil {
		records = objectrecord.Open(at.objects, now)
	}
	return &Outbox{Log: OpenLog(at.objects, now), Records: records, Now: now, Source: "urn:test"}
}

// stores are the implementations that the tests run on: scripts/test-go.sh starts a server for the last two.
var stores = map[string]func(t *testing.T) place{
	"memory": func(*testing.T) place { return place{objects: memstore.New()} },
	"directory": func(t *testing.T) place {
		store, err := diskstore.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return place{objects: store}
	},
	"S3": func(t *testing.T) place { return place{objects: bucket(t)} },
	"S3 and DynamoDB": func(t *testing.T) place {
		return place{objects: bucket(t), records: table(t)}
	},
}

// served returns how a server is reached that anything may be done to.
func served(t *testing.T, variable string) aws.Config {
	t.Helper()
	endpoint := os.Getenv(variable)
	if endpoint == "" {
		t.Skipf("*** EVENTS WERE NOT TESTED THERE: %s names no endpoint; scripts/test-go.sh starts one ***", variable)
	}
	key, secret := cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), "test"), cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), "test")
	return aws.Config{BaseEndpoint: &endpoint, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(key, secret, "")}
}

// bucket returns a new bucket.
func bucket(t *testing.T) objectstore.Store {
	t.Helper()
	client, err := s3store.NewClient(served(t, "TILTYARD_TEST_S3"))
	if err != nil {
		t.Fatal(err)
	}
	name := "events-" + strings.ToLower(rand.Text())
	if err := s3store.CreateBucket(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	store, err := s3store.New(client, name, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// table returns a new table of DynamoDB.
func table(t *testing.T) record.Store {
	t.Helper()
	client := dynamodb.NewFromConfig(served(t, "TILTYARD_TEST_DYNAMODB"))
	name := "events-" + strings.ToLower(rand.Text())
	if err := dynamorecord.CreateTable(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	return dynamorecord.New(client, name, time.Now)
}

// with returns the place with requests that fail as decide says.
func (p place) with(decide func(write bool) faultstore.Fault) place {
	faulty := place{objects: faultstore.New(p.objects, func(call faultstore.Call) faultstore.Fault {
		switch call.Kind {
		case faultstore.Put, faultstore.PutIfAbsent, faultstore.PutIfMatch, faultstore.Delete:
			return decide(true)
		}
		return decide(false)
	})}
	if p.records != nil {
		faulty.records = faultyRecords{p.records, decide}
	}
	return faulty
}

// faultyRecords are records whose requests fail.
type faultyRecords struct {
	record.Store
	decide func(write bool) faultstore.Fault
}

func (f faultyRecords) Get(ctx context.Context, key string) (record.Record, error) {
	if fault := f.decide(false); fault.Err != nil {
		return record.Record{}, fault.Err
	}
	return f.Store.Get(ctx, key)
}

func (f faultyRecords) Put(ctx context.Context, r record.Record) (string, error) {
	fault := f.decide(true)
	if fault.Err != nil {
		return "", fault.Err
	}
	version, err := f.Store.Put(ctx, r)
	if fault.Lost && err == nil {
		return "", record.ErrUnknownOutcome
	}
	return version, err
}

func (f faultyRecords) Delete(ctx context.Context, key, version string) error {
	fault := f.decide(true)
	if fault.Err != nil {
		return fault.Err
	}
	err := f.Store.Delete(ctx, key, version)
	if fault.Lost && err == nil {
		return record.ErrUnknownOutcome
	}
	return err
}

func (f faultyRecords) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	if fault := f.decide(false); fault.Err != nil {
		return record.Page{}, fault.Err
	}
	return f.Store.List(ctx, folder, after, limit)
}
