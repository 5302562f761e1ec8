// Command sql is the Lambda function behind the operation that runs statements in SQL. A statement does what another
// operation does, so the function reads and writes tables and the records of the catalog, and begins jobs.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/sql"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(sql.New(tables, maintain.Open(tables, env.RequestTimeout), env.Uploads).Routes()...), env.Stream, env.AtEnd()...)
}
