// Command stream is the Lambda function with a URL of its own, which sends responses as
// they are made; HTTP APIs cannot do that. Clients use it like the gateway, so it serves
// all operations over all stores, as the local server does.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/service/all"
)

func main() {
	env := boot.FromEnv()
	keys, err := boot.OpenKeys(env)
	boot.ExitOn(err)
	services := all.Open(env.Stores(), all.Options{Uploads: env.Uploads, RequestTimeout: env.RequestTimeout, Keys: keys})
	apigateway.Serve(env.Handler(services.Routes...), env.Stream)
}
