package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/tableapi"
)

// A Finding is one fault that doctor found, in a root or in a service.
type Finding struct {
	Kind    string `json:"kind"`
	Object  string `json:"object"`
	Reason  string `json:"reason,omitempty"`
	Mend    string `json:"mend"`
	Fixable bool   `json:"fixable"`
	Fixed   bool   `json:"fixed"`
}

// line formats the finding for users.
func (f Finding) line() string {
	line := f.Kind + ": " + f.Object
	if f.Reason != "" {
		line += ": " + f.Reason
	}
	if f.Fixed {
		return line + " (mended)"
	}
	return line + "; " + f.Mend
}

// A Report writes findings as they are found, and shows the progress on a terminal.
type Report struct {
	out  io.Writer
	json *json.Encoder // nil for plain lines
	bar  *bar
	said io.Writer // messages that are not findings
	all  int       // number of findings
	left int       // number of findings that are not fixed
}

// NewReport returns a report that writes to the output of a command.
func NewReport(cmd *cobra.Command, asJSON bool) *Report {
	r := &Report{out: cmd.OutOrStdout(), bar: newBar(cmd), said: cmd.ErrOrStderr()}
	if asJSON {
		r.json = newEncoder(r.out)
	}
	return r
}

// Add writes a finding.
func (r *Report) Add(f Finding) {
	r.all++
	if !f.Fixed {
		r.left++
	}
	r.bar.end()
	if r.json != nil {
		_ = r.json.Encode(f) // the reader may have closed the output
		return
	}
	fmt.Fprintln(r.out, printable(f.line(), false))
}

// Progress shows the number of checked tables.
func (r *Report) Progress(done, of int) {
	r.bar.tell(cellsOf(int64(done), int64(of)) + fmt.Sprintf("table %d of %d", done+1, of))
}

// End returns the error of a command whose work ended with err. It is ErrFaults if faults remain.
func (r *Report) End(err error) error {
	r.bar.end()
	if err == nil && r.left > 0 {
		return ErrFaults
	}
	if err == nil && r.all == 0 && r.json == nil {
		fmt.Fprintln(r.said, "no faults were found")
	}
	return err
}

// extendDoctor lets the command doctor, which checks a root, also check a service.
func (s *session) extendDoctor(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.url, "url", "", "look at this server in place of a root; its token is in TILTYARD_TOKEN")
	cmd.Flags().StringVar(&s.context, "context", "", "look at a server that login has stored")
	ofRoot := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := s.url != "" || s.context != ""
		of, err := s.target()
		if err != nil {
			return err
		}
		// The user means the root: the server would only be the default.
		if !named && (of.isDefault || namesRoot(cmd)) {
			return ofRoot(cmd, args)
		}
		if !named {
			say(cmd, "looking at the server %s; --root looks at a root", of.URL)
		}
		fix, fixErr := cmd.Flags().GetBool("fix")
		asJSON, jsonErr := cmd.Flags().GetBool("json")
		c, err := s.client()
		if err := errors.Join(err, fixErr, jsonErr); err != nil {
			return err
		}
		report := NewReport(cmd, asJSON)
		e := &examination{run: &run{cmd.Context(), cmd, c, args}, report: report, fix: fix}
		return report.End(e.service())
	}
}

// namesRoot reports whether the flags or the environment specify a root.
func namesRoot(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("root") || cmd.Flags().Changed("records") || os.Getenv("TILTYARD_ROOT") != ""
}

// An index is stale if it lacks more than 1/staleFactor of the rows.
const staleFactor = 10

// patience is the age from which a job without progress counts as stuck.
const patience = time.Hour

// An examination checks a service. It can see only the objects that its token may see.
type examination struct {
	*run
	report *Report
	fix    bool
}

// service checks all tables and jobs.
func (e *examination) service() error {
	var names []string
	for name, err := range e.client.AllTables(e.ctx, &tableapi.ListAllRequest{}) {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	for i, name := range names {
		e.report.Progress(i, len(names))
		if err := e.table(name); err != nil {
			return err
		}
	}
	return e.jobs()
}

// isOfObject reports whether an error concerns the requested object, as opposed to the service as a
// whole.
func isOfObject(err error) bool {
	var refusal *protocol.Error
	return errors.As(err, &refusal) && !protocol.HasCode(err, protocol.Unauthenticated, protocol.ServiceUnavailable, protocol.Throttling)
}

// table checks a table.
func (e *examination) table(name string) error {
	id, err := protocol.SplitID(name, protocol.DefaultDelimiter)
	if err != nil {
		return err
	}
	table := protocol.Common{ID: id}
	found, err := e.client.DescribeTable(e.ctx, &tableapi.DescribeRequest{Common: table, LoadDetailedMetadata: true})
	switch {
	case protocol.HasCode(err, protocol.TableNotFound, protocol.NamespaceNotFound, protocol.PermissionDenied):
		return nil // dropped meanwhile, or hidden from this token
	case isOfObject(err):
		e.report.Add(Finding{
			Kind: "unreadable-table", Object: name, Reason: err.Error(),
			Mend: "tiltyard doctor --root, with the credentials of the bucket or on the machine of the server, says which file is the reason",
		})
		return nil
	case err != nil:
		return err
	case found.Version == nil:
		return nil // only declared
	}
	return e.indices(name, table)
}

// indices reports indices that lack many rows. Maintenance updates all indices of a table.
func (e *examination) indices(name string, table protocol.Common) error {
	var stale []Finding
	for index, err := range e.client.Indices(e.ctx, &indexapi.ListRequest{Common: table}) {
		if isOfObject(err) {
			e.report.Add(Finding{Kind: "damaged-index", Object: name, Reason: err.Error(), Mend: "drop the index and create it again"})
			return nil
		}
		if err != nil {
			return err
		}
		if all := index.NumIndexedRows + index.NumUnindexedRows; index.NumUnindexedRows*staleFactor > all {
			stale = append(stale, Finding{
				Kind: "stale-index", Object: name, Reason: fmt.Sprintf("index %s lacks %d of %d rows, which each search reads", index.Name, index.NumUnindexedRows, all),
				Mend:    fmt.Sprintf("--fix brings it up to date, and so does tiltyard maintain %s --indices", strings.Join(table.ID, "/")),
				Fixable: true,
			})
		}
	}
	if len(stale) > 0 && e.fix {
		if err := e.fold(table); err != nil {
			return fmt.Errorf("bring the indices of %s up to date: %w", name, err)
		}
	}
	for _, f := range stale {
		f.Fixed = e.fix
		e.report.Add(f)
	}
	return nil
}

// fold updates the indices of a table, and waits for the end of the job.
func (e *examination) fold(table protocol.Common) error {
	begun, err := e.client.MaintainTable(e.ctx, &tableapi.MaintainRequest{
		Common: table, Indices: new(true), Compact: new(false), Cleanup: new(false),
	})
	if err != nil || begun.JobID == "" {
		return err
	}
	_, err = e.client.Wait(e.ctx, begun.JobID, e.report.bar.draw)
	return err
}

// jobs reports jobs that are stuck or set aside.
func (e *examination) jobs() error {
	for job, err := range e.client.Jobs(e.ctx, &jobapi.ListRequest{}) {
		if protocol.HasCode(err, protocol.Unsupported, protocol.PermissionDenied) {
			return nil // the server has no jobs
		}
		if err != nil {
			return err
		}
		name := job.JobID + " of " + job.Table
		began := time.UnixMilli(job.CreatedAtMillis)
		switch {
		case job.State == jobapi.InProgress && job.Progress == nil && time.Since(began) > patience:
			e.report.Add(Finding{
				Kind: "stuck-job", Object: name, Reason: fmt.Sprintf("%s was begun at %s, and no worker has taken it", job.JobType, began.UTC().Format(time.RFC3339)),
				Mend: "look whether workers run and reach the queue; tiltyard job resume it if it is paused",
			})
		case job.State == jobapi.Failed:
			whole, err := e.client.DescribeJob(e.ctx, &jobapi.Request{JobID: job.JobID})
			if err != nil {
				return err
			}
			if failure := whole.Failure; failure != nil && failure.Retryable {
				e.report.Add(Finding{
					Kind: "set-aside-job", Object: name, Reason: fmt.Sprintf("%s was set aside in stage %s: %s", job.JobType, failure.Phase, failure.Message),
					Mend: "mend the reason and then tiltyard job resume " + job.JobID + ", or tiltyard job cancel it",
				})
			}
		}
	}
	return nil
}
