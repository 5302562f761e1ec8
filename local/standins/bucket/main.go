// Command bucket serves a directory as a bucket of S3 that is as far away as one in AWS: each answer comes later, and
// each stream of bytes has a limited rate. It counts requests and bytes.
//
//	bucket -root data -name lake -listen 127.0.0.1:9000 -latency 20ms -rate 75
//
// It has the operations that the service uses: conditional puts and deletes, reads by range, listings, and uploads in
// parts. It checks no signatures and must only listen on this machine. GET /-/taken returns what was counted since the
// last such request, as JSON. POST /-/storm?share=0.5&seconds=10 begins a storm, in which this share of the time requests
// are answered with 503 SlowDown; with -storm there is one from the beginning.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tiltyard/shared/storage/objectstore/diskstore"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", "data", "`directory` of the objects")
	flag.StringVar(&o.name, "name", "lake", "`name` of the bucket")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "`host:port` to listen on; port 0 takes a free one")
	flag.DurationVar(&o.latency, "latency", 0, "how much `later` each answer begins")
	flag.Float64Var(&o.rate, "rate", 0, "`megabytes` a second of each answer; 0 means no limit")
	flag.Float64Var(&o.storm, "storm", 0, "`share` of the time, from 0 to 1, in which requests are refused")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bucket:", err)
		os.Exit(1)
	}
}

type options struct {
	root, name, listen string
	latency            time.Duration
	rate, storm        float64
}

// run serves until the context ends.
func run(ctx context.Context, o options) (err error) {
	if !(o.storm >= 0 && o.storm <= 1) {
		return fmt.Errorf("-storm is %v; want a share from 0 to 1", o.storm)
	}
	objects, err := diskstore.Open(o.root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	var storm storm
	storm.begin(o.storm, 0)
	handler := away(newBucket(o.name, objects), o.latency, o.rate, &storm)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Fprintf(os.Stderr, "the bucket %s answers at http://%s\n", o.name, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
