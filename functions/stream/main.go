// Command stream is the Lambda function behind a function URL. It streams responses, which HTTP
// APIs cannot do. Clients use it like the gateway, so it serves all operations over all stores, as
// the local server does.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog/secretbox/kmskeys"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables/vending/stsvendor"
)

func main() {
	env := boot.FromEnv(boot.Clients{Records: dynamorecord.Open, Jobs: sqsqueue.Open, Keys: kmskeys.Open, Role: stsvendor.Open})
	keys, err := env.OpenKeys()
	boot.ExitOn(err)
	services := all.Open(env.Stores(), all.Options{Uploads: env.Uploads, RequestTimeout: env.RequestTimeout, Keys: keys})
	apigateway.Serve(env.Handler(services.Routes...), env.Stream, env.AtEnd()...)
}
