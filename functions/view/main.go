// Command view is the Lambda function behind the operations on views, on functions and on secrets. It reads
// and writes the records of the catalog, keeps the code of functions, makes the tables of views, and begins
// the jobs that fill views and prove functions.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/view"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	keys, err := boot.OpenKeys(env)
	boot.ExitOn(err)
	tables := tables.Open(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Anonymous: env.Anonymous, Queue: env.Queue, EventSource: env.Events, EventRetention: env.EventRetention, Maintain: env.Maintain, Auto: tables.AutoRefresh(env.Auto), DropRetention: env.DropRetention,
		Runs: env.Runs,
	})
	apigateway.Serve(env.Handler(view.New(tables, keys).Routes()...), env.Stream)
}
