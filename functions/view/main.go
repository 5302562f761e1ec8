// Command view is the Lambda function behind the operations on views, functions, secrets and row errors. It reads and
// writes the records of the catalog, stores the code of functions, creates the tables of views, and begins the jobs that
// fill views and prove functions.
package main

import (
	"slices"

	"tiltyard/shared/boot"
	"tiltyard/shared/catalog/secretbox/kmskeys"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/function"
	"tiltyard/shared/service/secret"
	"tiltyard/shared/service/table"
	"tiltyard/shared/service/view"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open, Keys: kmskeys.Open})
	keys, err := env.OpenKeys()
	boot.ExitOn(err)
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(slices.Concat(
		view.New(tables).Routes(),
		function.New(tables).Routes(),
		secret.New(tables.Names, keys).Routes(),
		table.NewErrors(tables).Routes(),
	)...), env.Stream, env.AtEnd()...)
}
