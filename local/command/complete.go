package command

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/tableapi"
)

const (
	// completeTime bounds the requests of a completion, for which a person waits.
	completeTime = time.Second
	// completeNames bounds the names of a completion.
	completeNames = 500
)

// addCompletion lets shells complete names in the arguments and flags of a command and its subcommands. The usage of a
// command names its arguments, such as TABLE. A server that does not answer in time completes nothing.
func (s *session) addCompletion(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		s.addCompletion(sub)
	}
	arguments := strings.Fields(strings.NewReplacer("[", "", "]", "", "...", "").Replace(cmd.Use))[1:]
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(arguments) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.complete(arguments[min(len(args), len(arguments)-1)], cmd, args, begun)
		}
	}
	for flag, kind := range map[string]string{
		"columns": "COLUMN", "order-by": "COLUMN", "text-columns": "COLUMN", "vector-column": "COLUMN", "merge-on": "COLUMN",
		"namespace": "NAMESPACE", "context": "CONTEXT",
	} {
		// A flag that the command lacks, or that has a completion, is left as it is.
		if f := cmd.Flag(flag); f != nil && f.Value.Type() != "bool" {
			_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				return s.complete(kind, cmd, args, begun)
			})
		}
	}
}

// complete completes one kind of word.
func (s *session) complete(kind string, cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	switch kind {
	case "FILE", "FOLDER":
		return nil, cobra.ShellCompDirectiveDefault
	case "SOURCE", "DESTINATION": // tables, or files if there are none
		words, how := s.completeNames(cmd, begun, true)
		return words, how &^ cobra.ShellCompDirectiveNoFileComp
	case "TABLE", "NEW":
		return s.completeNames(cmd, begun, true)
	case "NAMESPACE":
		return s.completeNames(cmd, begun, false)
	case "COLUMN", "COLUMN=EXPRESSION":
		return s.completeColumns(cmd, args, begun)
	case "CONTEXT":
		stored, _ := readContexts()
		return slices.Sorted(maps.Keys(stored.Servers)), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes the last part of a name by the namespaces and, if tables is set, the tables that are there.
func (s *session) completeNames(cmd *cobra.Command, begun string, tables bool) ([]string, cobra.ShellCompDirective) {
	parent, last := "", begun
	if at := strings.LastIndex(begun, s.delimiter); at >= 0 && s.delimiter != "" {
		parent, last = begun[:at], begun[at+len(s.delimiter):]
	}
	id, err := s.id(parent)
	c, clientErr := s.client()
	if err != nil || clientErr != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, done := context.WithTimeout(cmd.Context(), completeTime)
	defer done()
	prefix, how := strings.TrimSuffix(begun, last), cobra.ShellCompDirectiveNoFileComp
	var words []string
	for _, name := range begins(c.Namespaces(ctx, &namespaceapi.ListRequest{Common: id}), last) {
		if tables {
			name += s.delimiter
			how |= cobra.ShellCompDirectiveNoSpace
		}
		words = append(words, prefix+name)
	}
	if tables {
		for _, name := range begins(c.Tables(ctx, &tableapi.ListRequest{Common: id}), last) {
			words = append(words, prefix+name)
		}
	}
	return words, how
}

// begins returns the first names that begin with a text, up to an error.
func begins(names iter.Seq2[string, error], text string) (found []string) {
	for name, err := range names {
		if err != nil || len(found) == completeNames {
			break
		}
		if strings.HasPrefix(name, text) {
			found = append(found, name)
		}
	}
	return found
}

// completeColumns completes the last of several column names, of the table that is the first argument.
func (s *session) completeColumns(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, how
	}
	id, err := s.object(args[0])
	c, clientErr := s.client()
	if err != nil || clientErr != nil {
		return nil, how
	}
	ctx, done := context.WithTimeout(cmd.Context(), completeTime)
	defer done()
	fields, err := columnsNow(ctx, c, id)
	if err != nil {
		return nil, how
	}
	last := strings.TrimPrefix(begun[strings.LastIndexByte(begun, ',')+1:], "-")
	prefix := strings.TrimSuffix(begun, last)
	var words []string
	for _, field := range fields {
		if strings.HasPrefix(field.Name, last) {
			words = append(words, prefix+field.Name)
		}
	}
	return words, how
}

// columnsNow returns the columns of the newest version of a table.
func columnsNow(ctx context.Context, c *client.Client, id protocol.Common) ([]protocol.JSONField, error) {
	found, err := c.DescribeTable(ctx, &tableapi.DescribeRequest{Common: id, LoadDetailedMetadata: true, VendCredentials: new(false)})
	if err != nil || found.Schema == nil {
		return nil, err
	}
	return found.Schema.Fields, nil
}
