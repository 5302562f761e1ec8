package doctor

import (
	"context"
	"fmt"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/events/outbox"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// The kinds of findings about unfinished work and its leftovers.
const (
	DamagedJob     = "damaged-job"     // the record of a job, or of other work, cannot be read
	StuckJob       = "stuck-job"       // no worker has run the job although it is overdue
	SetAsideJob    = "set-aside-job"   // the job waits until a user resumes it
	UnsureUpload   = "unsure-upload"   // a multipart write whose commit may or may not have succeeded
	LeftFiles      = "left-files"      // files of uploads and writes that were never committed
	LeftParts      = "left-parts"      // parts of objects that were never completed
	ExpiredRecords = "expired-records" // expired records that no server deletes
	LostEvents     = "lost-events"     // an entry of the log of events is missing
)

const (
	// fileAge is the age from which an unreferenced file is garbage, the same as in maintenance.
	fileAge = 7 * 24 * time.Hour
	// partAge is the age from which the parts of an incomplete object are garbage: no write takes that
	// long.
	partAge = 24 * time.Hour
	// recordAge is the time after its expiry by which a server would have deleted a record.
	recordAge = 2 * 24 * time.Hour
	// jobPage is the number of jobs on a page.
	jobPage = 100
)

// jobs checks the jobs that have not ended.
func (d *doctor) jobs(ctx context.Context) error {
	for after := ""; ; {
		found, next, err := d.Tables.Transactions.Jobs(ctx, after, jobPage)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.tell(Finding{Kind: DamagedJob, Object: "jobs", Reason: err.Error(), Mend: "put the record back from a backup, or delete it: its job then does not go on"})
			return nil //nolint:nilerr // the finding says it
		}
		for _, job := range found {
			d.job(job)
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// job checks one job.
func (d *doctor) job(t *transaction.Transaction) {
	name := fmt.Sprintf("%s of %s", t.ID, protocol.JoinID(t.Object, protocol.DefaultDelimiter))
	now := d.Tables.Now()
	switch w := t.Work; {
	// Commits and other changes have no work, and a paused job waits for its user.
	case w == nil || w.Paused:
	case w.SetAside && t.Status == transactionapi.Failed:
		d.tell(Finding{
			Kind: SetAsideJob, Object: name, Reason: fmt.Sprintf("%s was set aside after %d failures and %d deaths of its worker: %s", t.Kind, w.Failures, w.Deaths, t.Failure),
			Mend: "mend the reason and then tiltyard job resume " + t.ID + ", or tiltyard job cancel it",
		})
	case t.Status.Ended() || w.Held(now) || !w.Lost(now):
	default:
		d.tell(Finding{
			Kind: StuckJob, Object: name, Reason: fmt.Sprintf("no worker runs %s since %s", t.Kind, t.Updated.UTC().Format(time.RFC3339)),
			Mend: "start a server or tiltyard work on the root; functions send for it again within a day",
		})
	}
}

// uploads checks the recorded multipart writes.
func (d *doctor) uploads(ctx context.Context) error {
	for upload, err := range d.Tables.Uploads.All(ctx) {
		if err != nil {
			return err
		}
		if upload.Lost(d.Tables.Now()) {
			d.tell(Finding{
				Kind: UnsureUpload, Object: upload.ID,
				Reason: fmt.Sprintf("%d rows were being committed at %s, and its client asked no more", upload.Contents.Rows, upload.Fixed.Format(time.RFC3339)),
				Mend:   "look whether its rows are in the table, and send them again if not; the record ends by itself a day after the upload began",
			})
		}
	}
	return nil
}

// left reports files in a table's folder to which no version refers.
func (d *doctor) left(ctx context.Context, name string, rows *engine.Table) error {
	before := d.Tables.Now().Add(-fileAge)
	looked := func(int) error { return ctx.Err() }
	report, err := maintenance.DeleteOrphans(ctx, rows, before, true, looked)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	files := 0
	for _, n := range report.Files {
		files += n
	}
	if err != nil || files == 0 {
		return nil //nolint:nilerr // what cannot be read is a finding already
	}
	found := Finding{
		Kind: LeftFiles, Object: name, Reason: fmt.Sprintf("%d files of %d bytes, older than a week, are in no version and no upload", files, report.Bytes),
		Mend: "--fix deletes them, and so does tiltyard maintain with --cleanup", Fixable: true,
	}
	if d.Fix {
		if _, err := maintenance.DeleteOrphans(ctx, rows, before, false, looked); err != nil {
			return fmt.Errorf("delete the files that uploads have left: %w", err)
		}
		found.Fixed = true
	}
	d.tell(found)
	return nil
}

// records reports expired records that no server deletes.
func (d *doctor) records(ctx context.Context) error {
	expired, err := record.Expired(ctx, d.Tables.Records, recordAge)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.tell(Finding{Kind: DamagedJob, Object: "records", Reason: err.Error(), Mend: "put the record back from a backup, or delete it"})
		return nil //nolint:nilerr // the finding says it
	case expired == 0:
		return nil
	}
	found := Finding{
		Kind: ExpiredRecords, Object: "records", Reason: fmt.Sprintf("%d records have expired more than two days ago, and no server deletes them", expired),
		Mend: "--fix deletes them, and so does a server that runs for a day", Fixable: true,
	}
	if d.Fix {
		if _, err := record.Sweep(ctx, d.Tables.Records, recordAge); err != nil {
			return err
		}
		found.Fixed = true
	}
	d.tell(found)
	return nil
}

// parts reports incomplete multipart uploads of the home root's object store.
func (d *doctor) parts(ctx context.Context) error {
	server := objectstore.UploaderOf(d.Home)
	if server == nil {
		return nil
	}
	before := d.Tables.Now().Add(-partAge)
	count, first, err := server.Unfinished(ctx, before)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.tell(Finding{Kind: LeftParts, Object: "uploads", Reason: err.Error(), Mend: "permit s3:ListBucketMultipartUploads on the bucket, so that they can be looked for"})
		return nil //nolint:nilerr // the finding says it
	case count == 0:
		return nil
	}
	found := Finding{
		Kind: LeftParts, Object: "uploads",
		Reason: fmt.Sprintf("parts of %d objects, the first of them %s, were sent more than a day ago, and the objects never completed", count, first),
		Mend:   "--fix aborts these uploads, also those of other programs, and so does a rule of the bucket that aborts incomplete multipart uploads after a day", Fixable: true,
	}
	if d.Fix {
		if _, err := server.AbortUnfinished(ctx, before); err != nil {
			return fmt.Errorf("delete the parts of objects: %w", err)
		}
		found.Fixed = true
	}
	d.tell(found)
	return nil
}

// events reports a missing entry in the log of events, which blocks readers of the log.
func (d *doctor) events(ctx context.Context) error {
	if d.Home == nil {
		return nil
	}
	lost, err := outbox.OpenLog(d.Home, d.Tables.Now).Lost(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.tell(Finding{Kind: LostEvents, Object: outbox.Folder, Reason: err.Error(), Mend: "put what cannot be read back from a backup"})
		return nil //nolint:nilerr // the finding says it
	case lost == 0:
		return nil
	}
	d.tell(Finding{
		Kind: LostEvents, Object: outbox.Folder, Reason: fmt.Sprintf("entry %d is gone, and there are later ones", lost),
		Mend: fmt.Sprintf("put it back from a backup; else readers wait until what is before it has expired, or go on with cursor %q", outbox.Cursor{Position: lost}),
	})
	return nil
}
