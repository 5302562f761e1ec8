// Command tiltyard is the whole service in one program: a catalog of Lance tables in a directory,
// served over HTTP. It has the same handlers as the deployed functions.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/local/server/notices"
	"tiltyard/shared/engine/udf/wasm/host"
	"tiltyard/shared/process/release"
	"tiltyard/shared/protocol"
)

func main() {
	host.Intercept()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tiltyard:", command.Explain(err))
		os.Exit(command.ExitCode(err))
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tiltyard",
		Short: "A catalog and query service for Lance tables",
		Long: `Tiltyard keeps a catalog of Lance tables and serves it over HTTP to unmodified LanceDB
and Lance Namespace clients. The tables are ordinary Lance datasets: pylance opens them
from the directory while the server runs.

On a terminal, tiltyard without a command is tiltyard serve: it serves ./data.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	server := newServeCommand()
	root.AddCommand(server, newDemoCommand(), newWorkCommand(), newImportCommand(), newInspectCommand(), newDoctorCommand(), newSecretsCommand(), newAuditCommand(), newVersionCommand())
	command.Add(root)
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && command.IsTerminal(cmd.OutOrStdout()) && command.IsTerminal(cmd.ErrOrStderr()) {
			server.SetContext(cmd.Context())
			return serve(server, nil)
		}
		return help(cmd, args)
	}
	return root
}

func newVersionCommand() *cobra.Command {
	var licences bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this program was built from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if licences {
				_, err := fmt.Fprint(cmd.OutOrStdout(), notices.Text())
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "tiltyard %s, commit %s\n%s %s/%s\nLance Namespace specification %s, LanceDB remote protocol %s\n",
				strings.TrimPrefix(release.Version(), "v"), commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, protocol.SpecificationVersion, protocol.RemoteVersion)
			return err
		},
	}
	cmd.Flags().BoolVar(&licences, "licenses", false, "print the licenses of the works of others in this program")
	return cmd
}

// commit returns the commit of the build, if the build contains it.
func commit() string {
	info, _ := debug.ReadBuildInfo()
	name, changed := "unknown", ""
	if info == nil {
		return name
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			name = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with local changes"
		}
	}
	return name + changed
}
