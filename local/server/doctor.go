package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/shared/boot"
	"tiltyard/shared/doctor"
	"tiltyard/shared/tables"
)

// doctorCacheBytes is for what is read of one table after another.
const doctorCacheBytes = 64 << 20

// doctorSettings are the settings that determine where tables and records may lie.
var doctorSettings = append([]string{"records"}, importSettings...)

func newDoctorCommand() *cobra.Command {
	var fix, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong in a root or a service, and mend it",
		Long: `Find what is wrong in a root: records and folders that disagree, tables whose versions or
files cannot be read, indices that are damaged or lack many rows, jobs that no worker runs, files
of uploads that were given up, and expired records. Each line has a way out. A server may be
running. With --url or --context it asks a server instead, about the tables, indices and jobs that
its token may see; without them and without --root, it asks the server that the other commands use,
if a context or TILTYARD_URL names one. With --fix it mends what can be mended without a loss; without, it changes
nothing. In a bucket --fix also aborts every multipart upload below the root that is more than a
day old, whichever program began it. The exit code is 9 if faults are left.`,
		Example: `  tiltyard doctor --root ./data
  tiltyard doctor --root s3://lake/tables --records dynamodb://lake-records --fix
  tiltyard doctor --url https://lake.example.org`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, fix, asJSON) },
	}
	cmd.Flags().SortFlags = false
	for _, s := range boot.Settings {
		if slices.Contains(doctorSettings, s.Name) {
			addFlag(cmd.Flags(), s)
		}
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what can be mended without a loss, and abort uploads below the root of a bucket that are more than a day old, also those of other programs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, with one fault in a line")
	return cmd
}

func runDoctor(cmd *cobra.Command, fix, asJSON bool) error {
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
	config.ReadOnly = !fix
	env, err := boot.Open(config, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	report := command.NewReport(cmd, asJSON)
	err = doctor.Run(cmd.Context(), doctor.Options{
		Tables: tables.Open(tables.Stores{Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: doctorCacheBytes}),
		Home:   env.Objects.Home().Store,
		Fix:    fix, Progress: report.Progress,
	}, func(f doctor.Finding) { report.Add(command.Finding(f)) })
	return report.End(err)
}
