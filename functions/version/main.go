// Command version is the Lambda function behind the operations on versions of tables. It reads and
// writes the manifests of tables and the records of the catalog.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/version"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(version.New(tables).Routes()...), env.Stream, env.AtEnd()...)
}
