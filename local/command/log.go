package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/versionapi"
)

// A logEntry is a version of a table in its history.
type logEntry struct {
	Version         int64    `json:"version"`
	TimestampMillis int64    `json:"timestamp_millis"`
	Branch          string   `json:"branch"` // empty: the main branch
	Operation       string   `json:"operation,omitempty"`
	Rows            *int64   `json:"rows,omitempty"`   // nil if the version cannot be read
	Change          *int64   `json:"change,omitempty"` // rows more than in the version before; nil if that is not known
	Tags            []string `json:"tags"`
	Authors         []string `json:"authors,omitempty"`
	Unreadable      string   `json:"unreadable,omitempty"`
}

// newLogCommand shows the history of a table.
func newLogCommand(s *session) *cobra.Command {
	var limit int64
	var branch string
	cmd := s.on("log TABLE", "Show the history of a table, the newest version first", exactly(1), func(r *run, id protocol.Common) error {
		if limit < 1 {
			return usagef("--limit is %d; it must be 1 or more", limit)
		}
		tags, err := tagsOf(r, id)
		if err != nil {
			return err
		}
		out := s.list(r.cmd, "VERSION", "MADE (UTC)", "OPERATION", "ROWS", "CHANGE", "TAGS", "BRANCH", "BY")
		// The change of a version is known with the version before it.
		var newer *logEntry
		written := int64(0)
		req := &versionapi.ListRequest{Common: id, Branch: branch, Descending: true, Details: true}
		req.Limit = new(min(limit+1, versionapi.MaxDetailed))
		for version, err := range r.client.Versions(r.ctx, req) {
			if err != nil {
				return err
			}
			entry := newLogEntry(version, branch, tags)
			if newer != nil {
				newer.setChange(entry)
				newer.add(out)
				written++
			}
			if newer = entry; written == limit {
				newer = nil
				break
			}
		}
		if newer != nil {
			if newer.Version == 1 {
				newer.Change = newer.Rows
			}
			newer.add(out)
		}
		return out.flush()
	})
	cmd.Long = `Show the history of a table, the newest version first: what made each version and for whom, its
rows, how many these are more or fewer than in the version before, and its tags. An update, or a
merge that replaces rows, changes no number; tiltyard diff shows the rows.`
	cmd.Example = `  tiltyard log sales/orders
  tiltyard log sales/orders --limit 3 -o json`
	cmd.Flags().Int64Var(&limit, "limit", 20, "the greatest number of versions")
	cmd.Flags().StringVar(&branch, "branch", "", "the branch of the versions")
	return cmd
}

// A tagged version is known by its branch and number.
type tagged struct {
	branch  string
	version int64
}

// tagsOf returns the tags of versions.
func tagsOf(r *run, id protocol.Common) (map[tagged][]string, error) {
	tags := map[tagged][]string{}
	for tag, err := range r.client.Tags(r.ctx, &refapi.ListTagsRequest{Common: id}) {
		if err != nil {
			return nil, err
		}
		at := tagged{tag.Branch, tag.Version}
		tags[at] = append(tags[at], tag.Name)
	}
	return tags, nil
}

func newLogEntry(version versionapi.Version, branch string, tags map[tagged][]string) *logEntry {
	e := &logEntry{
		Version: version.Version, TimestampMillis: version.TimestampMillis, Branch: branch,
		Tags: append([]string{}, tags[tagged{branch, version.Version}]...),
	}
	switch d := version.Details; {
	case d == nil:
	case d.Unreadable != "":
		e.Unreadable = d.Unreadable
	default:
		e.Operation, e.Rows, e.Authors = d.Operation, &d.NumRows, d.Authors
	}
	return e
}

// setChange computes the change to an older version, if that is the one before.
func (e *logEntry) setChange(older *logEntry) {
	if e.Rows != nil && older.Rows != nil && older.Version == e.Version-1 {
		e.Change = new(*e.Rows - *older.Rows)
	}
}

func (e *logEntry) add(out *list) {
	rows, change, operation := "", "", e.Operation
	if e.Rows != nil {
		rows = fmt.Sprint(*e.Rows)
	}
	if e.Change != nil && *e.Change != 0 {
		change = fmt.Sprintf("%+d", *e.Change)
	}
	if e.Unreadable != "" {
		operation = e.Unreadable
	}
	out.add(e, e.Version, at(e.TimestampMillis), operation, rows, change, strings.Join(e.Tags, ", "), e.Branch, joined(e.Authors))
}
