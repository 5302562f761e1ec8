// Command schema is the Lambda function behind the operations that change the columns of tables. It reads the
// records of the catalog, and reads and writes tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(schema.New(tables, env.Uploads).Routes()...), env.Stream, env.AtEnd()...)
}
