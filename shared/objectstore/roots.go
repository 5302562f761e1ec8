package objectstore

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrLocation says that a location is malformed or lies under no root.
var ErrLocation = errors.New("location not accepted")

// maxLocationBytes bounds a location: a key with every byte escaped, and a root.
const maxLocationBytes = 4 * MaxKeyBytes

// A Root is a place that may be read and written: "file:///abs/dir", "memory://name" or
// "s3://bucket/prefix", and the store whose keys lie below it. An absolute path is a
// file URI too. Its host and path are compared as they are spelled: whoever has a path
// with links or with case that does not matter settles on one spelling before.
type Root struct {
	URI   string
	Store Store
}

// A Location is a place below a root, most often that of a table.
type Location struct {
	// URI is absolute and canonical: lower-case scheme, percent-encoded path, no slash at
	// the end. Lance decodes the path of a file URI exactly once, so a client that is
	// given this opens the directory that Store holds at Prefix, whatever its name. (It
	// takes plain paths literally and answers them for local directories it lists.)
	URI    string
	Store  Store
	Prefix string // of all keys of the location, without a slash at the end
}

// Path returns the path of the URI, decoded and without its first slash: the key in the
// bucket, whatever part of it the root is.
func (l Location) Path() string {
	p, _ := parseLocation(l.URI)
	return strings.Join(p.path, "/")
}

// Within returns the path below the location that a client names by a URI, an absolute path,
// a key in the bucket or the file system, or a path that begins at the root or at the location
// itself. What names another place, or is refused by [Roots.Resolve], is not within. The path
// may still be none that a key can have: see [CheckKey].
func (l Location) Within(named string) (inside string, ok bool) {
	if inside, ok = strings.CutPrefix(named, l.Path()+"/"); ok {
		return inside, true
	}
	whole, _ := parseLocation(l.URI)
	p, why := parseLocation(named)
	if why != "" {
		return "", false
	}
	below := func(path []string) bool { return len(p.path) > len(path) && slices.Equal(p.path[:len(path)], path) }
	cut := 0
	switch fromRoot := strings.Split(l.Prefix, "/"); {
	case below(whole.path):
		cut = len(whole.path)
		sameStore := p.scheme == whole.scheme && p.host == whole.host
		ok = sameStore || p.scheme == "" || strings.HasPrefix(named, "/") // keys may begin with a slash
	case p.scheme == "" && below(fromRoot):
		cut, ok = len(fromRoot), true
	case p.scheme == "":
		ok = len(p.path) > 0
	}
	if !ok {
		return "", false
	}
	return strings.Join(p.path[cut:], "/"), true
}

// Roots turns locations as clients write them into stores and prefixes. It is what keeps
// a location from reaching outside of the places that were meant.
type Roots struct {
	roots []root
}

// A root is a Root taken apart.
type root struct {
	Root
	place
}

// A place is a location taken apart: file has no host.
type place struct {
	scheme, host string
	path         []string // decoded components
}

// NewRoots returns the resolver for these roots; the first is the home root. It is an
// error when there is none, when one is malformed or when two are the same.
func NewRoots(roots ...Root) (*Roots, error) {
	if len(roots) == 0 {
		return nil, errors.New("no roots")
	}
	r := new(Roots)
	for _, given := range roots {
		p, why := parseLocation(given.URI)
		switch {
		case why == "" && p.scheme == "":
			why = "is relative"
		case why == "" && p.host == "" && len(p.path) == 0:
			why = "names no place"
		case why == "" && given.Store == nil:
			why = "has no store"
		}
		if why != "" {
			return nil, fmt.Errorf("root %q %s", URI(given.URI), why)
		}
		uri := p.uri()
		if slices.ContainsFunc(r.roots, func(other root) bool { return other.URI == uri }) {
			return nil, fmt.Errorf("root %q is given twice", uri)
		}
		r.roots = append(r.roots, root{Root{uri, given.Store}, p})
	}
	return r, nil
}

// Home returns the home root, with its URI in canonical form.
func (r *Roots) Home() Root { return r.roots[0].Root }

// All returns all roots, the home root first, with their URIs in canonical form.
func (r *Roots) All() []Root {
	all := make([]Root, len(r.roots))
	for i := range r.roots {
		all[i] = r.roots[i].Root
	}
	return all
}

// Join returns the location of a key prefix under the home root, which is a valid key.
// Resolve takes its URI back, unless the prefix holds a backslash or control characters
// or begins with ReservedName. Other programs find it on disk if no component of prefix
// is longer than 200 bytes, as diskstore cuts those.
func (r *Roots) Join(prefix string) Location {
	return r.roots[0].at(strings.Split(prefix, "/"))
}

// Resolve returns the place that a location means, or ErrLocation.
//
// A location is a URI, an absolute path, or a path below the home root. The path of a URI
// is percent-decoded once; other paths are literal. A slash at the end does not matter.
// Refused is what could mean one thing here and another to whoever opens it later: dot
// segments, plain or percent-encoded, empty components, backslashes, control characters,
// what is not UTF-8, a query, a fragment, user information, and a host in a file URI. A
// root itself is not a location, nor is the folder that diskstore keeps to itself.
//
// The error names the roots and nothing else of what there is.
func (r *Roots) Resolve(location string) (Location, error) {
	p, why := parseLocation(location)
	if why != "" {
		return Location{}, r.refuse(why)
	}
	if home := r.roots[0]; p.scheme == "" {
		p = place{home.scheme, home.host, slices.Concat(home.path, p.path)}
	}
	var found *root
	for i := range r.roots {
		// Of roots that lie in one another, the innermost counts.
		if c := &r.roots[i]; c.holds(p) && (found == nil || len(c.path) > len(found.path)) {
			found = c
		}
	}
	if found == nil {
		return Location{}, r.refuse("is outside of the roots")
	}
	return r.below(*found, p.path[len(found.path):])
}

// below returns the place at a path below a root.
func (r *Roots) below(at root, path []string) (Location, error) {
	if len(path) == 0 {
		return Location{}, r.refuse("is a root itself")
	}
	if whole := (place{at.scheme, at.host, slices.Concat(at.path, path)}); slices.ContainsFunc(r.roots, func(other root) bool {
		return (&root{place: whole}).holds(other.place)
	}) {
		return Location{}, r.refuse("lies around a root")
	}
	if path[0] == ReservedName {
		return Location{}, r.refuse("is reserved")
	}
	l := at.at(path)
	if CheckKey(l.Prefix) != nil {
		return Location{}, r.refuse("is too long")
	}
	return l, nil
}

// refuse does not repeat the location, which may hold a secret or much else.
func (r *Roots) refuse(why string) error {
	uris := make([]string, len(r.roots))
	for i := range r.roots {
		uris[i] = r.roots[i].URI + "/"
	}
	return fmt.Errorf("%w: it %s; it must be below %s", ErrLocation, why, strings.Join(uris, " or "))
}

// holds says whether p is this root or lies below it, component by component.
func (r *root) holds(p place) bool {
	return p.scheme == r.scheme && p.host == r.host &&
		len(p.path) >= len(r.path) && slices.Equal(p.path[:len(r.path)], r.path)
}

func (r *root) at(path []string) Location {
	whole := place{r.scheme, r.host, slices.Concat(r.path, path)}
	return Location{URI: whole.uri(), Store: r.Store, Prefix: strings.Join(path, "/")}
}

func (p place) uri() string {
	var b strings.Builder
	b.WriteString(p.scheme + "://" + p.host)
	for _, part := range p.path {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// parseLocation takes a location apart, or says why it cannot. The scheme is empty if the
// location is a relative path.
func parseLocation(location string) (p place, why string) {
	if len(location) > maxLocationBytes {
		return p, "is too long"
	}
	if why := badText(location); why != "" {
		return p, why
	}
	if strings.TrimSpace(location) != location {
		return p, "begins or ends with white space"
	}
	if strings.ContainsAny(location, "?#") {
		return p, `holds "?" or "#", which a URI may hold percent-encoded`
	}
	path, isURI, why := p.cutFront(location)
	if why != "" {
		return p, why
	}
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		return p, ""
	}
	for part := range strings.SplitSeq(path, "/") {
		part, why = readPart(part, isURI)
		if why != "" {
			return p, why
		}
		p.path = append(p.path, part)
	}
	return p, ""
}

// cutFront reads scheme and host and returns the path behind them, without its first
// slash.
func (p *place) cutFront(location string) (path string, isURI bool, why string) {
	if strings.HasPrefix(location, "/") {
		p.scheme = "file"
		return location[1:], false, ""
	}
	first, _, _ := strings.Cut(location, "/")
	scheme, _, isURI := strings.Cut(first, ":")
	if !isURI {
		if location == "" || strings.HasPrefix(location, "~") {
			return "", false, "is not a path"
		}
		return location, false, ""
	}
	p.scheme = strings.ToLower(scheme)
	rest := location[len(scheme)+1:]
	authority, hasAuthority := strings.CutPrefix(rest, "//")
	switch {
	case p.scheme == "file" && hasAuthority:
		p.host, path, _ = strings.Cut(authority, "/")
		if p.host != "" {
			return "", true, "names a host"
		}
	case p.scheme == "file":
		if path, isURI = strings.CutPrefix(rest, "/"); !isURI {
			return "", true, "has no absolute path"
		}
	case !hasAuthority:
		return "", true, "is not a URI with a host"
	default:
		p.host, path, _ = strings.Cut(authority, "/")
		if why := badHost(p.scheme, p.host); why != "" {
			return "", true, why
		}
	}
	return path, true, ""
}

// badHost says what is wrong with the scheme or host of a URI that is no file URI.
// Buckets and names are letters, digits, dots, dashes and underscores.
func badHost(scheme, host string) string {
	switch {
	case scheme == "" || scheme == "http" || scheme == "https":
		return "has no scheme of a store"
	case host == "":
		return "names no bucket"
	case strings.Contains(host, "@"):
		return "holds user information"
	}
	for _, c := range scheme + host {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".-_", c) {
			return "has a scheme or bucket of odd characters"
		}
	}
	return ""
}

// readPart decodes a path component if it is that of a URI, and says what is wrong with
// it. Other components are literal, but must not look like something worse encoded.
func readPart(part string, isURI bool) (decoded, why string) {
	decoded, err := url.PathUnescape(part)
	switch {
	case err != nil && isURI:
		return "", "has a bad percent-encoding"
	case err != nil:
		decoded = part
	}
	if why := badText(decoded); why != "" {
		return "", why
	}
	switch {
	case decoded == "":
		return "", "has an empty component"
	case decoded == "." || decoded == "..":
		return "", "has a dot segment"
	case strings.Contains(decoded, "/"):
		return "", "has an encoded slash"
	case !isURI:
		return part, ""
	}
	return decoded, ""
}

func badText(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsRune(s, '\\'):
		return "holds a backslash"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds control characters"
	}
	return ""
}
