// Command namespace is the Lambda function behind /v1/namespace and /v1/access. It reads and writes
// the records of the catalog, announces changes, and begins jobs.
package main

import (
	"slices"

	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/service/access"
	"tiltyard/shared/service/namespace"
	"tiltyard/shared/storage/record/dynamorecord"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	names := catalog.Open(env.Objects, env.Now)
	names.Drops.Retention = env.DropRetention
	jobs := jobs.NewStarter(transaction.Open(env.Records, env.Now), env.Queue)
	changefeed.Open(names, jobs, changefeed.Options{
		Source: env.Events, Keep: env.EventRetention, Objects: env.Objects.Home().Store, Records: env.Records, Now: env.Now, Logger: env.Logger,
	})
	apigateway.Serve(env.Handler(slices.Concat(namespace.New(names, jobs).Routes(), access.New(names).Routes())...), env.Stream, env.AtEnd()...)
}
