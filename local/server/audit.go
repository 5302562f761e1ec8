package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/http/audit"
)

func newAuditCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Check the lines of the audit"}
	verify := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Find lines of the audit that were changed or left out",
		Long: `Find lines of the audit that were changed or left out, in files of the log or in standard
input. Files that end in .gz are decompressed. Other lines of the log are skipped, and lines
may come in any order and more than once.

Each line holds the hash of the line before in its process. Lines that are missing at the end
of a process do not show.`,
		Example: `  tiltyard audit verify server.log
  aws s3 cp --recursive s3://BUCKET/audit/ lines && find lines -type f | xargs tiltyard audit verify`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var v audit.Verifier
			if len(args) == 0 {
				if err := v.Read(cmd.InOrStdin()); err != nil {
					return err
				}
			}
			for _, name := range args {
				if err := readAudit(&v, name); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return writeReport(cmd.OutOrStdout(), v.Report())
		},
	}
	cmd.AddCommand(verify)
	return cmd
}

// readAudit reads the audit lines of a file, which may be compressed.
func readAudit(v *audit.Verifier, name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !strings.HasSuffix(name, ".gz") {
		return v.Read(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return v.Read(z)
}

// writeReport writes the findings. It returns an error if there are any, for the exit status.
func writeReport(w io.Writer, r audit.Report) error {
	for _, sentence := range r.Wrong {
		if _, err := fmt.Fprintln(w, sentence); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(w, "%d lines of %d processes\n", r.Lines, r.Chains); err != nil {
		return err
	}
	if len(r.Wrong) > 0 {
		return fmt.Errorf("%d findings in the audit", len(r.Wrong))
	}
	return nil
}
