package multipart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/record"
)

// Window bounds the time between the abort of an upload and the begin of its retry. LanceDB clients
// retry immediately.
const Window = 15 * time.Minute

// clockSkew bounds the difference between the clocks of two processes.
const clockSkew = time.Minute

// A mark is the record of a commit whose client got no answer. A retry takes it and commits under
// the same id.
type mark struct {
	Commit
	Left  time.Time `json:"left"`            // when it was left
	Taker string    `json:"taker,omitempty"` // the upload that has taken it
}

// marksOf returns the key prefix of the marks of uploads with equal contents.
func marksOf(target Target, contents Contents) (string, error) {
	value, err := json.Marshal(struct {
		Target
		Contents
	}{target, contents})
	sum := sha256.Sum256(value)
	return "unanswered/" + hex.EncodeToString(sum[:]), err
}

// leaveMark stores the mark of an upload, unless it has one.
func (u *Uploads) leaveMark(ctx context.Context, up *Upload) error {
	in, err := marksOf(up.Target, *up.Contents)
	if err != nil {
		return err
	}
	value, err := json.Marshal(mark{Commit: *up.Commit, Left: u.now().UTC()})
	if err != nil {
		return err
	}
	_, err = u.records.Put(ctx, record.Record{Key: in + "/" + up.ID, Value: value, Expires: u.now().Add(part.Lifetime + Window)})
	if err != nil && !errors.Is(err, record.ErrConflict) {
		return fmt.Errorf("leave a mark of upload %s: %w", up.ID, err)
	}
	return nil
}

// maxMarks bounds the marks of equal contents that are read.
const maxMarks = 100

// takeMark takes a mark of equal contents and returns its commit, or nil if there is none. If this
// upload has taken a mark before, it gets the same one.
func (u *Uploads) takeMark(ctx context.Context, up *Upload, contents Contents) (*Commit, error) {
	in, err := marksOf(up.Target, contents)
	if err != nil {
		return nil, err
	}
	for attempt := range maxAttempts {
		page, err := u.records.List(ctx, in, "", maxMarks)
		if err != nil {
			return nil, fmt.Errorf("look for marks: %w", err)
		}
		commit, err := u.takeOne(ctx, up, page.Records)
		// After a lost answer the next round finds the mark that this upload may have taken.
		if !errors.Is(err, record.ErrConflict) && !errors.Is(err, record.ErrUnknownOutcome) {
			return commit, err
		}
		if err := backoff.Wait(ctx, firstPause, maxPause, attempt); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the marks of upload %s are being changed by other requests", up.ID)
}

// takeOne takes the first free mark that up may be a retry of, or finds the mark that up took before.
func (u *Uploads) takeOne(ctx context.Context, up *Upload, marks []record.Record) (*Commit, error) {
	free := -1
	var taken mark
	for i, r := range marks {
		var m mark
		if err := r.Decode(&m); err != nil {
			return nil, err
		}
		// A retry begins after the abort of the first upload, which left the mark, and within Window.
		// Processes may disagree about the time by clockSkew.
		retry := m.Left.Add(-clockSkew).Before(up.Begun) && up.Begun.Before(m.Left.Add(Window))
		switch {
		case m.Taker == up.ID:
			return &m.Commit, nil
		case m.Taker == "" && retry && free < 0:
			free, taken = i, m
		}
	}
	if free < 0 {
		return nil, nil
	}
	taken.Taker = up.ID
	r := marks[free]
	var err error
	if r.Value, err = json.Marshal(taken); err != nil {
		return nil, err
	}
	// The write is conditional, so that only one retry takes the mark.
	if _, err := u.records.Put(ctx, r); err != nil {
		return nil, fmt.Errorf("take a mark: %w", err)
	}
	return &taken.Commit, nil
}
