// Package boot turns the environment into the components of a program: the stores, the verifier of
// credentials, the logger, the clock and the limits. It is the only package that reads environment
// variables.
//
// [Settings] is the one table of all settings. [Read] looks up the text of each setting in several
// sources in order of precedence, and reports all missing and wrong settings together. [Open] opens
// the components that the resulting [Config] names. Neither uses the network: the first token
// fetches the key set, and the first request connects to buckets and gets credentials, so the start
// of a function stays cheap.
//
// boot does not import services, so that a function contains only the services that it serves.
package boot

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog/result"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/engine/udf/wasm"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/http/metrics"
	"tiltyard/shared/http/quota"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/release"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/rangecache"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables/stores"
	"tiltyard/shared/tables/vending"
)

// Config contains the values of all settings.
type Config struct {
	Root           string   // a directory, created if it is missing, or an s3:// URL
	AllowLocations []string // directories, which must exist, or s3:// URLs
	Records        string   // dynamodb://TABLE; empty: in the root
	Jobs           string   // URL of a queue of SQS; empty: none
	HeavyJobs      string   // URL of another one, for heavy work; empty: none
	Maintain       bool     // maintenance of tables that are written to, by jobs
	Auto           stores.AutoRefresh
	DropRetention  time.Duration // time for which dropped tables can be restored if no property sets it
	Events         string        // source of events; empty: none
	EventRetention time.Duration // of events
	EventTarget    string        // ARN or URL that events are forwarded to; empty: nowhere
	EventKey       string        // a file or s3:// URL of the key that requests to a webhook are signed with
	Listen         string        // for the local server only
	SQLListen      string        // for the local server only: an address, off, or empty for the port after that of Listen
	SQLCertificate string        // for the local server only: a file; empty: drivers are answered without TLS
	SQLKey         string        // the file of its key
	CheckStore     bool          // whether the local server checks a root in a bucket before it serves it
	ConsoleLink    string        // auto, on or off: whether the local server prints a link that signs in to the console

	Token                     string // a secret
	APIKeys                   string // a file or s3:// URL
	JWKS                      string // a file or URL
	Issuer, Audience, JWTType string
	Policies                  string // a file or s3:// URL; empty: scopes decide
	Quotas                    string // a file or s3:// URL; empty: no limits
	VendRole, VendKeys        string // an ARN and a file; at most one of them is set
	VendTags                  bool   // the sessions of the role have tags

	LogLevel  slog.Level
	LogText   bool   // text in place of JSON
	AccessLog string // a file for the lines of requests and of the audit; empty: they are in the log
	Usage     bool   // meters what tenants use
	EMF       bool   // writes metrics for CloudWatch into the log

	Traces        string            // base URL of a collector; empty: no traces
	TracesShare   float64           // of traces that begin here and are recorded
	TracesHeaders map[string]string // for the collector; the values may be secret

	Secrets   string            // a file, kms: and the ARN of a key, or autoKeys; empty: no secrets
	Executors []executor.Config // of functions

	Wasm       bool        // runs functions that are WebAssembly modules
	WasmLimits wasm.Limits // of each function

	BasePath       string
	RequestTimeout time.Duration
	StallTimeout   time.Duration
	Stream         bool            // functions stream their answers
	Parts          stores.Parts    // of large queries
	Limits         httpapi.Limits  // limits of request bodies
	Uploads        arrowipc.Limits // limits of the contents of Arrow bodies
	ResultBytes    int64           // of the stored answers of one caller
	CacheBytes     uint64          // of the cache of tables; 0: Open chooses the size
	Ranges         Ranges          // the cache of ranges of files
	MemoryBytes    int64           // of all requests and jobs; 0: Open chooses the size
	MergeBytes     int64
	TopK           int
	ReadOnly       bool // directories are opened as they are: they must exist, and a write is an error
	StableRowIDs   bool // default for new tables
	Anonymous      bool // versions do not record the principal of their commit
}

// HasCredentials reports whether any kind of credentials is configured.
func (c Config) HasCredentials() bool { return c.Token != "" || c.APIKeys != "" || c.JWKS != "" }

// An Env contains the components of a program. They are safe for concurrent use.
type Env struct {
	Config
	Clients  Clients            // those that the program is built with
	Objects  *objectstore.Roots // the home root first, then the allowed locations
	Ranges   *rangecache.Cache  // of the roots in buckets; nil: none
	Records  record.Store       // records of transactions and stored answers
	Queue    jobs.Queue         // nil if there are no jobs
	Heavy    jobs.Queue         // for heavy jobs; nil if none is configured
	Memory   *memory.Budget     // budget of requests and jobs
	Verifier auth.Verifier
	Policies *auth.Policies              // nil: the scopes of tokens decide
	Quotas   *auth.Document[quota.Table] // nil: no limits
	Vendor   vending.Vendor              // issues credentials to clients; nil: none
	Runtimes udf.Runtimes                // by kind: runtimes of functions that need a configuration
	Logger   *slog.Logger
	Requests *slog.Logger // one line per request
	Audit    *slog.Logger // lines at all log levels, chained as in package audit; nil: none
	Now      func() time.Time
	Traces   *tracing.Tracer // nil: no traces

	Meter *usage.Meter // of usage; nil if it is not metered
	// Observers are called with each answered request, and Metrics writes the answer to GET /metrics;
	// it may be nil. Both must be set before Handler is called.
	Observers []func(*httpapi.Served)
	Metrics   func(io.Writer)
}

// FromEnv is Read and Open for functions, whose only source is the environment. If a setting is
// missing or wrong, it writes the error to standard error and ends the program, because a function
// has no caller at that time.
func FromEnv(clients Clients) *Env {
	env, err := openFromEnv(clients, os.Stderr)
	ExitOn(err)
	return env
}

// ExitOn ends the program with an error of the configuration, for functions. It does nothing without one.
func ExitOn(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "configuration:\n%v\n", err)
		os.Exit(1)
	}
}

// openFromEnv does the work of FromEnv, and returns the error.
func openFromEnv(clients Clients, log io.Writer) (*Env, error) {
	clients.AWS = cloud.FromEnv
	config, err := Read(Environment)
	if err != nil {
		return nil, err
	}
	if _, isKMS := config.keyOfKMS(); config.Secrets != "" && !isKMS {
		return nil, errors.New("TILTYARD_SECRETS: functions have no files that last, so it must be kms: and the ARN of a key")
	}
	if slices.ContainsFunc(config.Executors, executor.Config.IsCommand) {
		return nil, errors.New("TILTYARD_EXECUTOR: functions start no commands: exec: is for the local server")
	}
	if !config.HasCredentials() {
		return nil, errors.New("no client could sign in: set TILTYARD_JWKS, TILTYARD_API_KEYS or TILTYARD_TOKEN")
	}
	return Open(config, clients, log)
}

// Open opens the stores and other parts of a configuration. Log lines are written to log.
func Open(c Config, clients Clients, log io.Writer) (*Env, error) {
	clients.AWS = sync.OnceValues(clients.AWS)
	log = &lockedWriter{w: log}
	logger := newLogger(c, log, c.LogLevel)
	budget := divideMemory(&c)
	verifier, verifierErr := openVerifier(c, clients, logger)
	objects, ranges, objectsErr := openStores(c, clients, budget, logger)
	policies, policiesErr := openPolicies(c, clients, logger, time.Now)
	quotas, quotasErr := openQuotas(c, clients, logger, time.Now)
	vendor, vendorErr := openVendor(c, clients, time.Now)
	if err := errors.Join(verifierErr, objectsErr, policiesErr, quotasErr, vendorErr); err != nil {
		return nil, err
	}
	records, err := openRecords(c, clients, objects, time.Now)
	if err != nil {
		return nil, err
	}
	queue, heavy, err := openJobs(c, clients)
	if err != nil {
		return nil, err
	}
	runtimes, err := openRuntimes(c)
	if err != nil {
		return nil, err
	}
	requests, auditing, err := openAccessLog(c, log, logger)
	if err != nil {
		return nil, err
	}
	env := &Env{
		Config: c, Clients: clients, Memory: budget, Objects: objects, Ranges: ranges, Records: records, Queue: queue, Heavy: heavy, Verifier: verifier, Policies: policies, Quotas: quotas, Vendor: vendor,
		Logger: logger, Requests: requests, Audit: auditing, Now: time.Now,
		Runtimes: runtimes, Traces: openTraces(c, logger),
	}
	if c.Usage {
		env.Meter = usage.Open(records, time.Now, rand.Text())
		env.Observers = append(env.Observers, env.meter)
	}
	if c.EMF {
		env.Observers = append(env.Observers, metrics.EMF(log, time.Now))
	}
	return env, nil
}

// Handler serves the routes within the configured limits, to clients that can sign in. It keeps the
// answers to mutations with a key among the records.
func (e *Env) Handler(routes ...httpapi.Route) http.Handler {
	return httpapi.Handler(routes, httpapi.Options{
		Verifier:     e.Verifier,
		Policies:     e.Policies,
		Quotas:       quota.Open(e.Quotas, e.Records, e.Now, e.Logger),
		Ledger:       idempotency.Open(e.Records, e.Now),
		Memory:       e.Memory,
		Results:      result.Open(e.Objects, e.Now, e.ResultBytes),
		Logger:       e.Requests,
		Audit:        e.Audit,
		Observe:      e.observe,
		Metrics:      e.Metrics,
		Traces:       e.Traces,
		Ready:        e.ready,
		Store:        e.CheckRoot,
		Now:          e.Now,
		BasePath:     e.BasePath,
		Release:      release.Version(),
		Timeout:      e.RequestTimeout,
		StallTimeout: e.StallTimeout,
		Limits:       e.Limits,
	})
}

// ownFunction is the place of parts of queries that means the function itself.
const ownFunction = "lambda"

// Stores returns the stores and settings that tables are opened over.
func (e *Env) Stores() stores.Set {
	parts := e.Parts
	parts.AWS = e.Clients.AWS
	parts.Endpoint = cmp.Or(os.Getenv("AWS_ENDPOINT_URL_LAMBDA"), os.Getenv("AWS_ENDPOINT_URL"))
	if parts.Where == ownFunction {
		parts.Where += ":" + os.Getenv(functionVariable)
	}
	parts.Memory = functionMemory(os.Getenv)
	return stores.Set{
		Objects: e.Objects, Records: e.Records, Now: e.Now, Logger: e.Logger,
		CacheBytes: e.CacheBytes, MergeBytes: e.MergeBytes, TopK: e.TopK,
		StableRowIDs: e.StableRowIDs, Anonymous: e.Anonymous,
		Queue: e.Queue, Maintain: e.Maintain, Metered: e.Usage, Auto: e.Auto,
		DropRetention: e.DropRetention, EventSource: e.Events, EventRetention: e.EventRetention,
		Vendor: e.Vendor, Runs: e.Runs, Rights: auth.Rights{Verifier: e.Verifier, Policies: e.Policies}, Parts: parts,
	}
}
