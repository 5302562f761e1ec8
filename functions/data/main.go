// Command data is the Lambda function behind the operations that write rows. It reads and writes
// tables, reads the records of the catalog, and writes the records of tables that it creates.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/data"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(data.New(tables, env.Uploads).Routes()...), env.Stream, env.AtEnd()...)
}
