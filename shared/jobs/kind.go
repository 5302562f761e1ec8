package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// A Kind defines the jobs of one kind.
type Kind struct {
	// Stages run one after the other. The result of the last stage is the result of the job.
	Stages []Stage
	// Poll checks whether there is work for an object. It returns the job to begin, or nil. A kind with a
	// nil Poll has no polls.
	Poll func(ctx context.Context, object []string) (*Trigger, error)
}

// A Stage is a step in the jobs of a kind.
type Stage struct {
	// Name is the stage's name in job descriptions and in the record keys of its parts: lower case
	// letters, digits,
	// - and _. A name is never reused for another stage, because running jobs continue with the stages of a new
	// release.
	Name string
	// Parts returns the number of parts of the stage, from 0 to [transaction.MaxParts]. It is called
	// when the stage starts, but not after the number is recorded. If Parts is nil, the worker of the
	// job runs the stage as a whole, with fewer requests.
	Parts func(ctx context.Context, r *Run) (int, error)
	// Estimate returns the resources of one run of the stage, or of each of its parts. It is called after Parts, and only if
	// there is a heavy queue. A stage without Estimate is light.
	Estimate func(ctx context.Context, r *Run) (Effort, error)
	// Do runs the stage, or one of its parts ([Run.Part]), from the last checkpoint. Its result is
	// encoded as JSON and must be small; large results belong into files that it names. A protocol
	// error ends the job, except for [protocol.ServiceUnavailable] and
	// [protocol.ConcurrentModification]. So does a [memory.Error] that is not Busy. After any other
	// error Do is called again, a limited number of times. The result may be an [End] or an [Again].
	Do func(ctx context.Context, r *Run) (result any, err error)
}

// End is a result of [Stage.Do] that ends the job early: later stages do not run. The stage must
// have no parts.
type End struct {
	Result any // of the job
}

// Again is a result of [Stage.Do] that repeats earlier stages as another pass. The stage must have
// no parts. With passes, stages that fit a worker's time can do work of any size.
type Again struct {
	After  string // the stage after which the pass begins
	Result any    // replaces the result of that stage
}

// Single returns a kind with one stage of the given name and without parts.
func Single(name string, do func(ctx context.Context, r *Run) (result any, err error)) Kind {
	return Kind{Stages: []Stage{{Name: name, Do: do}}}
}

// A Trigger describes the work that a poll found.
type Trigger struct {
	Input any // input of the job
	// Revision identifies the state of the object, such as the version of a table. While it is
	// unchanged, workers do not begin a job again that was set aside.
	Revision string
}

// find returns the stage of a name and its number; "" is the first stage. The name may have the
// suffix of a pass, such as build-2.
func (k Kind) find(name string) (stage Stage, number int, ok bool) {
	for i, s := range k.Stages {
		if s.Name == name || name == "" {
			return s, i, true
		}
	}
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return Stage{}, 0, false
	}
	if pass, err := strconv.Atoi(name[cut+1:]); err != nil || pass < 2 {
		return Stage{}, 0, false
	}
	// The name is a stage with the suffix of a pass.
	for i, s := range k.Stages {
		if s.Name == name[:cut] {
			return s, i, true
		}
	}
	return Stage{}, 0, false
}

// inPass returns the record name of a stage in a pass, which counts from 0: build, build-2,
// build-3.
func inPass(stage string, pass int) string {
	if pass == 0 {
		return stage
	}
	return fmt.Sprintf("%s-%d", stage, pass+1)
}
