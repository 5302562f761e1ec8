package main

import (
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"tiltyard/shared/boot"
	"tiltyard/shared/http/quota"
	"tiltyard/shared/protocol/auth"
)

// made lists the server settings that the stacks set themselves, with the options or the resources
// from which they come.
var made = map[string]string{
	"root":            "the bucket of the storage stack",
	"allow-location":  "allow-locations, which also become rights",
	"records":         "the table of the storage stack",
	"jobs":            "the queue of the storage stack",
	"heavy-jobs":      "job-image, which makes the queue",
	"jwks":            "jwks",
	"issuer":          "issuer",
	"audience":        "audience",
	"jwt-type":        "jwt-type",
	"api-keys":        "api-keys, which also becomes a right",
	"policies":        "policies, which also becomes a right",
	"quotas":          "quotas, which also becomes a right",
	"vend-role":       "vending, which makes the role",
	"vend-tags":       "vend-tags, which also becomes a right",
	"secrets":         "secrets, which makes the key",
	"executor":        "executors, which also become rights",
	"event-target":    "event-target, which also becomes a right",
	"event-key":       "event-key, which also becomes a right",
	"cache-bucket":    "cache-bucket, which also becomes a right",
	"parts":           "the function query; none in a private network, from which no way leads to Lambda",
	"request-timeout": "the time limit of each function",
	"stream":          "stream, which also changes the gateway",
}

// meaningless lists the server settings that are useless for functions, with the reasons.
var meaningless = map[string]string{
	"listen":          "functions listen on no port, and the container on the port of its load balancer",
	"sql-listen":      "functions listen on no port, and the container at 10025 behind its load balancer",
	"sql-certificate": "the load balancer has the certificate",
	"sql-key":         "as sql-certificate",
	"token":           "everybody who may read the template of a stack would learn the token; api-keys holds hashes",
	"vend-keys":       "its file holds keys that never expire; vending gives credentials for an hour and one table",
	"access-log":      "the lines of functions are in their log groups",
	"console-link":    "the link is for the console of a server on the same machine",
	"check-store":     "make smoke asks a function at /storez, so that no start takes longer",
	"base-path":       "the routes of the gateway begin with /v1",
	"traces-headers":  "everybody who may read the template of a stack would learn them; a collector in the account, or that of traces-layer, adds them",
	"log-format":      "the alarms and the dashboard look into lines of JSON",
}

// passed returns the settings that the context passes on to functions under the names of the
// server's flags. A new setting is passed on unless it is listed above.
func passed() []boot.Setting {
	var settings []boot.Setting
	for _, s := range boot.Settings {
		if made[s.Name] == "" && meaningless[s.Name] == "" {
			settings = append(settings, s)
		}
	}
	return settings
}

// gets reports whether a function gets a passed setting. Functions that handle no rows lack the memory for the sizes of
// row caches, and jobs keep no ranges. Functions without records could not write the events that they announce, and those without objects serve
// nobody who signs in.
func (n needs) gets(setting string) bool {
	switch setting {
	case "cache-bytes", "memory-bytes":
		return n.rows
	case "cache-disk", "cache-disk-bytes":
		return n.keepsRanges()
	case "events":
		return n.records
	case "usage":
		return n.objects > none
	}
	return true
}

// kinds explains the placeholders of settings.
var kinds = map[string]string{
	"SWITCH": "on or off", "DURATION": "duration, such as 90s", "ROWS": "number", "BYTES": "bytes, such as 64MiB", "LEVEL": "level", "FORMAT": "word",
	"URL": "URL", "FOLDER": "folder", "SHARE": "number from 0 to 1",
}

// settings reads the passed settings with the parsers of the server.
func (r *reader) settings() map[string]string {
	values := map[string]string{}
	for _, s := range passed() {
		r.describe(s.Name, kinds[s.Value], s.Default)
		if text := r.value(s.Name); text != "" {
			values[s.Name] = text
		}
	}
	for name, reason := range meaningless {
		if r.value(name) != "" {
			r.fail(name, "is not for functions: %s", reason)
		}
	}
	parsed, err := boot.Read(func(s boot.Setting) (string, bool) {
		if s.Name == "root" {
			return "s3://bucket", true // a required setting
		}
		text, ok := values[s.Name]
		return text, ok
	})
	if err != nil {
		r.wrong = append(r.wrong, err)
	}
	if parsed.Ranges.Disk != "" {
		r.disk = parsed.Ranges.DiskBytes
	}
	r.rows = parsed.CacheBytes + uint64(parsed.MemoryBytes)
	return values
}

// passSettings adds the variables of the passed settings to a function's environment.
func (s *Service) passSettings(n needs, env map[string]*string) {
	for _, setting := range passed() {
		if text, ok := s.config.Settings[setting.Name]; ok && n.gets(setting.Name) {
			env[setting.Variable()] = &text
		}
	}
}

// A document is a text in S3 that functions read, and read again when it may have changed.
type document struct{ url, arn *string }

// newDocument returns the document at a place: s3://bucket/key, or a local file, which the
// deployment uploads to the bucket of the CDK. It returns nil for no place.
func (s *Service) newDocument(id, place string) *document {
	if place == "" {
		return nil
	}
	if object, ok := strings.CutPrefix(place, "s3://"); ok {
		return &document{url: &place, arn: s.objectsARN(object)}
	}
	asset := awss3assets.NewAsset(s.Stack, &id, &awss3assets.AssetProps{Path: &place})
	return &document{
		url: asset.S3ObjectUrl(),
		arn: joined(jsii.String("arn:"), s.Partition(), jsii.String(":s3:::"), asset.S3BucketName(), jsii.String("/"), asset.S3ObjectKey()),
	}
}

// apiKeys reads the place of the file of API keys. It checks a local file.
func (r *reader) apiKeys(name string) string {
	return r.document(name, func(text []byte) error {
		_, err := auth.ParseAPIKeys(strings.NewReader(string(text)))
		return err
	})
}

// policies reads the place of the policies. It checks a local file.
func (r *reader) policies(name string) string {
	return r.document(name, auth.CheckPolicies)
}

// quotas reads the place of the quotas. It checks a local file.
func (r *reader) quotas(name string) string {
	return r.document(name, func(text []byte) error {
		parse := quota.ParseUnmetered
		if r.value("usage") == "on" && r.value("maintenance") != "off" {
			parse = quota.Parse
		}
		_, err := parse(text)
		return err
	})
}

// document reads a place, and checks a local file with check.
func (r *reader) document(name string, check func(text []byte) error) string {
	place := r.text(name, "file, s3://bucket/key", "")
	if place == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(place, "s3://"); ok {
		if bucket, key, _ := strings.Cut(rest, "/"); bucket == "" || key == "" || strings.ContainsAny(rest, "*?${}") {
			r.fail(name, "must be a file or s3://bucket/key")
		}
		return place
	}
	text, err := os.ReadFile(place)
	if err == nil {
		err = check(text)
	}
	if err != nil {
		r.fail(name, "%v", err)
	}
	return place
}

// checkNames records an error for names that are no options, such as misspelled ones. Names with @
// or a colon belong to the CDK.
func (r *reader) checkNames(context map[string]any) {
	known := map[string]bool{}
	for _, o := range r.options {
		known[o.name] = true
	}
	for name := range maps.Keys(context) {
		if !known[name] && meaningless[name] == "" && !strings.ContainsAny(name, "@:") {
			r.fail(name, "there is no such option; docs/aws-options.md lists them")
		}
	}
}

// An option is a documented value of the context.
type option struct{ name, kind, fallback string }

func (o option) String() string {
	return fmt.Sprintf("| `%s` | %s | %s |", o.name, o.kind, code(o.fallback))
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
