// Command data is the Lambda function behind the operations that write rows. It reads the
// records of the catalog, writes those of tables that it creates, and reads and writes
// tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/data"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, StableRowIDs: env.StableRowIDs, Anonymous: env.Anonymous,
		Queue: env.Queue, EventSource: env.Events, EventRetention: env.EventRetention, Maintain: env.Maintain, Auto: tables.AutoRefresh(env.Auto),
	})
	apigateway.Serve(env.Handler(data.New(tables, env.Uploads).Routes()...), env.Stream)
}
