// Command view is the Lambda function behind the operations on views, on functions and on secrets. It reads
// and writes the records of the catalog, keeps the code of functions, makes the tables of views, and begins
// the jobs that fill views and prove functions.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/view"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	keys, err := boot.OpenKeys(env)
	boot.ExitOn(err)
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(view.New(tables, keys).Routes()...), env.Stream)
}
