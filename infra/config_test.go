package main

import (
	"maps"
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
		{"a list", map[string]any{"audience": []any{"a"}}, []string{"audience: must be a text"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			values := maps.Clone(good)
			maps.Copy(values, c.change)
			_, err := ReadConfig(func(name string) any { return values[name] })
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

func TestLocationsOfTables(t *testing.T) {
	for location, want := range map[string][2]string{
		"s3://lake": {"lake", ""}, "s3://lake/tables": {"lake", "tables/"}, "s3://lake/a/b": {"lake", "a/b/"},
	} {
		if bucket, prefix := splitLocation(location); [2]string{bucket, prefix} != want {
			t.Errorf("%s is %q %q, want %q", location, bucket, prefix, want)
		}
	}
}
