package boot

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/engine/udf/wasm"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/tables/stores"
)

// texts is a source of what is written down.
func texts(m map[string]string) Source {
	return func(s Setting) (string, bool) {
		text, ok := m[s.Name]
		return text, ok
	}
}

func TestReadTakesDefaultsWhereNothingIsSaid(t *testing.T) {
	got, err := Read(LocalDefaults)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Root:           "./data",
		Maintain:       true,
		Auto:           stores.AutoRefresh{After: 10 * time.Minute, Rows: 1000, Cooldown: 5 * time.Minute},
		Listen:         "127.0.0.1:10024",
		CheckStore:     true,
		ConsoleLink:    "auto",
		LogLevel:       slog.LevelInfo,
		LogText:        true,
		Secrets:        "auto",
		Wasm:           true,
		WasmLimits:     wasm.Limits{ModuleBytes: 16 << 20, MemoryBytes: 256 << 20, CallTime: 30 * time.Second, ResultBytes: 64 << 20},
		TracesShare:    1,
		RequestTimeout: 5 * time.Minute, StallTimeout: time.Minute, Parts: stores.Parts{Bytes: 128 << 20, Together: 16},
		Limits:  httpapi.Limits{JSON: 1 << 20, Query: 8 << 20, Upload: 4 << 30},
		Uploads: arrowipc.Limits{MaxMessageBytes: 256 << 20, MaxDecodedBytes: 1 << 30},

		ResultBytes: 10 << 30,
		Ranges:      Ranges{DiskBytes: 400 << 20},
		MergeBytes:  16 << 30,
		TopK:        100_000,

		DropRetention: 7 * 24 * time.Hour, EventRetention: 7 * 24 * time.Hour,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("local defaults (-want +got):\n%s", diff)
	}
}

func TestReadTakesTheFirstSourceThatKnows(t *testing.T) {
	t.Setenv("TILTYARD_ROOT", "/from/environment")
	t.Setenv("TILTYARD_CACHE_BYTES", "64MiB")
	t.Setenv("TILTYARD_ISSUER", "") // says nothing
	got, err := Read(texts(map[string]string{"root": "/from/flag"}), Environment, LocalDefaults)
	if err != nil {
		t.Fatal(err)
	}
	if got.Root != "/from/flag" || got.CacheBytes != 64<<20 || got.Issuer != "" {
		t.Errorf("got root %q, cache %d, issuer %q", got.Root, got.CacheBytes, got.Issuer)
	}
}

func TestReadTakesEverySetting(t *testing.T) {
	got, err := Read(texts(map[string]string{
		"root": "file:///srv/a%20b", "allow-location": "/x, file:///with%2Ccomma", "jobs": "https://sqs.eu-central-1.amazonaws.com/1/jobs", "heavy-jobs": "https://sqs.eu-central-1.amazonaws.com/1/heavy", "maintenance": "off", "auto-refresh": "off", "auto-refresh-rows": "7", "auto-refresh-cooldown": "1s", "drop-retention": "7d", "events": "urn:lake:test", "event-retention": "2d", "event-target": "https://example.com/hook", "event-key": "file:///srv/event%20key", "listen": "[::1]:0",
		"token": "secret", "api-keys": "keys.txt", "jwks": "https://id.example.com/keys",
		"issuer": "https://id.example.com", "audience": "tiltyard", "jwt-type": "at+jwt", "policies": "s3://config/policies.cedar", "vend-role": "arn:aws:iam::1:role/r", "vend-tags": "on", "secrets": "file:/srv/keys",
		"executor":  "py=exec:/bin/py python=3.12",
		"base-path": "/lance/", "log-level": "debug", "log-format": "json", "access-log": "requests.log", "console-link": "on", "check-store": "off", "metrics": "emf", "traces": "https://collector:4318", "traces-share": "0.25", "traces-headers": "x-key=k", "request-timeout": "90s", "stall-timeout": "7s", "parts": "lambda:query", "part-bytes": "1MiB", "parts-together": "9",
		"cache-bytes": "2GiB", "cache-disk": "/tmp/ranges", "cache-disk-bytes": "1GiB", "cache-bucket": "s3://near--euc1-az1--x-s3/ranges", "memory-bytes": "1GiB", "max-json-bytes": "1", "max-query-bytes": "2KiB", "max-upload-bytes": "1TiB",
		"max-message-bytes": "3 MiB", "max-result-bytes": "8MiB", "max-batch-bytes": "4MiB", "max-merge-bytes": "5MiB", "max-top-k": "7", "stable-row-ids": "on", "authors": "off",
		"wasm": "off", "wasm-module-bytes": "1MiB", "wasm-memory-bytes": "2MiB", "wasm-call-timeout": "3s", "wasm-output-bytes": "4MiB",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Root: "/srv/a b", AllowLocations: []string{"/x", "/with,comma"}, Listen: "[::1]:0",
		Auto: stores.AutoRefresh{Rows: 7, Cooldown: time.Second}, DropRetention: 7 * 24 * time.Hour, Events: "urn:lake:test", EventRetention: 2 * 24 * time.Hour, EventTarget: "https://example.com/hook", EventKey: "/srv/event key",
		Jobs: "https://sqs.eu-central-1.amazonaws.com/1/jobs", HeavyJobs: "https://sqs.eu-central-1.amazonaws.com/1/heavy",
		Token: "secret", APIKeys: "keys.txt", JWKS: "https://id.example.com/keys",
		Issuer: "https://id.example.com", Audience: "tiltyard", JWTType: "at+jwt", Policies: "s3://config/policies.cedar", VendRole: "arn:aws:iam::1:role/r", VendTags: true, Secrets: "/srv/keys",
		Executors: []executor.Config{{Name: "py", Address: "exec:/bin/py", Python: "3.12", Concurrency: 4, Timeout: time.Minute, PayloadBytes: 16 << 20}},
		LogLevel:  slog.LevelDebug, AccessLog: "requests.log", ConsoleLink: "on", EMF: true, Traces: "https://collector:4318", TracesShare: 0.25, TracesHeaders: map[string]string{"x-key": "k"}, BasePath: "/lance", RequestTimeout: 90 * time.Second, StallTimeout: 7 * time.Second, Parts: stores.Parts{Where: "lambda:query", Bytes: 1 << 20, Together: 9},
		Limits:  httpapi.Limits{JSON: 1, Query: 2 << 10, Upload: 1 << 40},
		Uploads: arrowipc.Limits{MaxMessageBytes: 3 << 20, MaxDecodedBytes: 4 << 20},

		ResultBytes: 8 << 20,
		Ranges:      Ranges{Disk: "/tmp/ranges", DiskBytes: 1 << 30, Bucket: "s3://near--euc1-az1--x-s3/ranges"},
		CacheBytes:  2 << 30, MemoryBytes: 1 << 30, MergeBytes: 5 << 20, TopK: 7, StableRowIDs: true, Anonymous: true,
		WasmLimits: wasm.Limits{ModuleBytes: 1 << 20, MemoryBytes: 2 << 20, CallTime: 3 * time.Second, ResultBytes: 4 << 20},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	cases := []struct{ setting, text, want string }{
		{"root", "", "is empty"},
		{"jobs", "queue", "must be the URL of an SQS queue"},
		{"jobs", "https://key:secret@host/1/q", "must be the URL of an SQS queue"},
		{"heavy-jobs", "queue", "must be the URL of an SQS queue"},
		{"maintenance", "perhaps", "must be on or off"},
		{"auto-refresh", "sometimes", "must be a positive duration, such as 90s or 5m, or off"},
		{"auto-refresh-rows", "0", "must be a positive number"},
		{"drop-retention", "-1h", "must be a duration from 0 to 36500d, such as 7d or 36h"},
		{"root", "s3://", "must be s3://bucket/prefix"},
		{"root", "s3:///prefix", "must be s3://bucket/prefix"},
		{"root", "s3://bucket:80/prefix", "must be s3://bucket/prefix"},
		{"root", "s3://key:secret@bucket/prefix", "must be s3://bucket/prefix"},
		{"root", "s3://bucket/prefix?region=x", "must be s3://bucket/prefix"},
		{"root", "s3://bucket/%zz", "must be s3://bucket/prefix"},
		{"root", "s3://lake--euc1-az1--x-s3/tables", "names a directory bucket (S3 Express One Zone)"},
		{"allow-location", "s3://lake--euc1-az1--x-s3", "names a directory bucket"},
		{"root", "gs://bucket", "must be a path, a file:// URL, or s3://bucket/prefix"},
		{"root", "file://host/path", "must be file:///"},
		{"root", "file:///a?b", "must be file:///"},
		{"root", "file:///%zz", "must be file:///"},
		{"root", "file://", "must be file:///"},
		{"parts", "lambda:", "lambda: needs the name or the ARN"},
		{"parts", "lambda:a/b", "lambda: needs the name or the ARN"},
		{"parts", "ftp://host", "must be lambda, lambda: and a function, or the URL of servers"},
		{"parts", "https://user@host", "must be lambda, lambda: and a function, or the URL of servers"},
		{"parts-together", "0", "must be a number from 1 to 1000"},
		{"allow-location", "/a,,/b", "empty path"},
		{"allow-location", "/a,s3://b?", "must be s3://bucket/prefix"},
		{"listen", "10024", "host:port"},
		{"console-link", "yes", "auto, on or off"},
		{"listen", "127.0.0.1:http", "65535"},
		{"listen", "127.0.0.1:65536", "65535"},
		{"listen", "127.0.0.1:-1", "65535"},
		{"jwks", "http://id.example.com/keys", "https://"},
		{"jwks", "ftp://id.example.com/keys", "https://"},
		{"jwks", "https://", "is not a URL"},
		{"jwks", "keys.json", "needs an issuer and an audience"},
		{"issuer", "https://id.example.com", "needs jwks"},
		{"jwt-type", "at+jwt", "needs jwks"},
		{"vend-tags", "on", "needs vend-role"},
		{"secrets", "/srv/keys", "file:"},
		{"secrets", "file:", "file:"},
		{"secrets", "file:///srv/keys", "file:"},
		{"secrets", "kms:key", "file:"},
		{"secrets", "kms:arn:aws:kms:eu-central-1:123456789012:alias/a", "file:"},
		{"base-path", "lance", "slash"},
		{"log-level", "loud", "log-level"},
		{"log-format", "xml", "text or json"},
		{"metrics", "on", "auto, emf or off"},
		{"request-timeout", "0s", "positive duration"},
		{"request-timeout", "5", "positive duration"},
		{"cache-disk-bytes", "1MiB", "must be at least 16MiB"},
		{"cache-bucket", "/tmp/ranges", "must be s3://bucket/prefix"},
		{"cache-bucket", "s3://key:secret@bucket/prefix", "must be s3://bucket/prefix"},
		{"cache-bytes", "0", "positive number of bytes"},
		{"cache-bytes", "-1", "positive number of bytes"},
		{"cache-bytes", "1.5GiB", "positive number of bytes"},
		{"cache-bytes", "5GB", "positive number of bytes"},
		{"cache-bytes", "9000000TiB", "positive number of bytes"},
		{"max-upload-bytes", "auto", "positive number of bytes"},
		{"max-top-k", "0", "positive number"},
		{"max-top-k", "4294967296", "positive number"},
	}
	for _, c := range cases {
		t.Run(c.setting+"="+c.text, func(t *testing.T) {
			_, err := Read(texts(map[string]string{c.setting: c.text}), LocalDefaults)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestReadReportsEverythingTogetherAndNoValues(t *testing.T) {
	_, err := Read(texts(map[string]string{"cache-bytes": "hunter2", "max-top-k": "hunter2", "issuer": "hunter2"}))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"root is not set (TILTYARD_ROOT)", "TILTYARD_CACHE_BYTES", "TILTYARD_MAX_TOP_K", "needs jwks"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error repeats a value:\n%v", err)
	}
}

func TestKeySetsMayComeOverPlainHTTPFromThisMachineOnly(t *testing.T) {
	for _, text := range []string{"http://localhost:8080/k", "http://127.0.0.1/k", "http://[::1]:9/k"} {
		if _, err := parseKeySet(text); err != nil {
			t.Errorf("parseKeySet(%q): %v", text, err)
		}
	}
}
