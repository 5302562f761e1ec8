// Command transaction is the Lambda function behind /v1/transaction, /v1/jobs and /v1/event, and begins the maintenance of
// tables. It reads and writes the records of transactions, reads the catalog and the manifests of tables, which record
// commits, and begins jobs.
package main

import (
	"slices"

	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/event"
	"tiltyard/shared/service/job"
	"tiltyard/shared/service/table"
	"tiltyard/shared/service/transaction"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(slices.Concat(
		transaction.New(tables).Routes(),
		job.New(tables).Routes(),
		event.New(tables).Routes(),
		table.NewMaintenance(tables, maintain.Open(tables, env.RequestTimeout)).Routes(),
	)...), env.Stream, env.AtEnd()...)
}
