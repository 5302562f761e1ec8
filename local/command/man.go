package command

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write a manual page of each command",
		Example: `  tiltyard man ~/.local/share/man/man1
  man tiltyard-query`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // so that the pages of one build are always the same
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Tiltyard", Manual: "Tiltyard"}, args[0])
		},
	}
}
