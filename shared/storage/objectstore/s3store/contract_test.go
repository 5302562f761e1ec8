package s3store_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/s3store"
	"tiltyard/shared/storage/objectstore/storetest"
)

// The contract runs against servers that the environment names: a stand-in at the endpoint
// TILTYARD_TEST_S3, as scripts/test-go.sh starts it, and real S3, in the bucket
// TILTYARD_TEST_S3_BUCKET with the credentials and the region of the AWS environment.
const (
	endpointVariable = "TILTYARD_TEST_S3"
	bucketVariable   = "TILTYARD_TEST_S3_BUCKET"
)

func TestContractOnStandIn(t *testing.T) {
	client, bucket := standIn(t)
	runContract(t, client, bucket)
}

func TestListingsOfManyPages(t *testing.T) {
	s := opener(standIn(t))(t)
	var want []string
	for i := range 2100 {
		key := fmt.Sprintf("%c/%04d", 'a'+i/1500, i)
		want = append(want, key)
		if _, err := s.Put(t.Context(), key, nil, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		opts           objectstore.ListOptions
		first, objects int
		prefixes       []string
		more           bool
	}{
		{objectstore.ListOptions{}, 0, 2100, nil, false},
		{objectstore.ListOptions{Limit: 1000}, 0, 1000, nil, true},
		{objectstore.ListOptions{Limit: 1001}, 0, 1001, nil, true},
		{objectstore.ListOptions{Limit: 2100}, 0, 2100, nil, false},
		{objectstore.ListOptions{Prefix: "a/", StartAfter: "a/0099"}, 100, 1400, nil, false},
		{objectstore.ListOptions{Delimiter: "/"}, 0, 0, []string{"a/", "b/"}, false},
		{objectstore.ListOptions{Delimiter: "/", StartAfter: "a/0500"}, 0, 0, []string{"b/"}, false},
	} {
		page, err := s.List(t.Context(), c.opts)
		if err != nil {
			t.Fatalf("List(%+v): %v", c.opts, err)
		}
		var got []string
		for _, o := range page.Objects {
			got = append(got, o.Key)
		}
		if !slices.Equal(got, want[c.first:c.first+c.objects]) || !slices.Equal(page.Prefixes, c.prefixes) || page.More != c.more {
			t.Errorf("List(%+v): got %d objects, prefixes %q, more %v, want %d from the %dth on, %q, %v",
				c.opts, len(got), page.Prefixes, page.More, c.objects, c.first, c.prefixes, c.more)
		}
	}
}

func TestUploadsInParts(t *testing.T) {
	s := opener(standIn(t))(t)
	w, err := s.Create(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("0123456789abcdefghijk"), 1<<20) // 21 MiB
	for piece := range slices.Chunk(data, 5_000_001) {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Commit()
	if err != nil || info.Size != int64(len(data)) {
		t.Fatalf("Commit: got %+v, %v, want %d bytes", info, err, len(data))
	}
	got, again, err := s.Get(t.Context(), "large")
	if err != nil || !bytes.Equal(got, data) || again.ETag != info.ETag {
		t.Errorf("Get: got %d bytes, ETag %s, %v, want what was written and %s", len(got), again.ETag, err, info.ETag)
	}
}

func TestUploadsInPartsAbort(t *testing.T) {
	client, bucket := standIn(t)
	w, err := opener(client, bucket)(t).Create(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 20<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("Abort: got %v, want nil", err)
	}
	left, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil || len(left.Uploads) > 0 {
		t.Errorf("got %d uploads, %v, want none left", len(left.Uploads), err)
	}
}

// runContract runs the contract with fewer random histories than in memory: each is some
// three hundred requests.
func runContract(t *testing.T, client *s3.Client, bucket string) {
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	t.Cleanup(func() { _ = checks.Value.Set(before) })
	if err := checks.Value.Set("10"); err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, opener(client, bucket))
}

func TestContractOnS3(t *testing.T) {
	bucket := os.Getenv(bucketVariable)
	if bucket == "" {
		t.Skipf("*** S3 ITSELF WAS NOT TESTED: %s names no bucket ***", bucketVariable)
	}
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, err := s3store.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	runContract(t, client, bucket)
}

// standIn returns a client of the stand-in and a new bucket. Where the environment has no
// credentials it must accept any.
func standIn(t *testing.T) (client *s3.Client, bucket string) {
	t.Helper()
	endpoint := os.Getenv(endpointVariable)
	if endpoint == "" {
		t.Skipf("*** THE S3 PROTOCOL WAS NOT TESTED: %s names no endpoint; scripts/test-go.sh starts one ***", endpointVariable)
	}
	key, secret := cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), "test"), cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), "test")
	client, err := s3store.NewClient(aws.Config{
		BaseEndpoint:               &endpoint,
		Credentials:                credentials.NewStaticCredentialsProvider(key, secret, ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	})
	if err != nil {
		t.Fatal(err)
	}
	bucket = "test-" + strings.ToLower(rand.Text())
	if err := s3store.CreateBucket(t.Context(), client, bucket); err != nil {
		t.Fatal(err)
	}
	return client, bucket
}

// opener makes stores under prefixes of their own, which it empties when a test ends.
func opener(client *s3.Client, bucket string) func(*testing.T) objectstore.Store {
	var opened atomic.Int64
	run := rand.Text()[:8]
	return func(t *testing.T) objectstore.Store {
		t.Helper()
		prefix := fmt.Sprintf("tiltyard test %s/%d", run, opened.Add(1))
		s, err := s3store.New(client, bucket, prefix, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { empty(t, s) })
		return s
	}
}

func empty(t *testing.T, s *s3store.Store) {
	t.Helper()
	page, err := s.List(context.Background(), objectstore.ListOptions{})
	if err != nil {
		t.Errorf("List: %v", err)
	}
	for _, o := range page.Objects {
		if err := s.Delete(context.Background(), o.Key, objectstore.Condition{}); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
}
