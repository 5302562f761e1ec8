// Command functionbench measures the built functions on this machine, over the runtime API of
// Lambda ([tiltyard/local/standins/runtimeapi]), with S3 at AWS_ENDPOINT_URL:
//
//   - cold: from the start of the process to its first answer, the description of a table
//   - warm: the same in a process that has answered before, with and without storage
//
// Times depend as much on the machine, and on the S3 server, as on the functions. The program
// therefore alternates with a bare function that only reads the same object with the same SDK. The
// ratio of the two determines the exit status.
//
//	functionbench -functions bin/functions -bare bin/bare
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/local/standins/runtimeapi"
	"tiltyard/shared/storage/objectstore/s3store"
)

// The targets. If the machine is so busy that the bare function also starts late, only the ratio of
// cold starts counts.
const (
	maxColdMillis = 25
	maxColdRatio  = 1.75
	maxWarmRatio  = 1.5
)

const token = "token-of-the-benchmark"

func main() {
	var b bench
	flag.StringVar(&b.folder, "functions", "bin/functions", "`folder` of the built functions")
	flag.StringVar(&b.bare, "bare", "bin/bare", "`path` of the built bare function")
	flag.IntVar(&b.cold, "cold", 31, "how many `processes` are started of each")
	flag.IntVar(&b.warm, "warm", 1000, "how many `calls` are made of each when warm")
	flag.Parse()
	met, err := b.run(context.Background())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "functionbench:", err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

type bench struct {
	folder, bare string
	cold, warm   int
}

// run prints a line for each measure, and returns whether all targets are met.
func (b *bench) run(ctx context.Context) (met bool, err error) {
	env, err := makeBucket(ctx)
	if err != nil {
		return false, err
	}
	ours := runtimeapi.Config{
		Name: "table", Bootstrap: filepath.Join(b.folder, "table", "bootstrap"), Env: env,
		Timeout: time.Minute, Instances: 1, Log: quiet{},
	}
	bare := ours
	bare.Name, bare.Bootstrap = "bare", b.bare
	if err := b.declare(ctx, ours); err != nil {
		return false, err
	}
	describe, probe := event("POST", "/v1/table/t/describe"), event("GET", "/healthz")
	met = true
	judge := func(what string, o, n []time.Duration, ok func(median, ratio float64) bool) {
		median, p95, of := millis(o, 0.5), millis(o, 0.95), millis(n, 0.5)
		good := ok(median, median/of)
		met = met && good
		fmt.Printf("%-32s ours p50 %7.3f ms, p95 %7.3f ms; bare p50 %7.3f ms; ratio %5.2f  %s\n",
			what, median, p95, of, median/of, map[bool]string{true: "ok", false: "MISSED"}[good])
	}
	o, n, err := coldStarts(ctx, b.cold, describe, ours, bare)
	if err != nil {
		return false, err
	}
	judge("cold: start to describe", o, n, func(median, ratio float64) bool { return median <= maxColdMillis || ratio <= maxColdRatio })
	for _, warm := range []struct {
		what  string
		event []byte
	}{{"warm: describe", describe}, {"warm: probe, no storage", probe}} {
		if o, n, err = warmCalls(ctx, b.warm, warm.event, ours, bare); err != nil {
			return false, err
		}
		judge(warm.what, o, n, func(_, ratio float64) bool { return ratio <= maxWarmRatio })
	}
	return met, nil
}

// makeBucket creates a bucket and returns the environment of the functions.
func makeBucket(ctx context.Context) (env []string, err error) {
	configuration, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(configuration, func(o *s3.Options) { o.UsePathStyle = true })
	bucket := fmt.Sprintf("tiltyard-bench-%d", time.Now().UnixNano())
	if err := s3store.CreateBucket(ctx, client, bucket); err != nil {
		return nil, err
	}
	return append(os.Environ(),
		"TILTYARD_ROOT=s3://"+bucket, "TILTYARD_TOKEN="+token,
		"BENCH_BUCKET="+bucket, "BENCH_KEY=_catalog/$/t/t", // the catalog record of the table
	), nil
}

// declare declares the table that the functions describe.
func (b *bench) declare(ctx context.Context, ours runtimeapi.Config) error {
	f := runtimeapi.New(ours)
	if err := call(ctx, f, event("POST", "/v1/table/t/declare")); err != nil {
		return err
	}
	return f.Close()
}

// coldStarts starts the two programs the given number of times, alternately.
func coldStarts(ctx context.Context, times int, event []byte, ours, bare runtimeapi.Config) (o, n []time.Duration, err error) {
	for range times {
		for _, side := range []struct {
			config runtimeapi.Config
			took   *[]time.Duration
		}{{ours, &o}, {bare, &n}} {
			f := runtimeapi.New(side.config)
			began := time.Now()
			err := call(ctx, f, event)
			*side.took = append(*side.took, time.Since(began))
			if err != nil {
				return nil, nil, err
			}
			if err := f.Close(); err != nil {
				return nil, nil, err
			}
		}
	}
	return o, n, nil
}

// warmCalls calls one process of each program the given number of times, alternately.
func warmCalls(ctx context.Context, times int, event []byte, ours, bare runtimeapi.Config) (o, n []time.Duration, err error) {
	f, g := runtimeapi.New(ours), runtimeapi.New(bare)
	for i := -times / 10; i < times; i++ { // the first calls only warm up
		for _, side := range []struct {
			f    *runtimeapi.Function
			took *[]time.Duration
		}{{f, &o}, {g, &n}} {
			began := time.Now()
			if err := call(ctx, side.f, event); err != nil {
				return nil, nil, err
			}
			if i >= 0 {
				*side.took = append(*side.took, time.Since(began))
			}
		}
	}
	if err := f.Close(); err != nil {
		return nil, nil, err
	}
	return o, n, g.Close()
}

// call invokes a function and checks that the response is a success.
func call(ctx context.Context, f *runtimeapi.Function, event []byte) error {
	answer, err := f.Invoke(ctx, event)
	if err != nil {
		return err
	}
	var response events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(answer, &response); err != nil || response.StatusCode != 200 {
		return fmt.Errorf("the function answers %.500s", answer)
	}
	return nil
}

// event returns a request in the form of an HTTP API event.
func event(method, path string) []byte {
	in := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: path,
		Headers: map[string]string{"authorization": "Bearer " + token, "content-type": "application/json", "user-agent": "bench"},
	}
	in.RequestContext.HTTP.Method, in.RequestContext.HTTP.Path = method, path
	if method == "POST" {
		in.Body = "{}"
	}
	payload, err := json.Marshal(in)
	if err != nil {
		panic(err) // a struct of strings always encodes
	}
	return payload
}

// millis returns a quantile in milliseconds.
func millis(took []time.Duration, q float64) float64 {
	slices.Sort(took)
	return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000
}

// quiet discards the logs of functions.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }
