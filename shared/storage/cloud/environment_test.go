package cloud_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/storage/cloud"
)

// inFunction sets the variables of AWS to those of a function and to further ones, given as NAME=VALUE.
func inFunction(t *testing.T, more ...string) {
	t.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION", "AWS_USE_FIPS_ENDPOINT", "AWS_CA_BUNDLE"} {
		t.Setenv(name, "")
	}
	usual := []string{"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=token"}
	for _, set := range slices.Concat(usual, more) {
		name, value, _ := strings.Cut(set, "=")
		t.Setenv(name, value)
	}
}

func TestEnvironmentIsTheConfigurationOfFunctions(t *testing.T) {
	inFunction(t, "AWS_ENDPOINT_URL=http://all", "AWS_ENDPOINT_URL_S3=http://s3", "AWS_USE_FIPS_ENDPOINT=true")
	cfg, err := cloud.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	found, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil || found.AccessKeyID != "id" || found.SecretAccessKey != "secret" || found.SessionToken != "token" {
		t.Errorf("got credentials %v, %v", found, err)
	}
	bucket, table := s3.NewFromConfig(cfg).Options(), dynamodb.NewFromConfig(cfg).Options()
	if bucket.Region != "eu-central-1" || aws.ToString(bucket.BaseEndpoint) != "http://s3" || aws.ToString(table.BaseEndpoint) != "http://all" {
		t.Errorf("S3 is in %s at %s, DynamoDB at %s", bucket.Region, aws.ToString(bucket.BaseEndpoint), aws.ToString(table.BaseEndpoint))
	}
	if state := table.EndpointOptions.UseFIPSEndpoint; state != aws.FIPSEndpointStateEnabled {
		t.Errorf("FIPS is %v", state)
	}
}

func TestEnvironmentWithoutCredentials(t *testing.T) {
	inFunction(t, "AWS_SECRET_ACCESS_KEY=", "AWS_REGION=", "AWS_DEFAULT_REGION=us-east-1")
	cfg, err := cloud.FromEnv()
	if err != nil || cfg.Region != "us-east-1" {
		t.Fatalf("got region %q, %v", cfg.Region, err)
	}
	if _, err := cfg.Credentials.Retrieve(t.Context()); err == nil || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("got %v, want an error that names the variables", err)
	}
}

func TestEnvironmentRefusesWhatItDoesNotRead(t *testing.T) {
	inFunction(t, "AWS_USE_DUALSTACK_ENDPOINT=true")
	if _, err := cloud.FromEnv(); err == nil || !strings.Contains(err.Error(), "AWS_USE_DUALSTACK_ENDPOINT") {
		t.Errorf("got %v, want an error that names the variable", err)
	}
}

func TestEnvironmentNamesCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	file := filepath.Join(t.TempDir(), "bundle.pem")
	get := func() error {
		cfg, err := cloud.FromEnv()
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		answer, err := cfg.HTTPClient.Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	inFunction(t)
	if err := get(); err == nil {
		t.Error("a server of its own certificate is trusted")
	}
	inFunction(t, "AWS_CA_BUNDLE="+file)
	for _, content := range []string{"", "no certificate"} {
		if err := get(); err == nil || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
			t.Errorf("got %v, want an error that names the variable", err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := get(); err != nil {
		t.Error(err)
	}
}
