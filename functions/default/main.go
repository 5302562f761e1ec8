// Command default is the Lambda function for requests without a route: web pages, unknown paths,
// wrong methods, and operations that no function serves. It responds with the page or with an
// error, and uses no store.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/console"
	"tiltyard/shared/http/httpapi/apigateway"
)

func main() {
	env := boot.FromEnv(boot.Clients{})
	apigateway.Serve(console.Handler(env.Handler(), env.BasePath), env.Stream, env.AtEnd()...)
}
