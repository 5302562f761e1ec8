package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Config is the configuration in the context of the app. The comment of each field begins
// with the name of its value.
type Config struct {
	Stage string // stage: part of the names of the stacks; dev, prod, …

	// Clients sign in with JSON Web Tokens of this issuer.
	Issuer   string // issuer: the iss that tokens must have
	Audience string // audience: the aud that tokens must have
	JWKS     string // jwks: where the keys of the issuer are
	JWTType  string // jwt-type: the typ that tokens must have; any when empty

	APIKeys  string // api-keys: names and hashes of API keys, beside JSON Web Tokens or in their place; functions read a changed object within a minute
	Policies string // policies: Cedar policies, which then decide what everybody may do; functions read a changed object within a minute
	Quotas   string // quotas: limits of what principals, tenants and namespaces use; functions read a changed object within a minute, and the query function gets rights to the records

	Gateway    string // gateway: the kind of the gateway; WAF can stand in front of a REST API
	Authorizer string // authorizer: what refuses bad tokens; functions always do, and the gateway can do so in front of them

	Stream         bool     // stream: answers beyond 6 MB, as they are made: by a REST API, or beside an HTTP API by the URL of a function
	Vending        bool     // vending: describing a table gives temporary credentials for its data to those who may read it
	VendTags       bool     // vend-tags: the sessions of these credentials have tags, so that policies of your own buckets and keys may depend on the tenant, the table and the caller; needs vending
	VendTrail      bool     // vend-trail: CloudTrail records, in a bucket of its own, what is read and written with these credentials, which the service does not see; needs vending
	Secrets        bool     // secrets: a key of KMS that seals secrets, the values for functions
	EventTarget    string   // event-target: where events are forwarded to; needs events, and makes an alarm
	EventKey       string   // event-key: object with the key, of 16 bytes or more, that requests to a webhook are signed with
	Executors      string   // executors: where functions of Python run, as the setting executor has it, without commands
	CacheBucket    string   // cache-bucket: s3://bucket/prefix of your own, also of S3 Express One Zone, where instances keep ranges of files for each other; functions get rights to it
	AllowLocations []string // allow-locations: more s3://bucket/prefix whose tables may be registered, separated by commas

	Architecture string // architecture: the processors that the functions were built for
	Memory       int    // memory: MiB of functions that handle names
	DataMemory   int    // data-memory: MiB of functions that read and write rows
	Temporary    int    // tmp: MiB of /tmp of functions that read and write rows, where large merges and sorts keep what does not fit into memory
	Provisioned  int    // provisioned-concurrency: instances of each function of the gateway that are kept warm
	Workers      int    // workers: jobs that run at once
	ReserveURL   int    // reserve-stream: most requests at once at the StreamUrl, which no gateway limits; as many are kept free for them; 0 sets no limit; needs stream with gateway=http
	Reserve      bool   // reserve-workers: keep the concurrency of the workers free for them; an account with a small quota of concurrency may refuse that

	ThrottleReads   int // throttle-reads: requests a second for each route that reads names, before the gateway answers 429; twice as many in a burst
	ThrottleChanges int // throttle-changes: the same for each route that changes something
	ThrottleRows    int // throttle-rows: the same for each route that reads or writes rows

	CORSOrigins []string // cors-origins: origins whose pages in a browser may call the service; none when empty; needs gateway=http

	LogDays    int    // log-days: days for which logs are kept
	AuditDays  int    // audit-days: days for which lines of the audit are kept in a bucket of their own, in which nothing can be deleted earlier; 0 makes none
	BackupDays int    // backup-days: days for which daily backups of the bucket and of the records are kept; 0 makes none
	BackupCopy string // backup-copy: vault of AWS Backup, in another region or account, to which each backup is copied
	BackupLock string // backup-lock: who may delete backups earlier: governance leaves it to those with the right to change the lock, compliance to nobody three days after the deployment
	Replica    string // replica: bucket with versions, in any region, to which the bucket is copied continuously; not with kms
	Tracing    bool   // tracing: traces in X-Ray
	TraceLayer string // traces-layer: layer with a collector of OpenTelemetry, which each function then has beside it; traces is http://localhost:4318
	AlarmTopic string // alarm-topic: topic of SNS that hears of alarms; without one the deployment warns that nobody does

	AlarmLatency int // alarm-latency: milliseconds that nineteen in twenty requests have to stay below
	AlarmJobAge  int // alarm-job-age: seconds that a job may wait

	Throw bool // throw-away: for tests: destroying the stacks destroys what they keep, a bucket only when it is empty; nothing is protected, backed up, or kept for the audit
	KMS   bool // kms: encrypt with a key of its own in place of those that S3 and DynamoDB manage

	VPC     string   // vpc: network that functions run in: new for one without a way to the internet, or the id of one that is there; none when empty
	Subnets []string // subnets: subnets of an existing network

	Domain      string // domain: of the API; needs certificate
	Certificate string // certificate: certificate of the domain or the load balancer, in the region of the stack
	WebACL      string // web-acl: web ACL of WAF in the region of the stack; needs gateway=rest

	Image string // image: of the server; makes a Fargate service for bodies that functions cannot take; needs certificate

	JobImage string // job-image: of the server; makes a queue of its own for heavy work, and a Fargate service for it that has no tasks when there is none
	JobTasks int    // job-tasks: most tasks that do heavy work

	Functions string // functions: folder of the built functions

	// Settings contains the configured settings of the server, by name. The server has defaults for all others.
	Settings map[string]string
}

// ReadConfig reads the values of the context. The error lists everything that is missing or wrong.
func ReadConfig(context map[string]any) (Config, error) {
	c, r := readConfig(context)
	return c, errors.Join(r.wrong...)
}

// readConfig reads all options, and collects the errors in the reader.
func readConfig(context map[string]any) (Config, *reader) {
	r := &reader{context: context}
	c := Config{
		Stage:          r.match("stage", "name", "dev", regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)),
		Issuer:         r.https("issuer"),
		Audience:       r.text("audience", "text", ""),
		JWKS:           r.https("jwks"),
		JWTType:        r.text("jwt-type", "text", ""),
		APIKeys:        r.apiKeys("api-keys"),
		Policies:       r.policies("policies"),
		Quotas:         r.quotas("quotas"),
		Gateway:        r.oneOf("gateway", "http", "rest"),
		Authorizer:     r.oneOf("authorizer", "function", "gateway"),
		Stream:         r.flag("stream"),
		Vending:        r.flag("vending"),
		VendTags:       r.flag("vend-tags"),
		VendTrail:      r.flag("vend-trail"),
		Secrets:        r.flag("secrets"),
		Executors:      r.executors("executors"),
		EventTarget:    r.eventTarget("event-target"),
		EventKey:       r.match("event-key", "s3://bucket/key", "", objectForm),
		CacheBucket:    r.cacheBucket("cache-bucket"),
		AllowLocations: r.locations("allow-locations"),
		Architecture:   r.oneOf("architecture", "arm64", "amd64"),
		Memory:         r.number("memory", 512, 128, 10240),
		DataMemory:     r.number("data-memory", 2048, 256, 10240),
		Temporary:      r.number("tmp", 512, 512, 10240),
		Provisioned:    r.number("provisioned-concurrency", 0, 0, 1000),
		Workers:        r.number("workers", 10, 2, 1000),
		ReserveURL:     r.number("reserve-stream", 100, 0, 100000),
		Reserve:        r.oneOf("reserve-workers", "true", "false") == "true",
		LogDays:        r.days("log-days", 30),
		AuditDays:      r.number("audit-days", 365, 0, 36500),
		BackupDays:     r.number("backup-days", 35, 0, 36500),
		BackupCopy:     r.match("backup-copy", "ARN", "", regexp.MustCompile(`^arn:aws[a-z-]*:backup:[a-z0-9-]+:[0-9]{12}:backup-vault:.+$`)),
		BackupLock:     r.oneOf("backup-lock", "none", "governance", "compliance"),
		Replica:        r.arn("replica"),

		ThrottleReads:   r.number("throttle-reads", 1000, 1, 100000),
		ThrottleChanges: r.number("throttle-changes", 250, 1, 100000),
		ThrottleRows:    r.number("throttle-rows", 500, 1, 100000),
		CORSOrigins:     r.origins("cors-origins"),

		Tracing:      r.flag("tracing"),
		TraceLayer:   r.arn("traces-layer"),
		AlarmTopic:   r.arn("alarm-topic"),
		AlarmLatency: r.number("alarm-latency", 1000, 100, 30000),
		AlarmJobAge:  r.number("alarm-job-age", 3600, 60, 86400),
		Throw:        r.flag("throw-away"),
		KMS:          r.flag("kms"),
		VPC:          r.match("vpc", "new or vpc-…", "", vpcForm),
		Subnets:      r.subnets("subnets"),
		Domain:       r.match("domain", "name of a host", "", regexp.MustCompile(`^([a-z0-9-]+\.)+[a-z]{2,}$`)),
		Certificate:  r.arn("certificate"),
		WebACL:       r.arn("web-acl"),
		Image:        r.text("image", "repository:tag", ""),
		JobImage:     r.text("job-image", "repository:tag", ""),
		JobTasks:     r.number("job-tasks", 2, 1, 100),
		Functions:    r.text("functions", "folder", "../bin/functions"),
		Settings:     r.settings(),
	}
	// JSON Web Tokens are optional if there are API keys, but then all of their options or none are
	// needed.
	if c.APIKeys == "" || c.Issuer+c.Audience+c.JWKS+c.JWTType != "" {
		r.require("issuer", c.Issuer)
		r.require("audience", c.Audience)
		r.require("jwks", c.JWKS)
	}
	r.forbid(c.Authorizer == "gateway" && c.Gateway == "rest", "authorizer: only gateway=http verifies tokens itself")
	r.forbid(c.Authorizer == "gateway" && c.APIKeys != "", "authorizer: the gateway knows no API keys")
	r.forbid(c.WebACL != "" && c.Gateway != "rest", "web-acl: needs gateway=rest")
	r.forbid(c.streamURL() && c.ReserveURL > 0 && c.Provisioned > c.ReserveURL, "reserve-stream: less than provisioned-concurrency, which is a part of it")
	r.forbid(r.value("reserve-stream") != "" && !c.streamURL(), "reserve-stream: there is a StreamUrl only by stream and gateway=http")
	r.forbid(c.BackupDays == 0 && (c.BackupCopy != "" || c.BackupLock != "none"), "backup-copy, backup-lock: there are no backups by backup-days=0")
	r.forbid(c.VendTags && !c.Vending, "vend-tags: needs vending, whose credentials have the tags")
	r.forbid(c.VendTrail && !c.Vending, "vend-trail: needs vending, whose credentials it watches")
	r.forbid(c.Domain != "" && c.Certificate == "", "domain: needs a certificate")
	r.forbid(c.Image != "" && c.Certificate == "", "image: its load balancer needs a certificate")
	c.checkRanges(r)
	r.forbid(r.rows > uint64(goMemory(c.DataMemory))<<20, "cache-bytes, memory-bytes: together more than data-memory leaves to the program")
	r.forbid(c.JobImage != "" && c.VPC == newVPC, "job-image: no image can be fetched in a new network; take an existing one with a way to it")
	r.forbid(len(c.CORSOrigins) > 0 && c.Gateway == "rest", "cors-origins: needs gateway=http")
	r.forbid(c.TraceLayer != "" && c.Settings["traces"] == "", "traces-layer: needs traces, the URL of the collector in the layer")
	r.forbid(c.Replica != "" && c.KMS, "replica: the other region cannot use the key of kms")
	// Test deployments must be removable without a trace.
	if c.Throw {
		c.AuditDays, c.BackupDays, c.BackupCopy, c.BackupLock = 0, 0, "", "none"
	}
	r.checkNetwork(c)
	r.checkEvents(c)
	r.checkNames(context)
	return c, r
}

// goMemory returns the memory limit in MiB of the Go runtime in a function. The rest is for the
// Lambda runtime, stacks, and other memory outside of the heap.
func goMemory(memoryMiB int) int { return memoryMiB * 85 / 100 }

// A reader reads values of the context, and collects errors and descriptions of the options.
type reader struct {
	context map[string]any
	options []option
	wrong   []error
	rows    uint64 // memory for rows that the settings reserve, in bytes
	disk    int64  // bytes of /tmp that the settings reserve
}

// describe adds an option to the documented ones.
func (r *reader) describe(name, kind, fallback string) {
	r.options = append(r.options, option{name, kind, fallback})
}

// fail records an error about an option.
func (r *reader) fail(name, format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Errorf("%s: "+format, append([]any{name}, args...)...))
}

// require records an error if a required option is empty.
func (r *reader) require(name, value string) {
	if value == "" {
		r.fail(name, "is not set")
	}
}

// forbid records an error about a combination of options.
func (r *reader) forbid(wrong bool, message string) {
	if wrong {
		r.wrong = append(r.wrong, errors.New(message))
	}
}

// text reads an option as text. kind describes its values.
func (r *reader) text(name, kind, fallback string) string {
	r.describe(name, kind, fallback)
	if text := r.value(name); text != "" {
		return text
	}
	return fallback
}

// value returns the text of an option, or "" if it is not set. The command line supplies texts, and
// cdk.json values of any type.
func (r *reader) value(name string) string {
	switch value := r.context[name].(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(value)
	case bool, float64:
		text, _ := json.Marshal(value) // never fails
		return string(text)
	default:
		r.fail(name, "must be a text")
		return ""
	}
}

// match reads a text that must match a regular expression.
func (r *reader) match(name, kind, fallback string, form *regexp.Regexp) string {
	text := r.text(name, kind, fallback)
	if text != "" && !form.MatchString(text) {
		r.fail(name, "must match %s", form)
	}
	return text
}

// https reads a URL.
func (r *reader) https(name string) string {
	text := r.text(name, "https:// URL", "")
	u, err := url.Parse(text)
	local := err == nil && u.Scheme == "http" && u.Hostname() == "127.0.0.1" // a stand-in on this machine
	if text != "" && (err != nil || u.Host == "" || u.Scheme != "https" && !local) {
		r.fail(name, "must be an https:// URL")
	}
	return text
}

// oneOf reads one of the choices. The first is the default.
func (r *reader) oneOf(name string, choices ...string) string {
	text := r.text(name, strings.Join(choices, " or "), choices[0])
	for _, choice := range choices {
		if text == choice {
			return text
		}
	}
	r.fail(name, "must be one of %s", strings.Join(choices, ", "))
	return choices[0]
}

// number reads an integer within bounds.
func (r *reader) number(name string, fallback, least, most int) int {
	n, err := strconv.Atoi(r.text(name, fmt.Sprintf("%d to %d", least, most), strconv.Itoa(fallback)))
	if err != nil || n < least || n > most {
		r.fail(name, "must be a number from %d to %d", least, most)
		return fallback
	}
	return n
}

// days reads the retention of logs. CloudWatch accepts certain numbers only.
func (r *reader) days(name string, fallback int) int {
	n := r.number(name, fallback, 1, 3653)
	if _, ok := retentions[n]; !ok {
		r.fail(name, "must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653")
	}
	return n
}

// flag reads true or false.
func (r *reader) flag(name string) bool { return r.oneOf(name, "false", "true") == "true" }

func (r *reader) arn(name string) string {
	return r.match(name, "ARN", "", regexp.MustCompile(`^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:.+$`))
}

// executors reads a setting that the worker parses. It checks only the form, and refuses commands,
// which functions cannot start.
func (r *reader) executors(name string) string {
	text := r.text(name, "NAME=lambda:arn… or NAME=https://…, with commas", "")
	if text == "" {
		return ""
	}
	form := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*=(https://|lambda:arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9_$-]+)?( |$))`)
	for _, one := range strings.Split(text, ",") {
		if !form.MatchString(strings.TrimSpace(one)) {
			r.fail(name, "%q must begin with NAME=lambda:arn… or NAME=https://…", one)
		}
	}
	return text
}

// executorARNs returns the ARNs of the executors that are Lambda functions.
func (c Config) executorARNs() []*string {
	var arns []*string
	for _, one := range strings.Split(c.Executors, ",") {
		address, _, _ := strings.Cut(strings.TrimSpace(one), " ")
		if _, arn, found := strings.Cut(address, "=lambda:"); found {
			arns = append(arns, &arn)
		}
	}
	return arns
}

// locations reads a list of S3 locations.
func (r *reader) locations(name string) []string {
	text := r.text(name, "s3://bucket/prefix, with commas", "")
	if text == "" {
		return nil
	}
	form := regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^*?${}]*)?$`)
	places := strings.Split(text, ",")
	for i, place := range places {
		places[i] = strings.TrimSuffix(strings.TrimSpace(place), "/")
		if !form.MatchString(places[i]) {
			r.fail(name, "%q is not s3://bucket/prefix", place)
		}
	}
	return places
}
