package simulation_test

import (
	"bytes"
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog"
	answers "tiltyard/shared/catalog/result"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/s3store"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

const token = "secret-of-the-simulation"

// requestTimeout is what a request may take, as a function is given.
const requestTimeout = 30 * time.Second

// An instance is a process that serves: the handler of all services over stores of its own,
// with nothing in its caches.
type instance struct {
	name    string
	handler http.Handler
	died    chan struct{} // closed when it is dead
	plan    func(w *world, p *parked) bool

	// What follows is the world's.
	world  *world
	dead   bool
	frozen time.Time // until then
}

func (i *instance) deadNow() bool {
	i.world.mu.Lock()
	defer i.world.mu.Unlock()
	return i.dead
}

// start starts an instance whose clock is ahead of the servers' by skew.
func (w *world) start(name string, skew time.Duration) *instance {
	i := &instance{name: name, world: w, died: make(chan struct{})}
	now := func() time.Time {
		_, clock := w.now()
		return clock.Add(skew)
	}
	ask := func(ctx context.Context, s *sent) verdict { return w.ask(ctx, i, s) }
	var objects objectstore.Store = &direct{ask}
	var items record.Store = &records{ask, now}
	if w.wired {
		objects, items = w.connect(i, now)
	}
	if w.files {
		items = objectrecord.Open(objects, now)
	}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "s3://bucket", Store: w.bugs.store(objects)})
	if err != nil {
		panic(err)
	}
	verifier, err := auth.NewStatic("simulation", token)
	if err != nil {
		panic(err)
	}
	stores := tables.Stores{Objects: roots, Records: items, Now: now, CacheBytes: 1 << 20}
	options := httpapi.Options{
		Verifier: auth.Chain{verifier, reader{w}}, Ledger: idempotency.Open(stores.Records, now), Now: now, Timeout: requestTimeout,
		Results: answers.Open(roots, now, 1<<20),
	}
	w.bugs.options(&options)
	if w.divides {
		stores.Parts = w.calling(i)
	}
	mux := http.NewServeMux()
	worker := &jobs.Worker{
		Starter: *jobs.NewStarter(transaction.Open(w.bugs.records(items), now), outbox{i}), Kinds: map[string]jobs.Kind{countKind: counting(i)},
		Name: cryptorand.Text, Now: now, Logger: slog.New(slog.DiscardHandler),
	}
	if w.seed%2 == 0 { // heavy work has a queue of its own
		worker.Heavy, worker.Light = outbox{i}, true
	}
	if w.works {
		stores.Queue = outbox{i}
		services := workers(w, stores)
		mux.Handle("/", httpapi.Handler(services.Routes, options))
		worker = services.Worker
	} else {
		mux.Handle("/", httpapi.Handler(all.Routes(stores, arrowipc.Limits{}), options))
	}
	mux.Handle(sweepPath, sweeper{catalog.Open(roots, now)})
	mux.Handle(rightPath, giver{w})
	mux.Handle("/jobs/", jobHandler(i, worker, now))
	i.handler = w.bugs.handler(mux)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instances = append(w.instances, i)
	return i
}

// sweepPath is that of a request to sweep the catalog, which workers do without being asked.
const sweepPath = "/sweep"

type sweeper struct{ names *catalog.Catalog }

func (s sweeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := s.names.Sweeper.Sweep(r.Context(), 0); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// connect returns the stores of an instance over the real clients of AWS.
func (w *world) connect(i *instance, now func() time.Time) (objectstore.Store, record.Store) {
	http := &wire{w, i}
	anyone := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "simulated", SecretAccessKey: "simulated"}, nil
	})
	bucket := s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://s3"), UsePathStyle: true, HTTPClient: http, Credentials: anyone,
		Retryer: aws.NopRetryer{}, DisableLogOutputChecksumValidationSkipped: true,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
	items := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://dynamodb"), HTTPClient: http, Credentials: anyone,
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
				return time.Duration(attempt+1) * 100 * time.Millisecond, nil // and not by chance
			})
		}),
	})
	objects, err := s3store.New(bucket, "bucket", "", slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	return objects, dynamorecord.New(items, "records", now)
}

// A request is one of a client.
type request struct {
	path   string
	body   []byte
	key    string            // Idempotency-Key, if any
	header map[string]string // instead of those of a client
	token  string            // instead of that of all
}

// A response is what a client gets; the zero status means that it gets nothing.
type response struct {
	status int
	body   []byte
	kind   string // Content-Type
}

// serve sends a request to the instance and waits for the response.
func (i *instance) serve(who string, r request) response {
	done := make(chan response, 1)
	go func() {
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler:
				done <- response{} // the connection ends within the answer
			default:
				panic(cause)
			}
		}()
		ctx := context.WithValue(context.Background(), whoKey{}, who)
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, r.path, bytes.NewReader(r.body))
		req.Header.Set("Authorization", "Bearer "+cmp.Or(r.token, token))
		req.Header.Set("User-Agent", "simulation")
		if r.key != "" {
			req.Header.Set("Idempotency-Key", r.key)
		}
		for name, value := range r.header {
			req.Header.Set(name, value)
		}
		answer := httptest.NewRecorder()
		i.handler.ServeHTTP(answer, req)
		done <- response{answer.Code, answer.Body.Bytes(), answer.Header().Get("Content-Type")}
	}()
	select {
	case r := <-done:
		if i.deadNow() {
			return response{} // it could not have told
		}
		return r
	case <-i.died:
		return response{}
	}
}
