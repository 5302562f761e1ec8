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

// ErrLocation means that a location is malformed or outside of the roots.
var ErrLocation = errors.New("location not accepted")

// maxLocationBytes bounds the length of a location: a root, and a key with every byte escaped.
const maxLocationBytes = 4 * MaxKeyBytes

// A Root is a location that may be read and written, with the store for the keys below it. Its URI is
// "file:///abs/dir", "memory://name" or "s3://bucket/prefix"; an absolute path counts as a file URI. Roots
// are compared as text. The caller must therefore resolve symbolic links first, and choose one spelling if
// the file system ignores case.
type Root struct {
	URI   string
	Store Store
}

// A Location is a URI below a root, most often that of a table.
type Location struct {
	// URI is absolute and canonical: lower-case scheme, percent-encoded path, no slash at the end.
	// Lance decodes the path of a file URI exactly once, so a client that gets this URI opens the
	// directory that Store holds at Prefix, whatever its name is. (Lance takes plain paths
	// literally, and returns such paths for local directories that it lists.)
	URI    string
	Store  Store
	Prefix string // common prefix of all keys of the location, without a slash at the end
}

// Path returns the path of the URI, decoded and without its first slash. For a bucket, that is the
// key in the bucket, no matter which part of it belongs to the root.
func (l Location) Path() string {
	p, _ := parseLocation(l.URI)
	return strings.Join(p.path, "/")
}

// Join returns the location of a path below l. Its components are literal. The caller must check
// that the Prefix is a valid key if the path is not its own.
func (l Location) Join(path string) Location {
	l.Prefix += "/" + path
	for part := range strings.SplitSeq(path, "/") {
		l.URI += "/" + url.PathEscape(part)
	}
	return l
}

// Holds reports whether name is folder, or lies inside it. Both are keys, or both are canonical URIs,
// without a slash at the end.
func Holds(folder, name string) bool {
	inside, ok := strings.CutPrefix(name, folder)
	return ok && (inside == "" || inside[0] == '/')
}

// Within returns the part of a client's path that is below the location. The client may give a URI, an
// absolute path, a key in the bucket or the file system, or a path that begins at the root or at the
// location itself. ok is false for a path elsewhere, and for a path that [Roots.Resolve] refuses. The
// result need not be a valid key: see [CheckKey].
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

// Roots resolves the locations of clients to stores and prefixes. It refuses locations outside of the
// configured roots.
type Roots struct {
	roots []root
}

// A root is a Root with its parsed URI.
type root struct {
	Root
	parsed
}

// parsed is a location divided into its parts. That of a file has no host.
type parsed struct {
	scheme, host string
	path         []string // decoded components
}

// NewRoots returns the resolver for the given roots; the first is the home root. It returns an error if
// there is no root, or if one is malformed or duplicate.
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
			why = "has no path"
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

// Home returns the home root, with a canonical URI.
func (r *Roots) Home() Root { return r.roots[0].Root }

// All returns all roots, the home root first, with canonical URIs.
func (r *Roots) All() []Root {
	all := make([]Root, len(r.roots))
	for i := range r.roots {
		all[i] = r.roots[i].Root
	}
	return all
}

// Join returns the location of a prefix under the home root. The prefix must be a valid key.
// Resolve accepts its URI, unless the prefix contains a backslash or control characters or begins
// with ReservedName. Other programs find it on disk if no component of prefix is longer than 200
// bytes, because diskstore divides longer ones.
func (r *Roots) Join(prefix string) Location {
	return r.roots[0].at(strings.Split(prefix, "/"))
}

// Resolve returns the Location for a client's text, or ErrLocation.
//
// The text is a URI, an absolute path, or a path below the home root. Resolve percent-decodes the path of a
// URI once, and takes other paths literally. It ignores a slash at the end. It refuses text that another
// program could interpret differently: dot segments, plain or percent-encoded, empty components,
// backslashes, control characters, invalid UTF-8, a query, a fragment, user information, and a host in a
// file URI. A root itself is not a location, and neither is the folder that diskstore reserves.
//
// The error names only the roots.
func (r *Roots) Resolve(location string) (Location, error) {
	p, why := parseLocation(location)
	if why != "" {
		return Location{}, r.refuse(why)
	}
	if home := r.roots[0]; p.scheme == "" {
		p = parsed{home.scheme, home.host, slices.Concat(home.path, p.path)}
	}
	var found *root
	for i := range r.roots {
		// If roots are nested, the innermost one applies.
		if c := &r.roots[i]; c.holds(p) && (found == nil || len(c.path) > len(found.path)) {
			found = c
		}
	}
	if found == nil {
		return Location{}, r.refuse("is outside of the roots")
	}
	return r.below(*found, p.path[len(found.path):])
}

// below returns the location at a path below a root.
func (r *Roots) below(at root, path []string) (Location, error) {
	if len(path) == 0 {
		return Location{}, r.refuse("is a root itself")
	}
	if whole := (parsed{at.scheme, at.host, slices.Concat(at.path, path)}); slices.ContainsFunc(r.roots, func(other root) bool {
		return (&root{parsed: whole}).holds(other.parsed)
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

// refuse does not repeat the location, because it may contain a secret or be very long.
func (r *Roots) refuse(why string) error {
	uris := make([]string, len(r.roots))
	for i := range r.roots {
		uris[i] = r.roots[i].URI + "/"
	}
	return fmt.Errorf("%w: it %s; it must be below %s", ErrLocation, why, strings.Join(uris, " or "))
}

// holds reports whether p is this root or below it, compared by components.
func (r *root) holds(p parsed) bool {
	return p.scheme == r.scheme && p.host == r.host &&
		len(p.path) >= len(r.path) && slices.Equal(p.path[:len(r.path)], r.path)
}

func (r *root) at(path []string) Location {
	whole := parsed{r.scheme, r.host, slices.Concat(r.path, path)}
	return Location{URI: whole.uri(), Store: r.Store, Prefix: strings.Join(path, "/")}
}

func (p parsed) uri() string {
	var b strings.Builder
	b.WriteString(p.scheme + "://" + p.host)
	for _, part := range p.path {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// parseLocation parses a location; why is the reason when it cannot. The scheme is empty if the
// location is a relative path.
func parseLocation(location string) (p parsed, why string) {
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
		return p, `contains "?" or "#", which a URI must percent-encode`
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

// cutFront parses scheme and host. It returns the path after them, without its first slash.
func (p *parsed) cutFront(location string) (path string, isURI bool, why string) {
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

// badHost returns the fault in the scheme or host of a URI other than a file URI, or "". Names of buckets
// and stores consist of letters, digits, dots, dashes and underscores.
func badHost(scheme, host string) string {
	switch {
	case scheme == "" || scheme == "http" || scheme == "https":
		return "has no scheme of a store"
	case host == "":
		return "names no bucket"
	case strings.Contains(host, "@"):
		return "contains user information"
	}
	for _, c := range scheme + host {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".-_", c) {
			return "has a scheme or bucket with unusual characters"
		}
	}
	return ""
}

// readPart decodes a component of a URI's path. why is the fault in it, or "". Components of other paths
// are literal, but must not look like an encoded dot segment or slash.
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
		return "contains a backslash"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "contains control characters"
	}
	return ""
}
