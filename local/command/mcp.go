package command

import (
	"net"

	"github.com/spf13/cobra"

	"tiltyard/local/mcp"
	"tiltyard/shared/process/release"
)

// newMCPCommand serves the tables to agents.
func newMCPCommand(s *session) *cobra.Command {
	var listen string
	var write bool
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the tables to agents, by the Model Context Protocol", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := s.target()
			if err != nil {
				return err
			}
			c, err := s.client()
			if err != nil {
				return err
			}
			o := mcp.Options{Release: release.Version(), Delimiter: s.delimiter, Timeout: s.timeout, Write: write}
			if listen == "" {
				o.Open = mcp.Always(c)
				return mcp.Serve(cmd.Context(), mcp.New(o), cmd.InOrStdin(), cmd.OutOrStdout())
			}
			callers := mcp.NewCallers(at.URL)
			o.Open = callers.Open
			socket, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return err
			}
			say(cmd, "agents reach %s at http://%s/, each with its own token", at.URL, socket.Addr())
			return mcp.Listen(cmd.Context(), socket, mcp.New(o), callers)
		},
	}
	cmd.Long = `Serve the tables of a server to agents and editors, by the Model Context Protocol. The tools list
and describe tables, and read, search and count their rows; with --write they also change them.

The agent starts this command, and speaks with it over standard input and output. It then has the
rights of the token of the command line. With --listen it speaks HTTP instead: each request must
have a token of its own, and has the rights of that token. --timeout bounds each call of a tool.`
	cmd.Example = `  claude mcp add tiltyard -- tiltyard mcp
  tiltyard mcp --context work --write
  tiltyard mcp --listen 127.0.0.1:10030`
	cmd.Flags().StringVar(&listen, "listen", "", "address to serve HTTP at, such as 127.0.0.1:10030; standard input and output when not given")
	cmd.Flags().BoolVar(&write, "write", false, "also offer the tools that change tables")
	return cmd
}
