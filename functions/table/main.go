// Command table is the Lambda function behind the operations on whole tables: create,
// describe, rename, drop. It reads and writes the records of the catalog, reads manifests,
// and deletes the data of dropped tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/table"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Anonymous: env.Anonymous, Queue: env.Queue, EventSource: env.Events, EventRetention: env.EventRetention, Maintain: env.Maintain, Auto: tables.AutoRefresh(env.Auto), DropRetention: env.DropRetention,
		Vendor: env.Vendor,
	})
	apigateway.Serve(env.Handler(table.New(tables).Routes()...), env.Stream)
}
