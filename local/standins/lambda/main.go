// Command lambda runs the built functions on this machine like AWS: behind a gateway that passes
// them events ([tiltyard/local/standins/gateway]), over the runtime API of Lambda
// ([tiltyard/local/standins/runtimeapi]), with S3, DynamoDB and SQS at AWS_ENDPOINT_URL. It creates
// the bucket, the table and the queues of the functions.
//
//	lambda -functions bin/functions -listen 127.0.0.1:10025
//
// With -url it also listens there, like the URL of the function called stream, which serves all
// operations and streams its responses.
//
// Functions call each other by Lambda's API, as parts of large queries do, at an address that they get as
// AWS_ENDPOINT_URL_LAMBDA.
//
// The functions inherit the environment of this program, so that TILTYARD_TOKEN and other variables
// configure them like the local server.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/local/standins/gateway"
	"tiltyard/local/standins/runtimeapi"
)

func main() {
	var o options
	flag.StringVar(&o.folder, "functions", "bin/functions", "`folder` of the built functions")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:10025", "`host:port` of the gateway; port 0 takes a free one")
	flag.StringVar(&o.url, "url", "", "`host:port` of the URL of the function that serves everything, which streams; none when empty")
	flag.StringVar(&o.stage, "stage", "local", "`name` of the bucket, the table and the queues, after tiltyard-")
	flag.IntVar(&o.instances, "instances", 10, "most `instances` of a function")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lambda:", err)
		os.Exit(1)
	}
}

type options struct {
	folder, listen, url, stage string
	instances                  int
}

// functionTimeout is the timeout of functions behind a gateway.
const functionTimeout = 29 * time.Second

// run serves until the context ends.
func run(ctx context.Context, o options) (err error) {
	stores, err := openStores(ctx, "tiltyard-"+o.stage)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	calls, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	environment := append([]string{"TILTYARD_PARTS=lambda:query"}, stores.environment()...)
	environment = append(environment, "AWS_ENDPOINT_URL_LAMBDA=http://"+calls.Addr().String())
	if token, made := chooseToken(); made {
		environment = append(environment, "TILTYARD_TOKEN="+token)
		fmt.Fprintf(os.Stderr, "token: %s (made for this run; set TILTYARD_TOKEN to choose one)\n", token)
	}
	functions, worker, err := o.find(environment)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Close()) }()
	byGroup := map[string]gateway.Function{}
	for name, f := range functions {
		byGroup[name] = f
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	tasks, ctx := errgroup.WithContext(ctx)
	for _, q := range []queue{stores.jobs, stores.dead} {
		tasks.Go(func() error { stores.poll(ctx, q, worker, log); return nil })
	}
	tasks.Go(func() error { return serve(ctx, listener, gateway.Handler(byGroup, log)) })
	tasks.Go(func() error { return serve(ctx, calls, invocations(byGroup)) })
	if o.url != "" {
		tasks.Go(func() error { return o.serveURL(ctx, environment, log) })
	}
	fmt.Fprintf(os.Stderr, "the functions of %s answer at http://%s, over s3://%s at %s\n",
		o.folder, listener.Addr(), stores.name, os.Getenv("AWS_ENDPOINT_URL"))
	return tasks.Wait()
}

// streamName is the folder of the function with a URL.
const streamName = "stream"

// serveURL serves requests with one function, which streams its responses, until the context ends.
func (o options) serveURL(ctx context.Context, environment []string, log *slog.Logger) (err error) {
	path := filepath.Join(o.folder, streamName, "bootstrap")
	function := runtimeapi.New(o.config(streamName, path, append(environment, "TILTYARD_STREAM=on")))
	defer func() { err = errors.Join(err, function.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.url)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "the URL of the function %s is http://%s\n", streamName, listener.Addr())
	return serve(ctx, listener, gateway.FunctionURL(function, log))
}

// chooseToken returns the configured token. If neither a token nor another way to sign in is
// configured, it generates one.
func chooseToken() (token string, made bool) {
	for _, name := range []string{"TILTYARD_TOKEN", "TILTYARD_API_KEYS", "TILTYARD_JWKS"} {
		if os.Getenv(name) != "" {
			return "", false
		}
	}
	return rand.Text(), true
}

// find returns the functions in the folder, and the worker separately.
func (o options) find(environment []string) (functions map[string]*runtimeapi.Function, worker *runtimeapi.Function, err error) {
	paths, err := filepath.Glob(filepath.Join(o.folder, "*", "bootstrap"))
	if err != nil {
		return nil, nil, err
	}
	functions = map[string]*runtimeapi.Function{}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		config := o.config(name, path, environment)
		if name == workerName {
			config.Timeout, config.Instances = workerTimeout, 1
		}
		functions[name] = runtimeapi.New(config)
	}
	worker = functions[workerName]
	delete(functions, workerName)
	delete(functions, streamName) // see serveURL
	if worker == nil || functions[gateway.Fallback] == nil {
		return nil, nil, fmt.Errorf("no built functions in %s: make build", o.folder)
	}
	return functions, worker, nil
}

// config returns the configuration of a function.
func (o options) config(name, path string, environment []string) runtimeapi.Config {
	return runtimeapi.Config{
		Name: name, Bootstrap: path, Timeout: functionTimeout, Instances: o.instances, Log: os.Stderr,
		Env: append([]string{"TILTYARD_REQUEST_TIMEOUT=28s"}, environment...),
	}
}

// serve serves requests until the context ends, and then lets running requests finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), functionTimeout)
	defer cancel()
	return server.Shutdown(last)
}
