package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol/jobapi"
)

func newJobCommand(s *session) *cobra.Command {
	list := s.command("list", "List the jobs, the newest first", exactly(0), func(r *run) error {
		out := s.list(r.cmd, "JOB", "TYPE", "TABLE", "STATE", "BEGUN (UTC)")
		for job, err := range r.client.Jobs(r.ctx, &jobapi.ListRequest{}) {
			if err != nil {
				return err
			}
			out.add(job, job.JobID, job.JobType, job.Table, job.State, at(job.CreatedAtMillis))
		}
		return out.flush()
	})
	show := s.command("show JOB", "Show the state of a job", exactly(1), func(r *run) error {
		job, err := r.client.DescribeJob(r.ctx, &jobapi.Request{JobID: r.args[0]})
		if err != nil {
			return err
		}
		return s.showJob(r.cmd, job)
	})
	wait := s.command("wait JOB", "Wait for the end of a job", exactly(1), func(r *run) error { return s.begun(r, r.args[0], true) })
	cancel := s.command("cancel JOB", "End a job; what it has committed stays", exactly(1), func(r *run) error {
		return r.client.CancelJob(r.ctx, &jobapi.Request{JobID: r.args[0]})
	})
	pause := s.command("pause JOB", "Stop a job until it is resumed", exactly(1), func(r *run) error {
		_, err := r.client.PauseJob(r.ctx, &jobapi.Request{JobID: r.args[0]})
		return err
	})
	resume := s.command("resume JOB", "Let a job go on", exactly(1), func(r *run) error {
		_, err := r.client.ResumeJob(r.ctx, &jobapi.Request{JobID: r.args[0]})
		return err
	})
	return newGroup("job", "Long work of the server", list, show, wait, cancel, pause, resume)
}

func waitFlag(cmd *cobra.Command, wait *bool) {
	cmd.Flags().BoolVar(wait, "wait", false, "wait for the end of the job, and show how far it is")
}

// begun shows the id of a job, or waits for the end of the job. Without a job id there is nothing
// to wait for.
func (s *session) begun(r *run, jobID string, wait bool) error {
	if jobID == "" {
		return nil
	}
	if !wait {
		return s.show(r.cmd, map[string]string{"job_id": jobID}, "job", jobID)
	}
	bar := newBar(r.cmd)
	job, err := r.client.Wait(r.ctx, jobID, bar.draw)
	bar.end()
	if err != nil {
		return err
	}
	return s.showJob(r.cmd, job)
}

// showJob writes the state of a job.
func (s *session) showJob(cmd *cobra.Command, job *jobapi.DescribeResponse) error {
	fields := []any{"job", job.JobID, "type", job.JobType, "state", job.JobState, "begun (UTC)", at(job.CreationMs), "result", string(job.Result)}
	if job.Progress != nil {
		fields = append(fields, "progress", progressText(job.Progress))
	}
	if job.Failure != nil {
		fields = append(fields, "failure", job.Failure.Message)
	}
	return s.show(cmd, job, fields...)
}

// A bar shows progress on one line of a terminal, and nothing elsewhere.
type bar struct {
	out   *os.File // nil if there is no terminal
	width int      // of the shown text
}

func newBar(cmd *cobra.Command) *bar {
	if file, ok := cmd.ErrOrStderr().(*os.File); ok && terminal(file) {
		return &bar{out: file}
	}
	return new(bar)
}

// draw shows the state of a job in place of the previous text.
func (b *bar) draw(job *jobapi.DescribeResponse) {
	if job.Progress != nil {
		b.tell(progressText(job.Progress))
	}
}

// tell shows a text in place of the previous one.
func (b *bar) tell(text string) {
	if b.out == nil {
		return
	}
	fmt.Fprintf(b.out, "\r%-*s", b.width, text)
	b.width = len([]rune(text))
}

// end clears the line.
func (b *bar) end() {
	if b.out != nil && b.width > 0 {
		fmt.Fprintf(b.out, "\r%*s\r", b.width, "")
	}
}

// progressText formats the progress of a job, with a bar if the number of steps is known.
func progressText(p *jobapi.Progress) string {
	text := cellsOf(p.StepsDone, p.Steps) + fmt.Sprintf("stage %d of %d, %s", min(p.StagesDone+1, max(p.Stages, 1)), max(p.Stages, 1), printable(p.Stage, false))
	if p.RowsDone > 0 {
		text += fmt.Sprintf(", %d rows", p.RowsDone)
	}
	return text
}
