package command

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/secretapi"
)

// newSecretCommand manages secrets. Their values come from standard input, because other users can see
// arguments.
func newSecretCommand(s *session) *cobra.Command {
	list := s.in("list", "List the names of the secrets in a namespace", func(r *run, id protocol.Common) error {
		out := s.list(r.cmd, "NAME")
		for secret, err := range r.client.Secrets(r.ctx, &secretapi.ListRequest{Common: id}) {
			if err != nil {
				return err
			}
			out.add(secret, secret.Name)
		}
		return out.flush()
	})
	write := func(use, short string, do func(*run, *secretapi.WriteRequest) error) *cobra.Command {
		return s.on(use+" SECRET", short+" of standard input", exactly(1), func(r *run, id protocol.Common) error {
			if file, ok := r.cmd.InOrStdin().(*os.File); ok && terminal(file) {
				return usagef("send the value to standard input, where it is not shown")
			}
			text, err := io.ReadAll(io.LimitReader(r.cmd.InOrStdin(), secretapi.MaxBytes+2))
			if err != nil {
				return err
			}
			value := secretapi.Concealed(strings.TrimSuffix(string(text), "\n"))
			return do(r, &secretapi.WriteRequest{Request: secretapi.Request{Common: id}, Value: value})
		})
	}
	drop := s.on("drop SECRET", "Remove a secret", exactly(1), func(r *run, id protocol.Common) error {
		return r.client.DropSecret(r.ctx, &secretapi.Request{Common: id})
	})
	return newGroup("secret", "Secrets, whose values no command prints", list,
		write("create", "Store the value", func(r *run, req *secretapi.WriteRequest) error { return r.client.CreateSecret(r.ctx, req) }),
		write("alter", "Replace the value by that", func(r *run, req *secretapi.WriteRequest) error { return r.client.AlterSecret(r.ctx, req) }),
		drop)
}
