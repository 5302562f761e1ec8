// Command default is the Lambda function behind what the gateway cannot route: paths that
// end in a slash, as LanceDB's clients send them, and paths that there are none of. It
// serves all operations over all stores, as the local server does.
package main

import (
	"tiltyard/local/embedded"
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service"
)

func main() {
	env := boot.FromEnv()
	apigateway.Serve(env.Handler(embedded.Routes(service.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Queue: env.Queue, Maintain: env.Maintain,
		Vendor: env.Vendor,
	}, env.Uploads)...), env.Stream)
}
