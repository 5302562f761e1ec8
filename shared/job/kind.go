package job

import (
	"context"
)

// A Kind is what jobs of one kind do.
type Kind struct {
	// Stages are done one after the other. What the last one comes to is the job's result.
	Stages []Stage
	// Wanted says whether there is something to do for an object, nil when there is not. It may
	// itself be nil: then nobody can ask.
	Wanted func(ctx context.Context, object []string) (*Want, error)
}

// A Stage is a step of jobs of a kind.
type Stage struct {
	// Name is told to users who ask how far a job is, and names the records of its parts: lower
	// case letters, digits, - and _. It is not given to another stage later, as jobs that have
	// begun go on with the stages of a new release.
	Name string
	// Parts returns how many parts the stage has in a job: 0 to [transaction.MaxParts]. It is
	// asked once its results count, and may then not be asked again. When it is nil the
	// stage has no parts: the worker of the job does it, which takes less.
	Parts func(ctx context.Context, r *Run) (int, error)
	// Do does the stage, or that one of its parts ([Run.Part]), or what is left of it. Its result,
	// told as JSON, is small: what is large is in files that it names. An error of the protocol
	// ends the job, but for [protocol.ServiceUnavailable] and
	// [protocol.ConcurrentModification], and so does a [memory.Error] that is not for now only;
	// after any other it is run again, some times.
	Do func(ctx context.Context, r *Run) (result any, err error)
}

// Single is a kind of one stage without parts, of that name.
func Single(name string, do func(ctx context.Context, r *Run) (result any, err error)) Kind {
	return Kind{Stages: []Stage{{Name: name, Do: do}}}
}

// A Want is what there is to do for an object.
type Want struct {
	Input any // of the job
	// Mark changes when the object does, such as the version of a table. A job that was set aside
	// is not begun again by itself while the mark is the same.
	Mark string
}

// find returns the stage of a name and its number; "" is the first.
func (k Kind) find(name string) (stage Stage, number int, ok bool) {
	for i, s := range k.Stages {
		if s.Name == name || name == "" {
			return s, i, true
		}
	}
	return Stage{}, 0, false
}
