package gateway

import (
	"slices"
	"strings"

	"tiltyard/shared/protocol/operations"
)

// A route maps paths of a pattern to a function.
type route struct {
	method, path, function string

	segments []string // of the path, without a final variable for the rest
	rest     bool     // a final variable matches the rest, which may be empty
	literals int      // number of segments that are not variables
}

// newRoutes returns the routes in the order in which they are tried: routes that match whole paths
// come first, then routes with more literal segments.
func newRoutes(functions map[string]Function) []route {
	var all []route
	for _, line := range operations.GatewayRoutes() {
		if functions[line.Function] == nil {
			continue
		}
		r := route{method: line.Method, path: line.Path, function: line.Function}
		path, rest := strings.CutSuffix(line.Path, "/{proxy+}")
		r.segments, r.rest = strings.Split(path, "/"), rest
		for _, segment := range r.segments {
			if !strings.HasPrefix(segment, "{") {
				r.literals++
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b route) int {
		if a.rest != b.rest {
			if b.rest {
				return -1
			}
			return 1
		}
		return b.literals - a.literals
	})
	return all
}

// find returns the function for a path and the key of its route.
func (h *handler) find(method, path string) (key string, f Function) {
	segments := strings.Split("/"+strings.TrimLeft(path, "/"), "/")
	for _, r := range h.routes {
		if r.method == method && r.takes(segments) {
			return method + " " + r.path, h.functions[r.function]
		}
	}
	return "$default", h.functions[Fallback]
}

// takes reports whether a path matches the route.
func (r route) takes(segments []string) bool {
	if len(segments) < len(r.segments) || r.rest != (len(segments) > len(r.segments)) {
		return false
	}
	for i, want := range r.segments {
		if want != segments[i] && (!strings.HasPrefix(want, "{") || segments[i] == "") {
			return false
		}
	}
	return true
}
