// Command worker is the Lambda function that the queue of jobs invokes, for work that takes longer
// than a request may. Its role permits everything that jobs do to the catalog and to tables. It is
// the only function that runs user functions, on executors, and opens secrets for them.
package main

import (
	"crypto/rand"

	"tiltyard/shared/boot"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/secretbox/kmskeys"
	"tiltyard/shared/engine/udf/executor/lambdaexec"
	"tiltyard/shared/engine/udf/wasm/host"
	"tiltyard/shared/events/outbox/forward/awstarget"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work"
	"tiltyard/shared/work/maintain"
)

func main() {
	host.Intercept()
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open, Keys: kmskeys.Open})
	tables := tables.Open(env.Stores())
	keys, err := env.OpenKeys()
	boot.ExitOn(err)
	boot.ExitOn(env.AddExecutors(lambdaexec.Open(env.AWS, env.Objects.Home().Store, functions.CallsFolder), tables.Names.Secrets.ByName(keys)))
	target, err := env.OpenEventTarget(awstarget.Open)
	boot.ExitOn(err)
	tables.Announcer.ForwardTo(env.EventTarget, target)
	keeper := maintain.Open(tables, env.RequestTimeout)
	worker := &jobs.Worker{
		Starter: jobs.Starter{Transactions: tables.Transactions, Queue: env.Queue, Heavy: env.Heavy}, Light: true,
		Name: rand.Text, Now: env.Now, Logger: env.Logger, Memory: env.Memory, Traces: env.Traces, Observe: env.JobMeter(),
		Kinds: work.Kinds(tables, keeper, work.Functions(tables, keys, env.Runtimes)),
	}
	sqsqueue.Serve(worker, env.Jobs)
}
