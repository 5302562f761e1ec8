package executor

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tiltyard/shared/function"
	"tiltyard/shared/protocol"
)

// A declaration is the runtime that a function declares. Fields of other kinds of runtimes are not read.
type declaration struct {
	Kind        string `json:"kind"`
	Executor    string `json:"executor"` // of the kind executor
	Backend     string `json:"backend"`  // of the kind envelope
	Batch       bool   `json:"batch"`    // of the kind envelope
	Python      string `json:"python_version"`
	GPU         bool   `json:"gpu"`
	Environment struct {
		Packages []string `json:"packages"`
	} `json:"environment"`
}

// Kinds are the kinds of runtimes that executors are.
func Kinds() []string { return []string{"python", "python_v2", "executor", function.Envelope} }

// find returns the configuration of the executor for a declared runtime.
func (s *Set) find(runtime []byte) (e *executor, d declaration, err error) {
	if err := json.Unmarshal(runtime, &d); err != nil {
		return nil, d, refused("the runtime of the function cannot be read", "it must be a JSON object with the fields that its kind has", err)
	}
	switch d.Kind {
	case "python", "python_v2":
		e, err = s.accepting(d)
		return e, d, err
	case function.Envelope:
		e, err = s.loading(d.Backend)
		return e, d, err
	case "executor":
		for _, e := range s.executors {
			if e.Name == d.Executor {
				return e, d, nil
			}
		}
		return nil, d, refused(fmt.Sprintf("there is no executor %.80q", d.Executor), s.offer(), nil)
	}
	return nil, d, refused(fmt.Sprintf("executors run no functions of the runtime %.80q", d.Kind), "there are python, python_v2, executor and envelope", nil)
}

// Accepts returns an error unless an executor runs envelopes of a backend.
func (s *Set) Accepts(backend string) error {
	_, err := s.loading(backend)
	return err
}

// loading returns the first executor that runs envelopes of a backend.
func (s *Set) loading(backend string) (*executor, error) {
	for _, e := range s.executors {
		if slices.ContainsFunc(e.Backends, func(p string) bool { fits, err := path.Match(p, backend); return err == nil && fits }) {
			return e, nil
		}
	}
	return nil, function.NoBackend(backend)
}

// accepting returns the first executor that accepts a function of Python.
func (s *Set) accepting(d declaration) (*executor, error) {
	for _, e := range s.executors {
		if e.accepts(d) {
			return e, nil
		}
	}
	needs := "Python " + d.Python
	if len(d.Environment.Packages) > 0 {
		needs += " with " + strings.Join(d.Environment.Packages, ", ")
	}
	if d.GPU {
		needs += " and a GPU"
	}
	return nil, refused(fmt.Sprintf("no executor of this deployment runs %.400s", needs), s.offer(), nil)
}

// offer describes what the executors accept, for those who look for one.
func (s *Set) offer() string {
	if len(s.executors) == 0 {
		return "this deployment has no executors; its operator configures them (TILTYARD_EXECUTOR)"
	}
	var text strings.Builder
	text.WriteString("there are")
	for i, e := range s.executors {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(" " + e.Name)
		if e.Python != "" {
			text.WriteString(" with Python " + e.Python)
		}
	}
	return text.String() + "; the operator configures which packages they accept"
}

func (c *Config) accepts(d declaration) bool {
	if c.Python == "" || d.Python != c.Python && !strings.HasPrefix(d.Python, c.Python+".") || d.GPU && !c.GPU {
		return false
	}
	return !slices.ContainsFunc(d.Environment.Packages, func(p string) bool { return !c.has(p) })
}

var (
	requirementForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)(\[[A-Za-z0-9,._-]*\])?([<>=!~].*)?$`)
	separators      = regexp.MustCompile(`[-_.]+`)
)

// has reports whether one of the patterns fits a requirement, such as numpy==2.2.0. A pattern with a
// comparison fits requirements that are spelled so; any other fits names. Requirements that name a URL
// or depend on the machine fit none.
func (c *Config) has(requirement string) bool {
	requirement = strings.Join(strings.Fields(requirement), "")
	parts := requirementForm.FindStringSubmatch(requirement)
	if parts == nil || strings.ContainsAny(requirement, ";@") {
		return false
	}
	name := separators.ReplaceAllString(strings.ToLower(parts[1]), "-")
	return slices.ContainsFunc(c.Packages, func(pattern string) bool {
		against := name
		if strings.ContainsAny(pattern, "<>=!~") {
			against = name + parts[3]
		} else {
			pattern = separators.ReplaceAllString(strings.ToLower(pattern), "-")
		}
		fits, err := path.Match(pattern, against)
		return err == nil && fits
	})
}

// refused is the error for a function that cannot run here.
func refused(message, detail string, err error) error {
	return &protocol.Error{Code: protocol.InvalidInput, Message: message, Detail: detail, Err: err}
}
