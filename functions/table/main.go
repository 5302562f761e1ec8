// Command table is the Lambda function behind the operations on whole tables: create,
// describe, rename, drop. It reads and writes the records of the catalog, reads manifests,
// and deletes the data of dropped tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/table"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/tables/vending/stsvendor"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open, Role: stsvendor.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(table.New(tables).Routes()...), env.Stream, env.AtEnd()...)
}
