// Command stream is the Lambda function with a URL of its own, where answers are sent as they
// come: HTTP APIs cannot. Clients connect to it as to the gateway, so that it serves all
// operations over all stores, as the local server does.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/all"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	apigateway.Serve(env.Handler(all.Routes(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Queue: env.Queue, Maintain: env.Maintain,
		Vendor: env.Vendor,
	}, env.Uploads)...), env.Stream)
}
