package boot

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/auth"
	"tiltyard/shared/httpapi"
	"tiltyard/shared/idempotency"
	"tiltyard/shared/job"
	"tiltyard/shared/memory"
	"tiltyard/shared/metrics"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/record"
	"tiltyard/shared/vending"
)

// Config is what the settings say.
type Config struct {
	Root           string   // directory, made when it is missing, or s3:// URL
	AllowLocations []string // directories, which must exist, or s3:// URLs
	Records        string   // dynamodb://TABLE; empty: in the root
	Jobs           string   // URL of a queue of SQS; empty: none
	Maintain       bool     // tables that are written to
	Listen         string   // of the local server only

	Token                     string // a secret
	APIKeys                   string // file
	JWKS                      string // file or URL
	Issuer, Audience, JWTType string
	Policies                  string // file, or s3:// URL; empty: scopes decide
	VendRole, VendKeys        string // ARN, file; at most one of them

	LogLevel slog.Level
	LogText  bool // and not JSON
	EMF      bool // metrics for CloudWatch in the log

	BasePath       string
	RequestTimeout time.Duration
	StallTimeout   time.Duration
	Stream         bool            // answers of functions
	Limits         httpapi.Limits  // of bodies
	Uploads        arrowipc.Limits // of what is in Arrow bodies
	CacheBytes     uint64          // of what was read of tables; Open chooses when it is 0
	MemoryBytes    int64           // that requests and jobs hold together; Open chooses when it is 0
	MergeBytes     int64
	TopK           int
}

// HasCredentials says whether there is any way to sign in.
func (c Config) HasCredentials() bool { return c.Token != "" || c.APIKeys != "" || c.JWKS != "" }

// An Env is what a program is wired from. What its fields hold is safe for concurrent use.
type Env struct {
	Config
	Objects  *objectstore.Roots // the home root first, then the allowed locations
	Records  record.Store       // of transactions and of answers
	Queue    job.Queue          // of jobs; nil when none is configured
	Memory   *memory.Budget     // of requests and jobs
	Verifier auth.Verifier
	Policies *auth.Policies // nil: scopes decide
	Vendor   vending.Vendor // of credentials for clients; nil: none
	Logger   *slog.Logger
	Audit    *slog.Logger // what no log level leaves out
	Now      func() time.Time

	// Observers are told of each request that the handler has answered, and Metrics writes
	// what GET /metrics answers; nil when there is none. Who adds to them does so before
	// Handler is called.
	Observers []func(*httpapi.Served)
	Metrics   func(io.Writer)
}

// FromEnv is Read and Open for functions, which are configured by their environment and
// by nothing else. When something is missing or wrong it says so on standard error and
// ends the program: there is nobody it could answer.
func FromEnv() *Env {
	env, err := openFromEnv(os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "configuration:\n%v\n", err)
		os.Exit(1)
	}
	return env
}

func openFromEnv(log io.Writer) (*Env, error) {
	config, err := Read(Environment)
	if err != nil {
		return nil, err
	}
	if !config.HasCredentials() {
		return nil, errors.New("nobody could sign in: set TILTYARD_JWKS, TILTYARD_API_KEYS or TILTYARD_TOKEN")
	}
	return Open(config, log)
}

// Open opens what the configuration names. Log lines go to log.
func Open(c Config, log io.Writer) (*Env, error) {
	log = &lockedWriter{w: log}
	verifier, verifierErr := openVerifier(c)
	logger := newLogger(c, log, c.LogLevel)
	objects, objectsErr := openStores(c, logger)
	policies, policiesErr := openPolicies(c, logger, time.Now)
	vendor, vendorErr := openVendor(c, time.Now)
	if err := errors.Join(verifierErr, objectsErr, policiesErr, vendorErr); err != nil {
		return nil, err
	}
	records, err := openRecords(c, objects, time.Now)
	if err != nil {
		return nil, err
	}
	queue, err := openJobs(c)
	if err != nil {
		return nil, err
	}
	budget := divideMemory(&c)
	env := &Env{
		Config: c, Memory: budget, Objects: objects, Records: records, Queue: queue, Verifier: verifier, Policies: policies, Vendor: vendor,
		Logger: logger, Audit: newLogger(c, log, slog.LevelDebug), Now: time.Now,
	}
	if c.EMF {
		env.Observers = append(env.Observers, metrics.EMF(log, time.Now))
	}
	return env, nil
}

// Handler serves the routes to those who may sign in, within the configured limits. What
// mutations with a key were answered is among the records.
func (e *Env) Handler(routes ...httpapi.Route) http.Handler {
	return httpapi.Handler(routes, httpapi.Options{
		Verifier:     e.Verifier,
		Policies:     e.Policies,
		Ledger:       idempotency.Open(e.Records, e.Now),
		Memory:       e.Memory,
		Logger:       e.Logger,
		Audit:        e.Audit,
		Observe:      e.observe,
		Metrics:      e.Metrics,
		Ready:        e.ready,
		Now:          e.Now,
		BasePath:     e.BasePath,
		Release:      Release(),
		Timeout:      e.RequestTimeout,
		StallTimeout: e.StallTimeout,
		Limits:       e.Limits,
	})
}

// Release is the version of the program: a tag, or one made of the commit it was built
// from; "(devel)" when the build does not know.
func Release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
