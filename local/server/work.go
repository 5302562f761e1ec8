package main

import (
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/boot"
)

// notOfWork are the settings that only matter to servers.
var notOfWork = []string{
	"listen", "token", "api-keys", "jwks", "issuer", "audience", "jwt-type", "policies", "quotas", "vend-role", "vend-tags", "vend-keys", "base-path", "metrics", "check-store",
	"stall-timeout", "stream", "max-json-bytes", "max-query-bytes", "max-upload-bytes", "max-result-bytes", "max-message-bytes", "max-batch-bytes",
}

func newWorkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Do the heavy work of a deployment",
		Long: `Take jobs from the queue of heavy work of a deployment on AWS, and do them one after the
other until SIGINT or SIGTERM. A job that is interrupted frees itself and goes on from its
last checkpoint elsewhere. The program serves no clients.

A function may take 15 minutes and 10 GiB. Work that is estimated to need more than 10
minutes or 3 GiB, or that has shown to, waits in that queue.`,
		Example: `  TILTYARD_ROOT=s3://bucket TILTYARD_RECORDS=dynamodb://records \
  TILTYARD_JOBS=https://sqs… TILTYARD_HEAVY_JOBS=https://sqs… tiltyard work`,
		Args: cobra.NoArgs,
		RunE: work,
	}
	cmd.Flags().SortFlags = false
	for _, s := range boot.Settings {
		if !slices.Contains(notOfWork, s.Name) {
			addFlag(cmd.Flags(), s)
		}
	}
	return cmd
}

// work runs heavy jobs until the context ends.
func work(cmd *cobra.Command, _ []string) error {
	config, err := boot.Read(givenIfAny(cmd.Flags()), boot.Environment, boot.LocalDefaults)
	if err != nil {
		return err
	}
	if config.HeavyJobs == "" {
		return errors.New("no queue of heavy work is configured (--heavy-jobs)")
	}
	if !config.HasCredentials() {
		config.Token = rand.Text() // required, but there are no clients
	}
	env, err := boot.Open(config, clients, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	services, err := openServices(env)
	if err != nil {
		return err
	}
	defer holdHeapFloor()()
	began := time.Now()
	env.Logger.Info("working", "queue", config.HeavyJobs)
	services.Worker.Heavy = env.Heavy
	services.Worker.Traces = env.Traces
	defer closeTraces(cmd.Context(), env)
	services.Worker.ServeFrom(cmd.Context(), env.Heavy, 1)
	env.Logger.Info("stopping", "after", time.Since(began).Round(time.Second).String())
	return nil
}
