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
	// Wanted returns the work of a job for an object, or nil if there is none. A kind whose Wanted is
	// nil has no looks.
	Wanted func(ctx context.Context, object []string) (*Want, error)
}

// A Stage is a step in the jobs of a kind.
type Stage struct {
	// Name is shown to users who ask how far a job is, and is part of the keys of its parts'
	// records: lower case letters, digits, - and _. A name is never reused for another stage,
	// because running jobs continue with the stages of a new release.
	Name string
	// Parts returns the number of parts of the stage in a job: 0 to [transaction.MaxParts]. It is
	// called at the start of the stage, and not again once its result is recorded. When it is nil,
	// the stage has no parts: the worker of the job runs it, with fewer requests.
	Parts func(ctx context.Context, r *Run) (int, error)
	// Estimate returns the resources of a run of the stage, or of each of its parts. It is called after Parts, and only if
	// there are workers of heavy work. A stage without Estimate is light.
	Estimate func(ctx context.Context, r *Run) (Effort, error)
	// Do runs the stage, or one of its parts ([Run.Part]), or what is left of it. Its result is
	// encoded as JSON and must be small; large results belong into files that it names. A protocol
	// error ends the job, except for [protocol.ServiceUnavailable] and
	// [protocol.ConcurrentModification]. So does a [memory.Error] that is not Busy. After any other
	// error Do is called again, a limited number of times. The result may be an [End] or an [Again].
	Do func(ctx context.Context, r *Run) (result any, err error)
}

// End is a result of [Stage.Do] with which a stage without parts ends the job: the stages after it do
// not run.
type End struct {
	Result any // of the job
}

// Again is a result of [Stage.Do] with which a stage without parts has earlier stages run again, as another
// pass. It takes a stage as small as a worker has time for to do work of any size.
type Again struct {
	After  string // the stage after which the pass begins
	Result any    // takes the place of the result of that stage
}

// Single returns a kind with one stage of the given name and without parts.
func Single(name string, do func(ctx context.Context, r *Run) (result any, err error)) Kind {
	return Kind{Stages: []Stage{{Name: name, Do: do}}}
}

// A Want is work that a look has found.
type Want struct {
	Input any // input of the job
	// Mark identifies the state of the object, such as the version of a table. A job that was set
	// aside does not begin again by itself while the mark is unchanged.
	Mark string
}

// find returns the stage of a name and its number; "" is the first stage. The name may be that of the
// stage in a pass.
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
	for i, s := range k.Stages {
		if s.Name == name[:cut] {
			return s, i, true
		}
	}
	return Stage{}, 0, false
}

// inPass returns the name of a stage in a pass, from 0.
func inPass(stage string, pass int) string {
	if pass == 0 {
		return stage
	}
	return fmt.Sprintf("%s-%d", stage, pass+1)
}
