package command

import (
	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

func newMaintainCommand(s *session) *cobra.Command {
	req := new(tableapi.MaintainRequest)
	var compact, indices, cleanup, wait bool
	cmd := s.on("maintain TABLE", "Join small fragments, bring indices up to date and delete old versions", exactly(1), func(r *run, id protocol.Common) error {
		req.Common = id
		for name, one := range map[string]struct {
			given *bool
			field **bool
		}{"compact": {&compact, &req.Compact}, "indices": {&indices, &req.Indices}, "cleanup": {&cleanup, &req.Cleanup}} {
			// A flag that is not given leaves the choice to the server.
			if r.cmd.Flags().Changed(name) {
				*one.field = one.given
			}
		}
		begun, err := r.client.MaintainTable(r.ctx, req)
		if err != nil {
			return err
		}
		if req.DryRun {
			encoder := newEncoder(r.cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(begun.Report)
		}
		return s.begun(r, begun.JobID, wait)
	})
	cmd.Flags().BoolVar(&compact, "compact", false, "join small fragments")
	cmd.Flags().BoolVar(&indices, "indices", false, "bring indices up to date")
	cmd.Flags().BoolVar(&cleanup, "cleanup", false, "delete old versions")
	cmd.Flags().StringVar(&req.OlderThan, "older-than", "", "for how long versions are kept, such as 7d")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "show what would be done, as JSON, and do nothing")
	waitFlag(cmd, &wait)
	return cmd
}
