// Package command implements the commands of the program tiltyard that call a server: one command
// for each noun of the protocol, in a file of its name, over package client and nothing below it.
// So the commands work with any server of the protocol.
//
// A command gets a client from its [session], and writes results in one of the forms of output.go.
// Rows are streamed: read.go turns files into the rows of an upload, and rows.go writes the rows of
// an answer.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
)

// Add adds the commands to the root of the program. It also adds the restore of table versions to the command version,
// and the checks of a service to the command doctor, and lets the root refuse unknown commands.
func Add(root *cobra.Command) {
	s := new(session)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &UsageError{err} })
	makeGroup(root)
	root.SetHelpCommand(newHelpCommand())
	root.AddCommand(newManCommand())
	root.AddGroup(&cobra.Group{ID: "client", Title: "Commands for a server that runs:"})
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "version":
			restore := newVersionRestore(s)
			s.addFlags(restore)
			s.addCompletion(restore)
			cmd.AddCommand(restore)
			cmd.Short += "; restore versions of tables"
		case "doctor":
			s.extendDoctor(cmd)
		}
	}
	for _, cmd := range []*cobra.Command{
		newNamespaceCommand(s), newTableCommand(s), newFindCommand(s), newQueryCommand(s), newSQLCommand(s), newInsertCommand(s), newExportCommand(s), newCopyCommand(s), newMoveCommand(s), newIndexCommand(s),
		newLogCommand(s), newDiffCommand(s), newTagCommand(s), newBranchCommand(s), newViewCommand(s), newFunctionCommand(s), newSecretCommand(s), newJobCommand(s), newEventCommand(s),
		newMaintainCommand(s), newBenchCommand(s), newTopCommand(s), newUsageCommand(s), newAccessCommand(s), newDroppedCommand(s), newUndropCommand(s), newLoginCommand(s), newContextCommand(s), newCallCommand(s), newMCPCommand(s),
	} {
		cmd.GroupID = "client"
		s.addFlags(cmd)
		s.addCompletion(cmd)
		root.AddCommand(cmd)
	}
}

// addFlags adds the flags that all commands have in common.
func (s *session) addFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&s.url, "url", "", "the server [TILTYARD_URL]; its token is in TILTYARD_TOKEN")
	flags.StringVar(&s.context, "context", "", "a server that login has stored; the current one when not given")
	flags.VarP(&s.form, "output", "o", "form of the output: table, json, or arrow for rows")
	flags.StringVar(&s.delimiter, "delimiter", "/", "what separates the namespaces and the name of a table")
	flags.DurationVar(&s.timeout, "timeout", 0, "how long the command may take; 0 is without a bound")
}

// A session contains the values of the common flags.
type session struct {
	url, context, delimiter string
	form                    form
	timeout                 time.Duration
}

// client returns a client of the server from the flags, the environment or the stored contexts.
func (s *session) client() (*client.Client, error) {
	target, err := s.target()
	if err != nil {
		return nil, err
	}
	c, err := client.New(target.URL, client.Options{Token: target.Token})
	if err != nil {
		return nil, &UsageError{err}
	}
	return c, nil
}

// Server returns a client of the server that commands use without flags, and its URL. named is false if neither the
// environment nor a stored context names it, so that it is the default.
func Server() (c *client.Client, url string, named bool, err error) {
	s := new(session)
	at, err := s.target()
	if err != nil {
		return nil, "", false, err
	}
	c, err = s.client()
	return c, strings.TrimSuffix(at.URL, "/"), !at.isDefault, err
}

// defaultURL is the URL of a local tiltyard serve.
const defaultURL = "http://127.0.0.1:10024"

// target returns the server to call. A URL and its token come from the same source, so that no
// token goes to another server.
func (s *session) target() (target, error) {
	url := s.url
	if url == "" && s.context == "" {
		url = os.Getenv("TILTYARD_URL")
	}
	if url != "" {
		if s.context != "" {
			return target{}, usagef("--url and --context name two servers; give one of them")
		}
		return target{URL: url, Token: os.Getenv("TILTYARD_TOKEN")}, nil
	}
	stored, err := readContexts()
	if err != nil {
		return target{}, err
	}
	name := s.context
	if name == "" {
		name = stored.Current
	}
	if name == "" {
		return target{URL: defaultURL, Token: os.Getenv("TILTYARD_TOKEN"), isDefault: true}, nil
	}
	found, ok := stored.Servers[name]
	if !ok {
		return target{}, usagef("there is no context %q; tiltyard context list shows those that there are", name)
	}
	return found, nil
}

// id parses the name of an object. The delimiter alone, or no text, is the root namespace.
func (s *session) id(text string) (protocol.Common, error) {
	if s.delimiter == "" {
		return protocol.Common{}, usagef("--delimiter is empty")
	}
	if text == "" {
		return client.ID(), nil
	}
	id, err := protocol.SplitID(text, s.delimiter)
	if err != nil {
		return protocol.Common{}, err
	}
	return protocol.Common{ID: id}, nil
}

// object parses the name of an object other than the root namespace.
func (s *session) object(text string) (protocol.Common, error) {
	common, err := s.id(text)
	if err == nil && len(common.ID) == 0 {
		err = usagef("%q is the root namespace; name something in it", text)
	}
	return common, err
}

// A UsageError is an error in the command line.
type UsageError struct{ Err error }

// Error returns the text of the error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// exactly requires the given number of arguments.
func exactly(n int) cobra.PositionalArgs { return bound(cobra.ExactArgs(n)) }

func between(low, high int) cobra.PositionalArgs { return bound(cobra.RangeArgs(low, high)) }

func atMost(n int) cobra.PositionalArgs { return bound(cobra.MaximumNArgs(n)) }

func atLeast(n int) cobra.PositionalArgs { return bound(cobra.MinimumNArgs(n)) }

func bound(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w; usage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// newGroup returns a command that only contains other commands.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short}
	makeGroup(group)
	group.AddCommand(commands...)
	return group
}

// makeGroup lets a command show its help when it is called alone, and refuse unknown subcommands.
// It parses flags itself, because cobra answers --help without checking the arguments.
func makeGroup(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = cobra.ArbitraryArgs
	cmd.DisableFlagParsing = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cmd.DisableFlagParsing = false
		if err := cmd.ParseFlags(args); err != nil {
			return cmd.FlagErrorFunc()(cmd, err)
		}
		if words := cmd.Flags().Args(); len(words) > 0 {
			return noCommand(cmd, words[0])
		}
		return cmd.Help()
	}
}

// noCommand returns the error for an unknown subcommand, with suggestions.
func noCommand(group *cobra.Command, name string) error {
	text := fmt.Sprintf("%s has no command %q", group.CommandPath(), name)
	if near := group.SuggestionsFor(name); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return &UsageError{errors.New(text)}
}

// newHelpCommand returns the command help. Cobra's own shows the help of a group for an unknown subcommand.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return &UsageError{err}
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return noCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// A run is one execution of a command that calls a server.
type run struct {
	ctx    context.Context
	cmd    *cobra.Command
	client *client.Client
	args   []string
}

// command returns a command that calls a server.
func (s *session) command(use, short string, args cobra.PositionalArgs, do func(*run) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.client()
			if err != nil {
				return err
			}
			return s.bounded(cmd, func(ctx context.Context) error { return do(&run{ctx, cmd, c, args}) })
		},
	}
}

// on returns a command for an object, which its first argument names.
func (s *session) on(use, short string, args cobra.PositionalArgs, do func(*run, protocol.Common) error) *cobra.Command {
	return s.command(use, short, args, func(r *run) error {
		id, err := s.object(r.args[0])
		if err != nil {
			return err
		}
		return do(r, id)
	})
}

// in returns a command for a namespace. Without an argument it is the root.
func (s *session) in(use, short string, do func(*run, protocol.Common) error) *cobra.Command {
	return s.command(use+" [NAMESPACE]", short, atMost(1), func(r *run) error {
		id, err := s.id(strings.Join(r.args, ""))
		if err != nil {
			return err
		}
		return do(r, id)
	})
}

// say writes a line to standard error, which is not part of the output.
func say(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
}
