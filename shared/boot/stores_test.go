package boot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"tiltyard/shared/tables/stores"
)

// A field that Stores forgot would be a setting that no program obeys.
func TestStoresHaveEachFieldOfTheirSet(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	hash := sha256.Sum256([]byte("key"))
	env, err := Open(Config{
		Root: t.TempDir(), APIKeys: write(t, "ann "+hex.EncodeToString(hash[:])+"\n"), Policies: write(t, "permit (principal, action, resource);"),
		Jobs: "https://sqs.eu-central-1.amazonaws.com/1/jobs", Maintain: true, Usage: true, Auto: stores.AutoRefresh{After: time.Hour},
		DropRetention: time.Hour, Events: "urn:test", EventRetention: time.Hour, VendKeys: write(t, `{"aws_access_key_id": "a"}`),
		CacheBytes: 1, MergeBytes: 1, TopK: 1, StableRowIDs: true, Anonymous: true, Parts: stores.Parts{Where: "lambda"},
	}, everyClient, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	set := reflect.ValueOf(env.Stores())
	for i := range set.NumField() {
		if set.Field(i).IsZero() {
			t.Errorf("the stores of a full configuration have no %s", set.Type().Field(i).Name)
		}
	}
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "tiltyard-query")
	t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "2048")
	t.Setenv("AWS_ENDPOINT_URL", "http://host")
	if parts := env.Stores().Parts; parts.Where != "lambda:tiltyard-query" || parts.Endpoint != "http://host" || parts.Memory != 2<<30 {
		t.Errorf("parts run at %+v, want the function itself at the configured endpoint", parts)
	}
	if rights := env.Stores().Rights; rights.Verifier == nil || rights.Policies == nil {
		t.Errorf("got the rights %+v, want those of the verifier and of the policies", rights)
	}
}
