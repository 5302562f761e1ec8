package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/viewapi"
)

func TestTablesKeepsNamesBeforeAFailure(t *testing.T) {
	s := &script{answers: []answer{
		{status: 200, body: `{"tables":["a","b"],"page_token":"b"}`},
		{status: 404, body: `{"error":"gone","code":1}`},
	}}
	var names []string
	var failed error
	for name, err := range scripted(t, s).Tables(t.Context(), &tableapi.ListRequest{Common: client.ID("n")}) {
		if err != nil {
			failed = err
			continue
		}
		names = append(names, name)
	}
	if len(names) != 2 || !errors.Is(failed, protocol.NamespaceNotFound) {
		t.Errorf("names %q and %v, want two and NamespaceNotFound", names, failed)
	}
	if got := s.seen[1].URL.Query(); got.Get("page_token") != "b" || got.Get("limit") != "1000" {
		t.Errorf("the second page is asked for by %v", got)
	}
}

// A search goes on over pages without a table, and over tables that cannot be read.
func TestFoundGoesOnPastEmptyPages(t *testing.T) {
	s := &script{answers: []answer{
		{status: 200, body: `{"tables":[],"page_token":"p1"}`},
		{status: 200, body: `{"tables":[{"id":["n","a"],"matches":[]}],"unreadable":[{"id":["n","b"],"reason":"it is damaged"}],"page_token":"p2"}`},
		{status: 200, body: `{"tables":[{"id":["c"],"matches":[]}]}`},
	}}
	var names, unreadable []string
	for one, err := range scripted(t, s).Found(t.Context(), &tableapi.FindRequest{Text: "x"}) {
		if is := (client.UnreadableTable{}); errors.As(err, &is) {
			unreadable = append(unreadable, err.Error())
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.Join(one.ID, "/"))
	}
	if !slices.Equal(names, []string{"n/a", "c"}) || !slices.Equal(unreadable, []string{"n/b cannot be searched: it is damaged"}) {
		t.Errorf("got %q and %q", names, unreadable)
	}
}

func TestViewsFailsAtARepeatedPageToken(t *testing.T) {
	s := &script{answers: []answer{{status: 200, body: `{"views":["a"],"page_token":"a"}`}}}
	for _, err := range scripted(t, s).Views(t.Context(), &viewapi.ListRequest{}) {
		if errors.Is(err, client.ErrAnswer) {
			return
		}
		if len(s.seen) > 2 {
			t.Fatal("a list with the same token twice goes on")
		}
	}
	t.Error("a list with the same token twice ends without an error")
}

func TestViewsStopsWithItsLoop(t *testing.T) {
	s := &script{answers: []answer{{status: 200, body: `{"views":["a"],"page_token":"a"}`}}}
	for name, err := range scripted(t, s).Views(t.Context(), &viewapi.ListRequest{}) {
		if name != "a" || err != nil {
			t.Errorf("got %q, %v; want a", name, err)
		}
		break
	}
	if len(s.seen) != 1 {
		t.Errorf("%d requests, want 1", len(s.seen))
	}
}

func TestWaitEndsWithTheJob(t *testing.T) {
	const running = `{"job_id":"j","job_type":"t","job_state":"IN_PROGRESS","progress":{"stage":"s","steps":3,"steps_done":1}}`
	cases := []struct {
		name, last, text string // text is of the error
	}{
		{"done", `{"job_id":"j","job_type":"t","job_state":"DONE"}`, ""},
		{"failed", `{"job_id":"j","job_type":"t","job_state":"FAILED","failure":{"phase":"s","message":"no","retryable":true}}`,
			`job j (t) is FAILED in stage "s": no; it goes on when it is resumed`},
		{"cancelled", `{"job_id":"j","job_type":"t","job_state":"CANCELLED"}`, "job j (t) is CANCELLED"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{{status: 200, body: running}, {status: 200, body: running}, {status: 200, body: test.last}}}
				var steps int64
				looks := 0
				_, err := scripted(t, s).Wait(t.Context(), "j", func(job *jobapi.DescribeResponse) {
					looks++
					if job.Progress != nil {
						steps += job.Progress.StepsDone
					}
				})
				var ended *client.JobError
				if looks != 3 || steps != 2 || errors.As(err, &ended) != (test.text != "") || err != nil && err.Error() != test.text {
					t.Errorf("%d looks, %d steps, %v; want 3, 2, %q", looks, steps, err, test.text)
				}
			})
		})
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &script{answers: []answer{{status: 200, body: `{"job_id":"j","job_state":"IN_PROGRESS"}`}}}
		job, err := scripted(t, s).Wait(ctx, "j", nil)
		if job == nil || err == nil || len(s.seen) > 50 {
			t.Errorf("%v, %v after %d looks, want the last state and an error", job, err, len(s.seen))
		}
	})
}
