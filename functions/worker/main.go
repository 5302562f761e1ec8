// Command worker is the Lambda function that the queue of jobs calls. It does what takes
// longer than a request may, and may do to catalog and tables all that jobs do.
package main

import (
	"crypto/rand"

	"tiltyard/shared/boot"
	"tiltyard/shared/engine"
	"tiltyard/shared/job"
	"tiltyard/shared/job/sqsqueue"
	"tiltyard/shared/maintain"
	"tiltyard/shared/service"
	"tiltyard/shared/service/namespace"
)

func main() {
	env := boot.FromEnv()
	tables := service.Open(service.Stores{
		Objects: env.Objects, Records: env.Records, Now: env.Now, CacheBytes: env.CacheBytes,
		Rows: engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}, Queue: env.Queue,
	})
	keeper := &maintain.Keeper{Tables: tables, Records: env.Records, Now: env.Now, Grace: maintain.GraceAfter(env.RequestTimeout)}
	worker := &job.Worker{
		Starter: job.Starter{Transactions: tables.Transactions, Queue: env.Queue},
		Name:    rand.Text, Now: env.Now, Logger: env.Logger, Memory: env.Memory,
		Kinds: map[string]job.Kind{
			service.MaintainKind: keeper.Kind(),
			namespace.KindDrop:   namespace.Dropping(tables.Names),
		},
	}
	sqsqueue.Serve(worker, env.Jobs)
}
