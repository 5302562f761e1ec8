// Command index is the Lambda function behind the operations on indices. It reads the records of the catalog, and reads
// and writes versions of tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/index"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(index.New(tables).Routes()...), env.Stream, env.AtEnd()...)
}
