package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol/operations"
)

// newCallCommand calls any operation with a JSON request, including operations that have no command.
func newCallCommand(s *session) *cobra.Command {
	var body string
	cmd := s.command("call OPERATION [NAME]", "Send the request of any operation, and print the answer as JSON", between(1, 2), func(r *run) error {
		op, ok := operations.Lookup(r.args[0])
		if !ok {
			return usagef("no operation is called %q; tiltyard help call lists them", r.args[0])
		}
		req := op.NewRequest()
		if err := json.Unmarshal([]byte(body), req); err != nil {
			return usagef("--body: %w", err)
		}
		if takesName := strings.Contains(op.Path, "{id}"); takesName != (len(r.args) == 2) {
			return usagef("the path of %s is %s: give a name if it has {id}, else none", op.Name, op.Path)
		} else if takesName {
			id, err := s.id(r.args[1])
			if err != nil {
				return err
			}
			req.RequestCommon().ID = id.ID
		}
		answer, err := r.client.Call(r.ctx, op, req)
		if err != nil || answer == nil {
			return err
		}
		encoder := newEncoder(r.cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(answer)
	})
	cmd.Flags().StringVar(&body, "body", "{}", "the request, as JSON")
	var long strings.Builder
	long.WriteString("Send the request of any operation, and print the answer as JSON. NAME is the object of the path.\n\n")
	for _, op := range operations.All {
		if op.NoMethod == "" && op.IsJSON() {
			fmt.Fprintf(&long, "%-27s %s\n", op.Name, op.Summary)
		}
	}
	cmd.Long = strings.TrimSpace(long.String())
	return cmd
}
