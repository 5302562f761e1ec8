// Command schema is the Lambda function behind the operations that change the columns of tables. It reads the
// records of the catalog, and reads and writes tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Anonymous: env.Anonymous, Queue: env.Queue, EventSource: env.Events, EventRetention: env.EventRetention, Maintain: env.Maintain, Auto: tables.AutoRefresh(env.Auto),
		Runs: env.Runs,
	})
	apigateway.Serve(env.Handler(schema.New(tables, env.Uploads).Routes()...), env.Stream)
}
