package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tiltyard/local/command"
	"tiltyard/shared/boot"
	"tiltyard/shared/work/importing"
)

// importSettings are the settings that determine the locations of tables.
var importSettings = []string{"root", "allow-location"}

func newImportCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "import [PLACE]",
		Short: "Give names to the tables of a directory or a bucket",
		Long: `Give names in the catalog to the tables that LanceDB or a directory namespace keeps in a
directory or a bucket: folders NAME.lance, and the tables that the table __manifest of a
directory namespace lists, with their namespaces and properties. The tables stay where they
are, and other programs may continue to use them there.

PLACE is a path, a file:// URL or s3://bucket/prefix; it is the root when not given. A
server that is to serve tables from outside of its root needs --allow-location PLACE.

A second import adds the tables that are new since, and no table twice. A server may be running.`,
		Example: `  tiltyard import --root ~/lancedb --dry-run
  tiltyard import --root /srv/tables /mnt/archive
  tiltyard import --root s3://warehouse/tables s3://lake/lancedb`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd, args, dryRun) },
	}
	cmd.Flags().SortFlags = false
	for _, s := range boot.Settings {
		if slices.Contains(importSettings, s.Name) {
			addFlag(cmd.Flags(), s)
		}
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done, and do nothing")
	return cmd
}

// withoutClients reads the configuration of a command that works on a root directly.
func withoutClients(cmd *cobra.Command) (boot.Config, error) {
	config, err := boot.Read(givenIfAny(cmd.Flags()), boot.Environment, boot.LocalDefaults)
	if err == nil && !config.HasCredentials() {
		config.Token = rand.Text() // required, but never used
	}
	return config, err
}

// runImport imports tables from a place. It permits a place outside of the configured locations, and
// then prints the flag with which a server may read it.
func runImport(cmd *cobra.Command, args []string, dryRun bool) error {
	config, err := withoutClients(cmd)
	if err != nil {
		return err
	}
	place, outside := config.Root, false
	if len(args) == 1 {
		place = args[0]
	}
	if place, err = canonicalPlace(place); err != nil {
		return err
	}
	if !covered(place, append([]string{config.Root}, config.AllowLocations...)) {
		config.AllowLocations = append(config.AllowLocations, place)
		outside = true
	}
	env, err := boot.Open(config, clients, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	counts := map[importing.Outcome]int{}
	progress := command.NewProgress(cmd, "looking for tables")
	err = importing.Run(cmd.Context(), importing.Options{
		Objects: env.Objects, Now: env.Now, Place: place, DryRun: dryRun,
		Progress: func(done, of int) { progress.Tell(done, of, "tables and namespaces") },
	}, func(r importing.Result) {
		counts[r.Outcome]++
		progress.Print(func() { writeResult(out, r, dryRun) })
	})
	progress.End()
	fmt.Fprintf(out, "%d %s, %d there already, %d skipped\n",
		counts[importing.Imported], verb(importing.Imported, dryRun), counts[importing.There], counts[importing.Skipped])
	if err == nil && outside && counts[importing.Imported]+counts[importing.There] > 0 {
		fmt.Fprintf(out, "serve them with --allow-location %s\n", place)
	}
	return err
}

// givenIfAny returns a source of the flags that a command has.
func givenIfAny(flags *pflag.FlagSet) boot.Source {
	return func(s boot.Setting) (text string, ok bool) {
		if flags.Lookup(s.Name) == nil {
			return "", false
		}
		return given(flags)(s)
	}
}

// verb returns the outcome, in a dry run as an expectation.
func verb(o importing.Outcome, dryRun bool) string {
	if o == importing.Imported && dryRun {
		return "to be imported"
	}
	return string(o)
}

// writeResult writes one line: the outcome, the kind, the name, the location, and the reason.
func writeResult(w io.Writer, r importing.Result, dryRun bool) {
	line := fmt.Sprintf("%s: %s %s", verb(r.Outcome, dryRun), r.Kind, strings.Join(r.ID, "$"))
	if r.Place != "" {
		line += " at " + r.Place
	}
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	fmt.Fprintln(w, line)
}

// canonicalPlace returns a path or URL in the form of the roots: an absolute path without symbolic
// links, or the URL of a bucket.
func canonicalPlace(place string) (string, error) {
	scheme, rest, isURL := strings.Cut(place, "://")
	switch {
	case isURL && !strings.EqualFold(scheme, "file"):
		return strings.TrimRight(place, "/"), nil
	case isURL:
		path, err := url.PathUnescape(rest)
		if err != nil || !strings.HasPrefix(path, "/") {
			return "", fmt.Errorf("%q is not the URL of a directory on this machine", place)
		}
		place = path
	}
	path, err := filepath.Abs(place)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// covered reports whether a canonical path or URL equals one of places or lies below one.
func covered(place string, places []string) bool {
	return slices.ContainsFunc(places, func(other string) bool {
		other, err := canonicalPlace(other)
		return err == nil && (place == other || strings.HasPrefix(place, strings.TrimRight(other, "/")+"/"))
	})
}
