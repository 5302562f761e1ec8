// Command version is the Lambda function behind the operations on versions of tables. It
// reads the manifests of tables and writes them, and the records of the catalog.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/version"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Anonymous: env.Anonymous, Queue: env.Queue, EventSource: env.Events, EventRetention: env.EventRetention, Maintain: env.Maintain, Auto: tables.AutoRefresh(env.Auto),
	})
	apigateway.Serve(env.Handler(version.New(tables).Routes()...), env.Stream)
}
