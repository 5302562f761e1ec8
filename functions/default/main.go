// Command default is the Lambda function behind what the gateway has no route for: unknown
// paths, wrong methods, and operations that no function serves. It says so, and reaches no
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
