package httpapi

import (
	"net/url"
	"slices"
	"strings"

	"tiltyard/shared/protocol"
)

// router finds the operation of a path. There are about a hundred patterns, all short, so the
// router tries one after the other. Patterns with more literal segments come first, so that {id}
// does not match "version" of /v1/table/version/batch-create.
type router struct {
	base     []string // segments in front of /v1; clients may leave them out
	patterns []pattern
}

// A pattern is the path of an operation, in segments. literals is the number of segments without a
// parameter.
type pattern struct {
	operation protocol.Operation
	segments  []string
	literals  int
}

// match is the operation of a path, with the parameters in it.
type match struct {
	operation protocol.Operation
	params    map[string]string // undecoded, by the name in the pattern
	dialect   protocol.Dialect
}

// newRouter returns a router for operations below a base path.
func newRouter(basePath string, operations []protocol.Operation) *router {
	rt := &router{base: segmentsOf(basePath)}
	for _, op := range operations {
		p := pattern{operation: op, segments: segmentsOf(op.Path)}
		for _, s := range p.segments {
			if !isParameter(s) {
				p.literals++
			}
		}
		rt.patterns = append(rt.patterns, p)
	}
	slices.SortStableFunc(rt.patterns, func(a, b pattern) int { return b.literals - a.literals })
	return rt
}

// find matches the escaped path of a request. Two slashes in a row count as one. A slash at the end
// of a table path selects the LanceDB dialect.
func (rt *router) find(method, escapedPath string) (match, error) {
	segments := rt.segments(escapedPath)
	var allowed []string
	for i := range rt.patterns {
		p := &rt.patterns[i]
		params, ok := p.match(segments)
		if !ok {
			continue
		}
		if !slices.Contains(p.operation.Methods, method) {
			allowed = append(allowed, p.operation.Methods...)
			continue
		}
		m := match{operation: p.operation, params: params}
		if strings.HasSuffix(escapedPath, "/") && isTablePath(segments) {
			m.dialect = protocol.DialectLanceDB
		}
		return m, nil
	}
	if allowed != nil {
		return match{}, wrongMethod(method, allowed)
	}
	return match{}, unknownRoute(escapedPath, segments)
}

// segments splits a path and removes the base path.
func (rt *router) segments(escapedPath string) []string {
	segments := segmentsOf(escapedPath)
	if len(rt.base) > 0 && len(segments) >= len(rt.base) && slices.Equal(segments[:len(rt.base)], rt.base) {
		return segments[len(rt.base):]
	}
	return segments
}

// match compares the segments of a path, and returns the parameters.
func (p *pattern) match(segments []string) (map[string]string, bool) {
	if len(segments) != len(p.segments) {
		return nil, false
	}
	for i, want := range p.segments {
		if want != segments[i] && !isParameter(want) {
			return nil, false
		}
	}
	params := map[string]string{}
	for i, want := range p.segments {
		if isParameter(want) {
			params[strings.Trim(want, "{}")] = segments[i]
		}
	}
	return params, true
}

func segmentsOf(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// isTablePath reports whether a path is below /v1/table, where a final slash has a meaning.
func isTablePath(segments []string) bool {
	return len(segments) >= 2 && segments[0] == "v1" && segments[1] == "table"
}

// decodeSegment undoes percent-encoding. It also turns a plus sign into a space, because some
// clients apply form-encoding to paths; all clients send a real plus sign as %2B.
func decodeSegment(name, raw string) (string, error) {
	decoded, err := url.QueryUnescape(raw)
	if err != nil {
		return "", protocol.Errorf(protocol.InvalidInput, "%s in the path is not properly percent-encoded", name)
	}
	return decoded, nil
}

// decodeName decodes a path parameter that is a single name and not an id.
func decodeName(name, raw string) (string, error) {
	decoded, err := decodeSegment(name, raw)
	if err != nil {
		return "", err
	}
	if err := protocol.CheckName(name, decoded); err != nil {
		return "", err
	}
	return decoded, nil
}
