// Command ref is the Lambda function behind the operations on tags and branches. It reads the records of the catalog,
// reads and writes the tags, branches and versions of tables, and schedules announcements.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/ref"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(ref.New(tables).Routes()...), env.Stream, env.AtEnd()...)
}
