package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/shared/boot"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/probe"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/doctor"
)

// doctorCacheBytes bounds the cached parts of tables.
const doctorCacheBytes = 64 << 20

// doctorSettings are the settings that determine the locations of tables and records.
var doctorSettings = append([]string{"records"}, importSettings...)

func newDoctorCommand() *cobra.Command {
	var fix, asJSON, store bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong in a root or a service, and mend it",
		Long: `Find what is wrong in a root: records and folders that disagree, tables whose versions or
files cannot be read, indices that are damaged or lack many rows, jobs that no worker runs, files
of uploads that were given up, and expired records. Each line has a way out. A server may be
running. With --store it finds out instead whether the store keeps what commits rest on, by small
objects that it removes again; it then looks at no table. With --url or --context it asks a server
instead, about the tables, indices and jobs that its token may see; without them and without --root,
it asks the server that the other commands use, if a context or TILTYARD_URL names one. With --fix it
mends what can be mended without a loss; without, it changes
nothing. In a bucket --fix also aborts every multipart upload below the root that is more than a
day old, whichever program began it. The exit code is 9 if faults are left.`,
		Example: `  tiltyard doctor --root ./data
  tiltyard doctor --root s3://lake/tables --records dynamodb://lake-records --fix
  tiltyard doctor --root s3://lake/tables --store
  tiltyard doctor --url https://lake.example.org`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, fix, asJSON, store) },
	}
	cmd.Flags().SortFlags = false
	for _, s := range boot.Settings {
		if slices.Contains(doctorSettings, s.Name) {
			addFlag(cmd.Flags(), s)
		}
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what can be mended without a loss, and abort uploads below the root of a bucket that are more than a day old, also those of other programs")
	cmd.Flags().BoolVar(&store, "store", false, "find out only whether the store of the root keeps what commits rest on; this writes and removes small objects there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, with one fault in a line")
	return cmd
}

// runDoctor checks a root or, with store, only the guarantees of its store.
func runDoctor(cmd *cobra.Command, fix, asJSON, store bool) error {
	config, err := withoutClients(cmd)
	if err != nil {
		return err
	}
	if _, err := canonicalPlace(config.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if !cmd.Flags().Changed("root") {
		fmt.Fprintf(cmd.ErrOrStderr(), "looking at the root %s; --root, --url or --context name another place\n", config.Root)
	}
	config.ReadOnly = !fix && !store
	env, err := boot.Open(config, clients, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	report := command.NewReport(cmd, asJSON)
	if store {
		return report.End(examineStore(cmd.Context(), env.Objects.Home(), report))
	}
	err = doctor.Run(cmd.Context(), doctor.Options{
		Tables: tables.Open(tables.Stores{Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: doctorCacheBytes}),
		Home:   env.Objects.Home().Store,
		Fix:    fix, Progress: report.Progress,
	}, func(f doctor.Finding) { report.Add(command.Finding(f)) })
	return report.End(err)
}

// examineStore reports the guarantees that a store lacks.
func examineStore(ctx context.Context, home objectstore.Root, report *command.Report) error {
	err := probe.Run(ctx, home.Store)
	faults := probe.Faults(err)
	for _, fault := range faults {
		report.Add(command.Finding{
			Kind: "untrusted-store", Object: home.URI, Reason: fault.Error(),
			Mend: "commits would get lost there: move the root to a store of docs/stores.md, or mend what stands before this one",
		})
	}
	if len(faults) > 0 {
		return nil
	}
	return err
}
