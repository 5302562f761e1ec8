package boot

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/events/outbox/forward"
)

// A Setting can be configured by an environment variable, and in the local server also by a flag.
type Setting struct {
	Name    string // flag without dashes, from which the name of the variable is derived
	Value   string // placeholder in the help, such as DIR
	Default string // value if no source has one; empty: none
	Local   string // default of the local server, where it differs
	Help    string
	Usual   string // variable of other programs for the same purpose, used if ours is not set
	Several bool   // the value is a list with commas between its entries

	required bool
	set      func(c *Config, text string) error
}

// Variable returns the name of the setting's environment variable.
func (s Setting) Variable() string {
	return "TILTYARD_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Check returns an error if the setting cannot have the text as its value. The error contains no part of the
// text.
func (s Setting) Check(text string) error {
	if text == "" {
		return errors.New("is empty")
	}
	return s.set(new(Config), text)
}

// Settings are all settings, in the order of the help text. The table must not be changed.
var Settings = []Setting{
	{
		Name: "root", Value: "PLACE", Local: "./data", required: true,
		Help: "where the catalog and its tables are: a path, a file:// URL, or s3://bucket/prefix",
		set:  func(c *Config, text string) (err error) { c.Root, err = parsePlace(text); return err },
	},
	{
		Name: "allow-location", Value: "PLACE", Several: true,
		Help: "more such places, whose tables may be registered, separated by commas",
		set:  func(c *Config, text string) (err error) { c.AllowLocations, err = parsePlaces(text); return err },
	},
	{
		Name: "records", Value: "URL",
		Help: "dynamodb://TABLE for the records of transactions; they are in the root when not set",
		set:  func(c *Config, text string) (err error) { c.Records, err = parseRecords(text); return err },
	},
	{
		Name: "jobs", Value: "URL",
		Help: "queue of SQS for long work; the local server needs none",
		set:  func(c *Config, text string) (err error) { c.Jobs, err = parseJobs(text); return err },
	},
	{
		Name: "heavy-jobs", Value: "URL",
		Help: "another queue of SQS, for work beyond 10 minutes or 3 GiB, which the program tiltyard work takes from it",
		set:  func(c *Config, text string) (err error) { c.HeavyJobs, err = parseJobs(text); return err },
	},
	{
		Name: "maintenance", Value: "SWITCH", Default: "on",
		Help: "on or off: compact and clean up tables that are written to, by jobs, as their properties allow",
		set:  func(c *Config, text string) (err error) { c.Maintain, err = parseSwitch(text); return err },
	},
	{
		Name: "auto-refresh", Value: "DURATION", Default: "10m",
		Help: "age of the oldest change that a view with auto_refresh, or a computed column with auto_refresh_enabled, may lack before a job refreshes it, or off",
		set: func(c *Config, text string) (err error) {
			c.Auto.After, err = parseDurationOr("off", text)
			return err
		},
	},
	{
		Name: "auto-refresh-rows", Value: "ROWS", Default: "1000",
		Help: "changed rows that are enough for such a refresh at once, if they are one percent of the table that the view reads",
		set: func(c *Config, text string) error {
			rows, err := parseCount(text)
			c.Auto.Rows = int64(rows)
			return err
		},
	},
	{
		Name: "auto-refresh-cooldown", Value: "DURATION", Default: "5m",
		Help: "least time between two such refreshes of a view or a column",
		set:  func(c *Config, text string) (err error) { c.Auto.Cooldown, err = parseTimeout(text); return err },
	},
	{
		Name: "drop-retention", Value: "DURATION", Default: "7d",
		Help: "how long dropped tables and namespaces can be restored, such as 7d, where no property drop.retention is set; 0 deletes them at once",
		set:  func(c *Config, text string) (err error) { c.DropRetention, err = parseRetention(text); return err },
	},
	{
		Name: "events", Value: "SOURCE",
		Help: "source of the events that changes are announced as, such as urn:lake:production; no events when not set",
		set:  func(c *Config, text string) (err error) { c.Events, err = parseSource(text); return err },
	},
	{
		Name: "event-retention", Value: "DURATION", Default: "7d",
		Help: "how long events can be read, at least 1d",
		set: func(c *Config, text string) (err error) {
			c.EventRetention, err = parseEventRetention(text)
			return err
		},
	},
	{
		Name: "event-target", Value: "TARGET",
		Help: "where events are forwarded to: the ARN of an SQS queue or of an event bus, or the https:// URL of a webhook",
		set:  func(c *Config, text string) (err error) { c.EventTarget, err = parseEventTarget(text); return err },
	},
	{
		Name: "event-key", Value: "PLACE",
		Help: "file or s3://bucket/key of the key, of 16 bytes or more, that requests to a webhook are signed with",
		set:  func(c *Config, text string) (err error) { c.EventKey, err = parsePlace(text); return err },
	},
	{
		Name: "listen", Value: "HOST:PORT", Local: "127.0.0.1:10024",
		Help: "host:port that the local server listens on; port 0 takes a free one",
		set:  func(c *Config, text string) (err error) { c.Listen, err = parseAddress(text); return err },
	},
	{
		Name: "sql-listen", Value: "HOST:PORT",
		Help: "host:port at which the local server answers drivers of Arrow Flight SQL, or off; the port after that of --listen, if it is free, when not set",
		set:  func(c *Config, text string) (err error) { c.SQLListen, err = parseAddressOrOff(text); return err },
	},
	{
		Name: "sql-certificate", Value: "FILE",
		Help: "file in PEM of the certificate with which the local server answers drivers of Arrow Flight SQL by TLS, followed by those of its issuers; it is read again when it has changed",
		set:  func(c *Config, text string) error { c.SQLCertificate = text; return nil },
	},
	{
		Name: "sql-key", Value: "FILE",
		Help: "file in PEM of the key of --sql-certificate",
		set:  func(c *Config, text string) error { c.SQLKey = text; return nil },
	},
	{
		Name: "token", Value: "TOKEN",
		Help: "the one token that may do everything; the local server makes one when no other credentials are configured",
		set:  func(c *Config, text string) error { c.Token = text; return nil },
	},
	{
		Name: "api-keys", Value: "PLACE",
		Help: "file or s3://bucket/key of API keys, one per line: a name, a space, the SHA-256 of the key in hexadecimal",
		set:  func(c *Config, text string) (err error) { c.APIKeys, err = parsePlace(text); return err },
	},
	{
		Name: "jwks", Value: "URL",
		Help: "https:// URL or file of the key set that signs JWTs; needs issuer and audience",
		set:  func(c *Config, text string) (err error) { c.JWKS, err = parseKeySet(text); return err },
	},
	{
		Name: "issuer", Value: "ISS",
		Help: "the iss that JWTs must have",
		set:  func(c *Config, text string) error { c.Issuer = text; return nil },
	},
	{
		Name: "audience", Value: "AUD",
		Help: "the aud that JWTs must have",
		set:  func(c *Config, text string) error { c.Audience = text; return nil },
	},
	{
		Name: "jwt-type", Value: "TYP",
		Help: "the typ that JWTs must have, such as at+jwt; any when not set",
		set:  func(c *Config, text string) error { c.JWTType = text; return nil },
	},
	{
		Name: "policies", Value: "PLACE",
		Help: "file or s3://bucket/key of Cedar policies, which then decide what everybody may do; scopes do when not set",
		set:  func(c *Config, text string) (err error) { c.Policies, err = parsePlace(text); return err },
	},
	{
		Name: "quotas", Value: "PLACE",
		Help: "file or s3://bucket/key of quotas in JSON: limits of what principals, tenants and namespaces use; no limits when not set",
		set:  func(c *Config, text string) (err error) { c.Quotas, err = parsePlace(text); return err },
	},
	{
		Name: "vend-role", Value: "ARN",
		Help: "role of AWS that describe and declare give clients temporary credentials of, for one table each",
		set:  func(c *Config, text string) error { c.VendRole = text; return nil },
	},
	{
		Name: "vend-tags", Value: "SWITCH", Default: "off",
		Help: "on or off: the sessions of these credentials have tags with the tenant, the table and the caller, for policies of the account",
		set:  func(c *Config, text string) (err error) { c.VendTags, err = parseSwitch(text); return err },
	},
	{
		Name: "vend-keys", Value: "FILE",
		Help: "JSON object of storage options that describe and declare give clients in place of those of vend-role, the same for all tables",
		set:  func(c *Config, text string) error { c.VendKeys = text; return nil },
	},
	{
		Name: "secrets", Value: "KEYS", Local: "auto",
		Help: "what seals secrets: file:PATH of keys, made with the first secret, for the server; kms:ARN of a key of AWS; auto is the path of the root with .keys behind it; off: no secrets",
		set:  func(c *Config, text string) (err error) { c.Secrets, err = parseSecrets(text); return err },
	},
	{
		Name: "executor", Value: "EXECUTOR", Several: true,
		Help: "where functions of Python run: NAME=exec:/path, NAME=https://… or NAME=lambda:arn…, and options such as python=3.12, separated by spaces; more after commas",
		set:  func(c *Config, text string) (err error) { c.Executors, err = executor.Parse(text); return err },
	},
	{
		Name: "base-path", Value: "PATH",
		Help: "path in front of /v1, when a proxy adds one",
		set:  func(c *Config, text string) (err error) { c.BasePath, err = parseBasePath(text); return err },
	},
	{
		Name: "log-level", Value: "LEVEL", Default: "info",
		Help: "debug, info, warn or error; the local server takes warn, and writes no audit lines, if it logs to a terminal and this is not set",
		set:  func(c *Config, text string) error { return c.LogLevel.UnmarshalText([]byte(text)) },
	},
	{
		Name: "log-format", Value: "FORMAT", Default: "json", Local: "text",
		Help: "text or json",
		set:  func(c *Config, text string) (err error) { c.LogText, err = parseLogFormat(text); return err },
	},
	{
		Name: "access-log", Value: "PATH",
		Help: "file that the local server appends the lines of requests and of the audit to; warnings and errors also stay in the log",
		set:  func(c *Config, text string) error { c.AccessLog = text; return nil },
	},
	{
		Name: "console-link", Value: "SWITCH", Local: "auto",
		Help: "on or off: print a link at start that opens the console signed in, once; auto is on if the server logs to a terminal, listens on this machine only, and has a token",
		set:  func(c *Config, text string) (err error) { c.ConsoleLink, err = parseConsoleLink(text); return err },
	},
	{
		Name: "check-store", Value: "SWITCH", Default: "on",
		Help: "on or off: before a root in a bucket is served, find out whether its store keeps what commits rest on",
		set:  func(c *Config, text string) (err error) { c.CheckStore, err = parseSwitch(text); return err },
	},
	{
		Name: "metrics", Value: "FORMAT", Default: "auto",
		Help: "emf or off: metrics for CloudWatch as lines of the log; auto is emf in Lambda only",
		set:  func(c *Config, text string) (err error) { c.EMF, err = parseMetrics(text); return err },
	},
	{
		Name: "usage", Value: "SWITCH", Default: "off",
		Help: "on or off: meter what tenants use, by the hour, into the table __system$usage",
		set:  func(c *Config, text string) (err error) { c.Usage, err = parseSwitch(text); return err },
	},
	{
		Name: "traces", Value: "URL", Usual: "OTEL_EXPORTER_OTLP_ENDPOINT",
		Help: "collector of OpenTelemetry that takes OTLP over HTTP, such as http://localhost:4318; no traces when not set",
		set:  func(c *Config, text string) (err error) { c.Traces, err = parseCollector(text); return err },
	},
	{
		Name: "traces-share", Value: "SHARE", Default: "1",
		Help: "part of the traces that begin here which are recorded, from 0 to 1; a trace of a client is recorded if the client records it",
		set:  func(c *Config, text string) (err error) { c.TracesShare, err = parseShare(text); return err },
	},
	{
		Name: "traces-headers", Value: "HEADERS", Usual: "OTEL_EXPORTER_OTLP_HEADERS", Several: true,
		Help: "headers for the collector, NAME=VALUE separated by commas, with percent-encoding; they may be secrets",
		set:  func(c *Config, text string) (err error) { c.TracesHeaders, err = parseHeaders(text); return err },
	},
	{
		Name: "request-timeout", Value: "DURATION", Default: "5m",
		Help: "how long a request may take",
		set:  func(c *Config, text string) (err error) { c.RequestTimeout, err = parseTimeout(text); return err },
	},
	{
		Name: "stall-timeout", Value: "DURATION", Default: "1m",
		Help: "how long a client may take for 64KiB of a body or of an answer before its connection ends",
		set:  func(c *Config, text string) (err error) { c.StallTimeout, err = parseTimeout(text); return err },
	},
	{
		Name: "stream", Value: "SWITCH", Default: "off",
		Help: "on or off: functions send answers as they come, to the function URLs and REST APIs that are set up for it",
		set:  func(c *Config, text string) (err error) { c.Stream, err = parseSwitch(text); return err },
	},
	{
		Name: "parts", Value: "PLACE",
		Help: "where the parts of large queries run: lambda: and the name or ARN of a function, or the http:// or https:// URL of servers of the same release and root; in the process of the query when not set",
		set:  func(c *Config, text string) (err error) { c.Parts.Where, err = parseParts(text); return err },
	},
	{
		Name: "part-bytes", Value: "BYTES", Default: "128MiB",
		Help: "what a part of a query reads, decoded; a query that reads more than twice as much is divided",
		set:  func(c *Config, text string) (err error) { c.Parts.Bytes, err = parseBytes(text); return err },
	},
	{
		Name: "parts-together", Value: "NUMBER", Default: "16",
		Help: "most parts of a query at the same time, up to 1000",
		set:  func(c *Config, text string) (err error) { c.Parts.Together, err = parseTogether(text); return err },
	},
	{
		Name: "cache-bytes", Value: "BYTES", Default: "auto",
		Help: "memory for what was read of tables; auto is 512MiB, or a quarter of GOMEMLIMIT if that is less",
		set:  func(c *Config, text string) (err error) { c.CacheBytes, err = parseAuto[uint64](text); return err },
	},
	{
		Name: "cache-disk", Value: "FOLDER",
		Help: "folder for ranges of files that were read from buckets, such as /tmp/tiltyard, which later processes use; it is made if its parent exists; none when not set",
		set:  func(c *Config, text string) error { c.Ranges.Disk = text; return nil },
	},
	{
		Name: "cache-disk-bytes", Value: "BYTES", Default: "400MiB",
		Help: "size of that folder, at least 16MiB",
		set:  func(c *Config, text string) (err error) { c.Ranges.DiskBytes, err = parseDiskBytes(text); return err },
	},
	{
		Name: "cache-bucket", Value: "URL",
		Help: "s3://bucket/prefix of another bucket for such ranges, which answers faster than that of the root, also of S3 Express One Zone; all processes share it; none when not set",
		set:  func(c *Config, text string) (err error) { c.Ranges.Bucket, err = parseCacheBucket(text); return err },
	},
	{
		Name: "memory-bytes", Value: "BYTES", Default: "auto",
		Help: "memory that requests and jobs hold together, one of them three quarters at most; auto is three quarters of what the cache and the program leave of GOMEMLIMIT, or else of the function, the container, or half of the machine",
		set:  func(c *Config, text string) (err error) { c.MemoryBytes, err = parseAuto[int64](text); return err },
	},
	{
		Name: "max-json-bytes", Value: "BYTES", Default: "1MiB",
		Help: "largest JSON body",
		set:  func(c *Config, text string) (err error) { c.Limits.JSON, err = parseBytes(text); return err },
	},
	{
		Name: "max-query-bytes", Value: "BYTES", Default: "8MiB",
		Help: "largest body of a query, which may hold many vectors",
		set:  func(c *Config, text string) (err error) { c.Limits.Query, err = parseBytes(text); return err },
	},
	{
		Name: "max-upload-bytes", Value: "BYTES", Default: "4GiB",
		Help: "largest Arrow stream",
		set:  func(c *Config, text string) (err error) { c.Limits.Upload, err = parseBytes(text); return err },
	},
	{
		Name: "max-result-bytes", Value: "BYTES", Default: "10GiB",
		Help: "most bytes that the answers of one caller have together that wait in storage",
		set:  func(c *Config, text string) (err error) { c.ResultBytes, err = parseBytes(text); return err },
	},
	{
		Name: "max-message-bytes", Value: "BYTES", Default: "256MiB",
		Help: "largest message of an Arrow stream, as it was sent",
		set: func(c *Config, text string) (err error) {
			c.Uploads.MaxMessageBytes, err = parseBytes(text)
			return err
		},
	},
	{
		Name: "max-batch-bytes", Value: "BYTES", Default: "1GiB",
		Help: "largest record batch of an Arrow stream, decompressed",
		set: func(c *Config, text string) (err error) {
			c.Uploads.MaxDecodedBytes, err = parseBytes(text)
			return err
		},
	},
	{
		Name: "wasm", Value: "SWITCH", Default: "on",
		Help: "on or off: run functions that are WebAssembly modules, each in a process of its own",
		set:  func(c *Config, text string) (err error) { c.Wasm, err = parseSwitch(text); return err },
	},
	{
		Name: "wasm-module-bytes", Value: "BYTES", Default: "16MiB",
		Help: "largest WebAssembly module",
		set:  func(c *Config, text string) (err error) { c.WasmLimits.ModuleBytes, err = parseBytes(text); return err },
	},
	{
		Name: "wasm-memory-bytes", Value: "BYTES", Default: "256MiB",
		Help: "memory of a WebAssembly module, which is taken from that of jobs while it runs",
		set: func(c *Config, text string) (err error) {
			c.WasmLimits.MemoryBytes, err = parseModuleMemory(text)
			return err
		},
	},
	{
		Name: "wasm-call-timeout", Value: "DURATION", Default: "30s",
		Help: "how long a WebAssembly module may take for a batch of rows; to open it may take three times as long",
		set:  func(c *Config, text string) (err error) { c.WasmLimits.CallTime, err = parseTimeout(text); return err },
	},
	{
		Name: "wasm-output-bytes", Value: "BYTES", Default: "64MiB",
		Help: "most bytes that a WebAssembly module may return for a batch of rows",
		set: func(c *Config, text string) (err error) {
			c.WasmLimits.ResultBytes, err = parseModuleOutput(text)
			return err
		},
	},
	{
		Name: "stable-row-ids", Value: "SWITCH", Default: "off",
		Help: "on or off: rows of new tables keep their ids, so that views of them are refreshed by what has changed",
		set:  func(c *Config, text string) (err error) { c.StableRowIDs, err = parseSwitch(text); return err },
	},
	{
		Name: "authors", Value: "SWITCH", Default: "on",
		Help: "on or off: a version of a table notes the subject of the token that asked for it, for everyone who can read the table",
		set: func(c *Config, text string) error {
			on, err := parseSwitch(text)
			c.Anonymous = !on
			return err
		},
	},
	{
		Name: "max-merge-bytes", Value: "BYTES", Default: "16GiB",
		Help: "most rows that one merge may bring; those beyond 64MiB wait in $TMPDIR",
		set:  func(c *Config, text string) (err error) { c.MergeBytes, err = parseBytes(text); return err },
	},
	{
		Name: "max-top-k", Value: "ROWS", Default: "100000",
		Help: "most rows that a vector search of a larger table may ask for",
		set:  func(c *Config, text string) (err error) { c.TopK, err = parseCount(text); return err },
	},
}

// A Source returns the text of a setting. ok is false if the source lacks it.
type Source func(s Setting) (text string, ok bool)

// Environment is the source that reads environment variables. An empty variable counts as not set.
func Environment(s Setting) (text string, ok bool) {
	text = os.Getenv(s.Variable())
	if text == "" && s.Usual != "" {
		text = os.Getenv(s.Usual)
	}
	return text, text != ""
}

// LocalDefaults is the source of the local server's defaults.
func LocalDefaults(s Setting) (text string, ok bool) { return s.Local, s.Local != "" }

// Read looks each setting up in the sources, in order, and then in the defaults. The error names
// all missing and wrong settings. It contains no values, because a value may be a secret in the
// wrong setting.
func Read(sources ...Source) (Config, error) {
	var c Config
	var wrong []error
	for _, s := range Settings {
		text, ok := find(s, sources)
		switch {
		case !ok && s.required:
			wrong = append(wrong, fmt.Errorf("%s is not set (%s)", s.Name, s.Variable()))
		case ok && text == "":
			wrong = append(wrong, fmt.Errorf("%s (%s): %w", s.Name, s.Variable(), s.Check(text)))
		case ok:
			if err := s.set(&c, text); err != nil {
				wrong = append(wrong, fmt.Errorf("%s (%s): %w", s.Name, s.Variable(), err))
			}
		}
	}
	if c.JWKS == "" && (c.Issuer != "" || c.Audience != "" || c.JWTType != "") {
		wrong = append(wrong, errors.New("issuer, audience and jwt-type configure the verification of JWTs, which also needs jwks"))
	}
	if c.JWKS != "" && (c.Issuer == "" || c.Audience == "") {
		wrong = append(wrong, errors.New("jwks needs an issuer and an audience"))
	}
	if c.VendRole != "" && c.VendKeys != "" {
		wrong = append(wrong, errors.New("set only one of vend-role and vend-keys"))
	}
	if c.VendTags && c.VendRole == "" {
		wrong = append(wrong, errors.New("vend-tags needs vend-role, whose sessions have the tags"))
	}
	if c.EventTarget != "" && c.Events == "" {
		wrong = append(wrong, errors.New("event-target needs events, the source of what is forwarded"))
	}
	if at, err := forward.ParseAddress(c.EventTarget); err == nil && (at.Kind == forward.Webhook) != (c.EventKey != "") {
		wrong = append(wrong, errors.New("event-key and a webhook as event-target need each other"))
	}
	return c, errors.Join(wrong...)
}

// find returns the text of a setting from the first source that has one.
func find(s Setting, sources []Source) (text string, ok bool) {
	for _, source := range sources {
		if text, ok = source(s); ok {
			return text, true
		}
	}
	return s.Default, s.Default != ""
}
