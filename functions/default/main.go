// Command default is the Lambda function for requests without a route: unknown paths, wrong
// methods, and operations that no function serves. It responds with an error and uses no
// store.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/httpapi/apigateway"
)

func main() {
	env := boot.FromEnv()
	apigateway.Serve(env.Handler(), env.Stream)
}
