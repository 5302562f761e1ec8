// Command transaction is the Lambda function behind /v1/transaction and /v1/jobs. It reads
// and writes the records of transactions, reads those of the catalog and the manifests of
// tables, which record commits, and begins jobs.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/build"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/transaction"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(tables.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Anonymous: env.Anonymous, Queue: env.Queue, EventSource: env.Events, EventRetention: env.EventRetention, Maintain: env.Maintain, Auto: tables.AutoRefresh(env.Auto),
	})
	keeper := &maintain.Keeper{Tables: tables, Records: env.Records, Now: env.Now, Grace: maintain.GraceAfter(env.RequestTimeout), Extend: build.Extender{}}
	apigateway.Serve(env.Handler(transaction.New(tables, keeper).Routes()...), env.Stream)
}
