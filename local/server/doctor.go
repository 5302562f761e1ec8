package main

import (
	"encoding/json"
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

func newDoctorCommand() *cobra.Command {
	var fix, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong in a root, and mend it",
		Long: `Find what is wrong in a root: records and folders that disagree, tables whose versions or
files cannot be read, indices that are damaged or lack many rows. Each line has a way out. A
server may be running. With --fix it mends what can be mended without a loss; without, it
changes nothing. The exit code is 9 if faults are left.`,
		Example: `  tiltyard doctor --root ./data
  tiltyard doctor --root s3://lake/tables --fix`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, fix, asJSON) },
	}
	cmd.Flags().SortFlags = false
	for _, s := range boot.Settings {
		if slices.Contains(importSettings, s.Name) {
			addFlag(cmd.Flags(), s)
		}
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what can be mended without a loss")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, with one fault in a line")
	return cmd
}

func runDoctor(cmd *cobra.Command, fix, asJSON bool) error {
	config, err := withoutClients(cmd)
	if err != nil {
		return err
	}
	env, err := boot.Open(config, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	out, left := cmd.OutOrStdout(), 0
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err = doctor.Run(cmd.Context(), doctor.Options{
		Tables: tables.Open(tables.Stores{Objects: env.Objects, Records: env.Records, Now: env.Now, Logger: env.Logger, CacheBytes: doctorCacheBytes}),
		Fix:    fix,
	}, func(f doctor.Finding) {
		if !f.Fixed {
			left++
		}
		if asJSON {
			_ = encoder.Encode(f) // a reader that has gone needs no more lines
			return
		}
		fmt.Fprintln(out, lineOf(f))
	})
	if err == nil && left > 0 {
		err = command.ErrFaults
	}
	return err
}

// lineOf returns a finding as a line for people.
func lineOf(f doctor.Finding) string {
	line := f.Kind + ": " + f.Object
	if f.Reason != "" {
		line += ": " + f.Reason
	}
	if f.Fixed {
		return line + " (mended)"
	}
	return line + "; " + f.Mend
}
