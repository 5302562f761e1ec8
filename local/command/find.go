package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol/tableapi"
)

// newFindCommand finds tables in all namespaces, or in a namespace and its descendants.
func newFindCommand(s *session) *cobra.Command {
	var namespace string
	var in, columns, properties []string
	req := &tableapi.FindRequest{}
	cmd := s.command("find [WORD...]", "Find tables by name, column, property, tag or comment", atLeast(0), func(r *run) error {
		around, err := s.id(namespace)
		if err != nil {
			return err
		}
		req.NamespaceID, req.Text, req.In = around.ID, strings.Join(r.args, " "), places(in)
		for _, text := range columns {
			req.Columns = append(req.Columns, columnCondition(text))
		}
		for _, text := range properties {
			key, value, _ := strings.Cut(text, "=")
			req.Properties = append(req.Properties, tableapi.PropertyCondition{Key: key, Value: value})
		}
		out := s.list(r.cmd, "TABLE", "MATCHES")
		for one, err := range r.client.Found(r.ctx, req) {
			if unreadable := (client.UnreadableTable{}); errors.As(err, &unreadable) {
				say(r.cmd, "%v", err)
				continue
			}
			if err != nil {
				return err
			}
			out.add(one, strings.Join(one.ID, s.delimiter), matchText(one.Matches))
		}
		return out.flush()
	})
	cmd.Long = cmd.Short + `.

Each WORD occurs in one of the places of --in, and each flag is a condition more. Case is ignored. In the text of a flag,
* stands for any text and ? for one character, and it is then about the whole; else it may be a part.`
	flags := cmd.Flags()
	flags.StringVar(&namespace, "namespace", "", "where to search; all namespaces when not given")
	flags.StringSliceVar(&in, "in", nil, "places for the words: name, column, property, tag, comment, or all; name when not given")
	flags.StringVar(&req.Name, "name", "", "the name of the table")
	flags.StringArrayVar(&columns, "column", nil, "NAME, NAME:TYPE or :TYPE of a column, such as :fixed_size_list<float32>[768]")
	flags.StringArrayVar(&properties, "property", nil, "KEY, KEY=VALUE or =VALUE of a property")
	flags.StringVar(&req.Tag, "tag", "", "the name of a tag")
	flags.StringVar(&req.Comment, "comment", "", "text of a comment of the table or a column")
	return cmd
}

// places converts the values of --in.
func places(in []string) (found []tableapi.FindPlace) {
	for _, one := range in {
		if one == "all" {
			return []tableapi.FindPlace{tableapi.FindName, tableapi.FindColumn, tableapi.FindProperty, tableapi.FindTag, tableapi.FindComment}
		}
		found = append(found, tableapi.FindPlace(one))
	}
	return found
}

// columnCondition parses NAME:TYPE. No type contains a colon.
func columnCondition(text string) tableapi.ColumnCondition {
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		return tableapi.ColumnCondition{Name: text[:at], Type: text[at+1:]}
	}
	return tableapi.ColumnCondition{Name: text}
}

// matchText formats matches on one line.
func matchText(matches []tableapi.Match) string {
	texts := make([]string, len(matches))
	for i, m := range matches {
		texts[i] = fmt.Sprint(m.In, " ", m.Name)
		if m.Name == "" {
			texts[i] = string(m.In)
		}
		if m.Value != "" {
			texts[i] += ": " + m.Value
		}
	}
	return strings.Join(texts, "; ")
}
