package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"tiltyard/shared/boot"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/inspect"
)

func newInspectCommand() *cobra.Command {
	var opts inspect.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Show what a Lance table is made of",
		Long: `Show what a Lance table is made of: its versions, schema, indices and tags, and of one
version the fragments, data files, columns and pages with their encodings and sizes. Only
metadata is read, no server is needed, and the table is left as it is. PATH is the table's
directory, a file:// URL of it, or s3://bucket/key in the environment of the AWS command line.

Of a damaged table it shows the parts that can be read, and ERROR in place of the others.

An encoding lists the values first, then the layers of nesting, innermost first: "item?" may
be null, "list0" may be empty, "list?0" both. "rep" and "def" are the encodings of the levels
that mark lists and nulls. In data files of version 2.0, "@1" is the number of
the page's buffer.`,
		Example: `  tiltyard inspect data/points.lance
  tiltyard inspect data/points.lance --version 3 --versions 0
  tiltyard inspect s3://lake/tables/points.lance
  tiltyard inspect data/points.lance --json | jq '.version.contents[].files[].bytes'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := inspectTable(cmd, args[0], opts)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(report)
			}
			return report.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Uint64Var(&opts.Version, "version", 0, "the version to show; the newest when not given")
	cmd.Flags().IntVar(&opts.Versions, "versions", 20, "how many versions to list, newest first; -1 is all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, with every page by itself")
	return cmd
}

// inspectTable reads the metadata of a table at a path or URL.
func inspectTable(cmd *cobra.Command, place string, opts inspect.Options) (report *inspect.Report, err error) {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	at, done, err := boot.OpenTable(place, clients, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	report, err = inspect.Table(cmd.Context(), at, opts)
	if errors.Is(err, dataset.ErrNoTable) {
		return nil, fmt.Errorf("%s is not a Lance table: it has no versions", place)
	}
	return report, err
}
