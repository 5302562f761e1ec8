package executor

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
)

// A declaration is the declared runtime of a function, with the fields of the kinds of [Kinds].
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
func Kinds() []string { return []string{"python", "python_v2", "executor", udf.Envelope} }

// Check returns a check of declared runtimes against executors. It accepts runtimes of kinds other than
// [Kinds].
func Check(configs []Config) udf.Check {
	return func(runtime []byte) error {
		var d declaration
		if err := json.Unmarshal(runtime, &d); err != nil || !slices.Contains(Kinds(), d.Kind) {
			return err
		}
		_, _, err := match(configs, runtime)
		return err
	}
}

// match returns the number of the executor for a declared runtime.
func match(configs []Config, runtime []byte) (at int, d declaration, err error) {
	if err := json.Unmarshal(runtime, &d); err != nil {
		return 0, d, refused(protocol.InvalidInput, "the runtime of the function cannot be read", "it must be a JSON object with the fields that its kind has", err)
	}
	var fits func(c Config) bool
	needs := ""
	switch d.Kind {
	case "python", "python_v2":
		fits, needs = func(c Config) bool { return c.accepts(d) }, d.needs()
	case udf.Envelope:
		fits = func(c Config) bool { return c.loads(d.Backend) }
	case "executor":
		fits, needs = func(c Config) bool { return c.Name == d.Executor }, fmt.Sprintf("functions of the executor %.80q", d.Executor)
	default:
		return 0, d, refused(protocol.InvalidInput, fmt.Sprintf("executors run no functions of the runtime %.80q", d.Kind), "there are python, python_v2, executor and envelope", nil)
	}
	// The first executor that fits is used, in the order of the configuration.
	at = slices.IndexFunc(configs, fits)
	switch {
	case at >= 0:
		return at, d, nil
	case d.Kind == udf.Envelope:
		return 0, d, udf.NoBackend(d.Backend)
	}
	var none error
	if len(configs) == 0 {
		none = udf.ErrNone
	}
	return 0, d, refused(protocol.Unsupported, fmt.Sprintf("no executor of this deployment runs %.400s", needs), offer(configs), none)
}

// needs describes the requirements of a Python function, for errors.
func (d declaration) needs() string {
	needs := "Python " + d.Python
	if len(d.Environment.Packages) > 0 {
		needs += " with " + strings.Join(d.Environment.Packages, ", ")
	}
	if d.GPU {
		needs += " and a GPU"
	}
	return needs
}

// offer lists the functions that executors accept, for errors.
func offer(configs []Config) string {
	if len(configs) == 0 {
		return "this deployment has no executors; its operator configures them (TILTYARD_EXECUTOR)"
	}
	var text strings.Builder
	text.WriteString("there are")
	for i, c := range configs {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(" " + c.Name)
		if c.Python != "" {
			text.WriteString(" with Python " + c.Python)
		}
	}
	return text.String() + "; the operator configures them, and which packages they accept (TILTYARD_EXECUTOR)"
}

// loads reports whether the executor runs envelopes of a backend.
func (c *Config) loads(backend string) bool {
	return slices.ContainsFunc(c.Backends, func(p string) bool { fits, err := path.Match(p, backend); return err == nil && fits })
}

// accepts reports whether the executor has the Python version, the packages and the GPU of a function.
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

// has reports whether one of the patterns matches a requirement, such as numpy==2.2.0. A pattern with a
// comparison matches requirements with the same spelling; other patterns match names. Requirements with a
// URL or an environment marker never match.
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
func refused(code protocol.Code, message, detail string, err error) error {
	return &protocol.Error{Code: code, Message: message, Detail: detail, Err: err}
}
