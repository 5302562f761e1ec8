package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/local/server/sample"
	"tiltyard/shared/boot"
	"tiltyard/shared/protocol"
)

func newDemoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Make a sample table, and serve it if no server runs",
		Long: `Make the table films in the namespace sample: 1,200 invented films with summaries, posters
and embeddings, four indices, three versions of its rows, and a materialized view. The
program computes it and needs no network.

It is made in the server that other commands use (TILTYARD_URL, TILTYARD_TOKEN, or a stored
server). If none is named and none runs at the usual address, demo is tiltyard serve with
the sample, and takes its flags.`,
		Example: `  tiltyard demo
  tiltyard demo --root /tmp/demo
  TILTYARD_URL=http://127.0.0.1:10024 TILTYARD_TOKEN=... tiltyard demo`,
		Args: cobra.NoArgs,
		RunE: demo,
	}
	addServeFlags(cmd)
	return cmd
}

// demo makes the sample in a server that runs, or starts one.
func demo(cmd *cobra.Command, _ []string) error {
	c, url, named, err := command.Server()
	if err != nil {
		return err
	}
	if !named && (cmd.Flags().NFlag() > 0 || !runs(cmd.Context(), url)) {
		return serve(cmd, func(ctx context.Context, env *boot.Env, handler http.Handler) error {
			if env.Token == "" {
				return errors.New("demo makes the sample with the token of the server: set TILTYARD_TOKEN")
			}
			c, err := sample.Client(handler, env.BasePath, env.Token, "")
			if err != nil {
				return err
			}
			if err = sample.Load(ctx, c); protocol.HasCode(err, protocol.TableAlreadyExists) {
				err = nil // an earlier demo made it
			}
			return err
		})
	}
	if err := sample.Load(cmd.Context(), c); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The table %s is at %s/console/; tiltyard query %[1]s --limit 5 shows some of it.\n", strings.Join(sample.Table, "/"), url)
	return nil
}

// runs reports whether a server answers at a URL.
func runs(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
