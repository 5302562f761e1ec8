// Command query is the Lambda function behind the operations that read rows. It uses records only for quotas and usage,
// and writes only results that clients fetch from storage.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/service/query"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open})
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(query.New(tables).Routes()...), env.Stream, env.AtEnd()...)
}
