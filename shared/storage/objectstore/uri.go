package objectstore

import "strings"

// A URI is a location as a client or a table spells it, for errors and logs. Its text keeps the
// path, and leaves out user information, query and fragment, which may contain secrets.
type URI string

// String returns the location without possible secrets. The location need not be well formed.
func (u URI) String() string {
	text := string(u)
	if end := strings.IndexAny(text, "?#"); end >= 0 {
		text = text[:end]
	}
	scheme, rest, hasAuthority := strings.Cut(text, "://")
	if !hasAuthority {
		scheme, rest = "", text
	}
	authority, _, _ := strings.Cut(rest, "/")
	user := -1
	switch {
	case strings.Contains(authority, ":"): // a password may contain an unescaped slash, against the rules
		user = strings.LastIndexByte(rest, '@')
	case hasAuthority:
		user = strings.LastIndexByte(authority, '@')
	}
	rest = rest[user+1:]
	if !hasAuthority {
		return rest
	}
	return scheme + "://" + rest
}
