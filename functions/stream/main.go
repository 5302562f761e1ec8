// Command stream is the Lambda function with a URL of its own, which sends responses as
// they are made; HTTP APIs cannot do that. Clients use it like the gateway, so it serves
// all operations over all stores, as the local server does.
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
	keys, err := boot.OpenKeys(env)
	boot.ExitOn(err)
	services := all.Open(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, StableRowIDs: env.StableRowIDs, Anonymous: env.Anonymous,
		Queue: env.Queue, EventSource: env.Events, EventRetention: env.EventRetention, Maintain: env.Maintain, Auto: tables.AutoRefresh(env.Auto), DropRetention: env.DropRetention,
		Vendor: env.Vendor, Runs: env.Runs,
	}, all.Options{Uploads: env.Uploads, RequestTimeout: env.RequestTimeout, Keys: keys})
	apigateway.Serve(env.Handler(services.Routes...), env.Stream)
}
