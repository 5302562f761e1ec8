package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigurationTellsAllThatIsWrong(t *testing.T) {
	good := map[string]any{
		"issuer": "https://id.example.com", "audience": "tiltyard", "jwks": "https://id.example.com/keys",
	}
	cases := []struct {
		name   string
		change map[string]any
		want   []string // none: it is right
	}{
		{"the least", nil, nil},
		{"nobody could sign in", map[string]any{"issuer": nil, "audience": nil, "jwks": nil}, []string{"issuer: is not set", "audience: is not set", "jwks: is not set"}},
		{"plain HTTP", map[string]any{"jwks": "http://id.example.com/keys"}, []string{"jwks: must be an https:// URL"}},
		{"plain HTTP on this machine", map[string]any{"jwks": "http://127.0.0.1:8080/keys"}, nil},
		{"stage", map[string]any{"stage": "Prod!"}, []string{"stage: must match"}},
		{"gateway", map[string]any{"gateway": "soap"}, []string{"gateway: must be one of http, rest"}},
		{"authorizer of a REST API", map[string]any{"gateway": "rest", "authorizer": "gateway"}, []string{"authorizer:"}},
		{"web ACL of an HTTP API", map[string]any{"web-acl": "arn:aws:wafv2:eu-west-1:1:regional/webacl/a/b"}, []string{"web-acl: needs gateway=rest"}},
		{"a copy of no backups", map[string]any{"backup-days": "0", "backup-lock": "governance"}, []string{"backup-copy, backup-lock: there are no backups"}},
		{"a copy in no vault", map[string]any{"backup-copy": "arn:aws:s3:::bucket"}, []string{"backup-copy: must match"}},
		{"reserve-stream without a StreamUrl", map[string]any{"reserve-stream": "5"}, []string{"reserve-stream: there is a StreamUrl only by stream"}},
		{"reserve-stream below provisioned-concurrency", map[string]any{"stream": "true", "reserve-stream": "1", "provisioned-concurrency": "2"}, []string{"reserve-stream: less than provisioned-concurrency"}},
		{"domain without certificate", map[string]any{"domain": "api.example.com"}, []string{"domain: needs a certificate"}},
		{"image without certificate", map[string]any{"image": "tiltyard:1"}, []string{"image: its load balancer"}},
		{"memory as a number", map[string]any{"memory": 1024.0}, nil},
		{"memory too small", map[string]any{"memory": "64"}, []string{"memory: must be a number from 128 to 10240"}},
		{"log days", map[string]any{"log-days": "31"}, []string{"log-days: must be one of"}},
		{"flag", map[string]any{"tracing": "maybe"}, []string{"tracing: must be one of false, true"}},
		{"location", map[string]any{"allow-locations": "s3://lake/*"}, []string{"allow-locations:"}},
		{"location elsewhere", map[string]any{"allow-locations": "/srv/tables"}, []string{"allow-locations:"}},
		{"executors", map[string]any{"executors": "a=lambda:arn:aws:lambda:eu-central-1:123456789012:function:run python=3.12, b=https://x.example key=secret:k"}, nil},
		{"executor that is a command", map[string]any{"executors": "a=exec:/bin/run"}, []string{"executors:"}},
		{"executor with a pattern", map[string]any{"executors": "a=lambda:arn:aws:lambda:eu-central-1:123456789012:function:*"}, []string{"executors:"}},
		{"API keys and no issuer", map[string]any{"issuer": nil, "audience": nil, "jwks": nil, "api-keys": "s3://b/keys"}, nil},
		{"API keys and half an issuer", map[string]any{"issuer": nil, "api-keys": "s3://b/keys"}, []string{"issuer: is not set"}},
		{"API keys that are not there", map[string]any{"api-keys": "missing.txt"}, []string{"api-keys: open missing.txt"}},
		{"API keys in clear", map[string]any{"api-keys": file(t, "ada secret")}, []string{"api-keys: API keys, line 1"}},
		{"a bucket without a key", map[string]any{"api-keys": "s3://b", "policies": "s3://b/*"}, []string{"api-keys: must be", "policies: must be"}},
		{"policies", map[string]any{"policies": file(t, "permit (principal, action, resource);")}, nil},
		{"policies with a mistake", map[string]any{"policies": file(t, "permit (")}, []string{"policies: parser error"}},
		{"settings of the server", map[string]any{"log-level": "debug", "maintenance": "off", "max-top-k": 10.0, "cache-bytes": "1GiB"}, nil},
		{"mistakes in several settings", map[string]any{"log-level": "loud", "maintenance": true, "max-top-k": "0"},
			[]string{"log-level (TILTYARD_LOG_LEVEL)", "maintenance (TILTYARD_MAINTENANCE)", "max-top-k (TILTYARD_MAX_TOP_K)"}},
		{"more cache than memory", map[string]any{"cache-bytes": "1GiB", "memory-bytes": "1GiB"}, []string{"cache-bytes, memory-bytes:"}},
		{"a setting for the server alone", map[string]any{"token": "t", "listen": ":1"}, []string{"token: is not for functions", "listen: is not for functions"}},
		{"misspelled", map[string]any{"memroy": "512", "@aws-cdk/core:x": true, "aws:cdk:y": "z"}, []string{"memroy: there is no such option"}},
		{"network without subnets", map[string]any{"vpc": "vpc-1"}, []string{"vpc, subnets:"}},
		{"network", map[string]any{"vpc": "vpc-1", "subnets": "subnet-1, subnet-2"}, nil},
		{"heavy work without a way to its image", map[string]any{"vpc": "new", "job-image": "x:1"}, []string{"job-image: no image can be fetched"}},
		{"network without a way to the issuer", map[string]any{"vpc": "new", "executors": "a=https://x.example"}, []string{"vpc: functions in a new network reach no issuer", "reach no executor"}},
		{"events for a queue", map[string]any{"events": "urn:a", "event-target": queueARN}, nil},
		{"events for a webhook", map[string]any{"events": "urn:a", "event-target": "https://x.example/hook", "event-key": "s3://rules/key"}, nil},
		{"forwarding without events", map[string]any{"event-target": queueARN}, []string{"event-target: needs events"}},
		{"a webhook without a key", map[string]any{"events": "urn:a", "event-target": "https://x.example/hook"}, []string{"need each other"}},
		{"a trail without credentials", map[string]any{"vend-trail": "true"}, []string{"vend-trail: needs vending"}},
		{"tags without credentials", map[string]any{"vend-tags": "true"}, []string{"vend-tags: needs vending"}},
		{"a key without a webhook", map[string]any{"events": "urn:a", "event-key": "s3://rules/key"}, []string{"event-key: needs a webhook"}},
		{"a webhook over plain HTTP", map[string]any{"events": "urn:a", "event-target": "http://127.0.0.1/", "event-key": "s3://rules/key"}, []string{"event-target: must be the ARN"}},
		{"a webhook without a way to it", map[string]any{"events": "urn:a", "event-target": "https://x.example/hook", "event-key": "s3://rules/key", "vpc": "new"}, []string{"event-target: functions in a new network"}},
		{"a cache on disk", map[string]any{"cache-disk": "/tmp/tiltyard", "cache-bucket": "s3://near--euc1-az1--x-s3"}, nil},
		{"a cache larger than the disk", map[string]any{"cache-disk": "/tmp/tiltyard", "cache-disk-bytes": "1GiB"}, []string{"cache-disk-bytes: more than nine tenths of tmp"}},
		{"a cache in a folder", map[string]any{"cache-bucket": "/tmp/tiltyard"}, []string{"cache-bucket"}},
		{"a directory bucket without a way to it", map[string]any{"vpc": "new", "cache-bucket": "s3://near--euc1-az1--x-s3"}, []string{"cache-bucket: a new network has no way"}},
		{"a list", map[string]any{"audience": []any{"a"}}, []string{"audience: must be a text"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			values := maps.Clone(good)
			maps.Copy(values, c.change)
			_, err := ReadConfig(values)
			if err == nil {
				if len(c.want) > 0 {
					t.Errorf("accepted, want %q", c.want)
				}
				return
			}
			if len(c.want) == 0 {
				t.Errorf("refused: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q", err, want)
				}
			}
		})
	}
}

// file is one with a text.
func file(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLocationsOfTables(t *testing.T) {
	for location, want := range map[string][2]string{
		"s3://lake": {"lake", ""}, "s3://lake/tables": {"lake", "tables/"}, "s3://lake/a/b": {"lake", "a/b/"},
	} {
		if bucket, prefix := splitLocation(location); [2]string{bucket, prefix} != want {
			t.Errorf("%s is %q %q, want %q", location, bucket, prefix, want)
		}
	}
}
