package kmskeys_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/catalog/secretbox/kmskeys"
)

const arn = "arn:aws:kms:eu-central-1:123456789012:key/1"

// fakeKMS keeps data keys by what it calls their encrypted form.
type fakeKMS struct {
	t     *testing.T
	mu    sync.Mutex
	keys  map[string][]byte
	bound map[string]map[string]string
	deny  string // an operation
}

func (f *fakeKMS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "TrentService.")
	var in struct {
		KeyID, KeySpec    string
		CiphertextBlob    []byte
		EncryptionContext map[string]string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.KeyID != arn {
		f.t.Errorf("got %+v, %v", in, err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": code})
	}
	switch {
	case operation == f.deny:
		refuse("AccessDeniedException")
	case operation == "GenerateDataKey" && in.KeySpec == "AES_256":
		key, name := make([]byte, 32), rand.Text()
		rand.Read(key)
		f.keys[name], f.bound[name] = key, in.EncryptionContext
		_ = json.NewEncoder(w).Encode(map[string]any{"KeyId": arn, "Plaintext": key, "CiphertextBlob": []byte(name)})
	case operation == "Decrypt":
		key := f.keys[string(in.CiphertextBlob)]
		if key == nil || !maps.Equal(f.bound[string(in.CiphertextBlob)], in.EncryptionContext) {
			refuse("InvalidCiphertextException")
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"KeyId": arn, "Plaintext": key})
	default:
		refuse("UnknownOperationException")
	}
}

func open(t *testing.T) (*fakeKMS, func(key, deployment string) secretbox.Keys) {
	t.Helper()
	fake := &fakeKMS{t: t, keys: map[string][]byte{}, bound: map[string]map[string]string{}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	c := aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")}
	return fake, func(key, deployment string) secretbox.Keys { return kmskeys.Open(c, key, deployment) }
}

func TestSealedValuesBelongToTheirNames(t *testing.T) {
	fake, openAs := open(t)
	keys := openAs(arn, "s3://bucket")
	var _ secretbox.Keys = keys
	for _, id := range [][]string{{"a", "b"}, {strings.Repeat("n", 3000), "b"}} {
		sealed, err := keys.Seal(t.Context(), id, []byte("canary"))
		if err != nil {
			t.Fatal(err)
		}
		if value, err := keys.Open(t.Context(), id, sealed); err != nil || string(value) != "canary" {
			t.Errorf("got %q, %v", value, err)
		}
		for name, c := range map[string]struct {
			keys   secretbox.Keys
			id     []string
			change func(*secretbox.Sealed)
		}{
			"other name":       {keys, []string{"a", "c"}, nil},
			"other deployment": {openAs(arn, "s3://other"), id, nil},
			"other key":        {openAs("arn:aws:kms:eu-central-1:123456789012:key/2", "s3://bucket"), id, nil},
			"changed value":    {keys, id, func(s *secretbox.Sealed) { s.Ciphertext[0] ^= 1 }},
			"changed data key": {keys, id, func(s *secretbox.Sealed) { s.DataKey[0] ^= 1 }},
			"no data key":      {keys, id, func(s *secretbox.Sealed) { s.DataKey = nil }},
		} {
			changed := sealed
			changed.Ciphertext, changed.DataKey = bytes.Clone(sealed.Ciphertext), bytes.Clone(sealed.DataKey)
			if c.change != nil {
				c.change(&changed)
			}
			if value, err := c.keys.Open(t.Context(), c.id, changed); err == nil {
				t.Errorf("%s: opens as %q", name, value)
			}
		}
	}
	for _, bound := range fake.bound {
		if bound["tiltyard:deployment"] != "s3://bucket" || len(bound["tiltyard:secret"]) > 2048 {
			t.Errorf("got the encryption context %v", bound)
		}
	}
}

// A data key encrypts one value, so that values with the same name have different ones.
func TestSealMakesADataKeyForEachValue(t *testing.T) {
	fake, openAs := open(t)
	keys := openAs(arn, "d")
	for range 3 {
		if _, err := keys.Seal(t.Context(), []string{"s"}, []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if len(fake.keys) != 3 {
		t.Errorf("%d data keys were made", len(fake.keys))
	}
}

func TestRolesDecideWhatIsPossible(t *testing.T) {
	fake, openAs := open(t)
	keys := openAs(arn, "d")
	sealed, err := keys.Seal(t.Context(), []string{"s"}, []byte("v"))
	if err != nil {
		t.Fatal(err)
	}
	fake.deny = "Decrypt"
	if _, err := keys.Seal(t.Context(), []string{"s"}, []byte("v")); err != nil {
		t.Error(err)
	}
	if _, err := keys.Open(t.Context(), []string{"s"}, sealed); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("got error %v", err)
	}
	fake.deny = "GenerateDataKey"
	if _, err := keys.Seal(t.Context(), []string{"s"}, []byte("v")); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("got error %v", err)
	}
}
