// Command infra is the CDK app that deploys Tiltyard to an AWS account, as two stacks: [NewStorage]
// creates the state, and [NewService], which can be replaced, serves requests. It is a separate
// module, so that a build of the service does not compile the CDK.
//
// The context of the app configures it: see [Config]. The functions come from bin/functions, where
// scripts/build-functions.sh puts them.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the templates of both stacks to the folder in which the CDK command line expects them.
func run() error {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	context, _ := app.Node().GetAllContext(nil).(map[string]any)
	config, err := ReadConfig(context)
	if err != nil {
		return fmt.Errorf("configuration (cdk.json, or -c name=value):\n%w", err)
	}
	if err := checkBuilt(config.Functions); err != nil {
		return err
	}
	NewService(app, config, NewStorage(app, config))
	app.Synth(nil)
	return nil
}
