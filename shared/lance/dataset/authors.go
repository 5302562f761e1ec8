package dataset

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tiltyard/shared/lance/pb"
)

// authorsProperty is the property of a transaction that holds who asked for it, one in a line: several
// if commits were joined.
const authorsProperty = "tiltyard.authors"

const (
	// maxAuthors bounds how many authors a transaction names: the first ones of those that were joined.
	maxAuthors = 32
	// maxAuthorBytes bounds a name. A longer one is left out, as a part of it may be somebody else's.
	maxAuthorBytes = 512
)

// Authors returns who asked for a transaction, as far as its writer has noted that.
func Authors(txn *pb.Transaction) []string {
	var found []string
	for name := range strings.SplitSeq(txn.Properties[authorsProperty], "\n") {
		if isAuthor(name) && len(found) < maxAuthors {
			found = append(found, name)
		}
	}
	return found
}

// isAuthor says whether a name can be noted: it is one line of readable text.
func isAuthor(name string) bool {
	return name != "" && len(name) <= maxAuthorBytes && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// signed returns the properties with the authors among them. The ones given stay as they are.
func signed(properties map[string]string, authors ...string) map[string]string {
	var names []string
	for _, name := range authors {
		if isAuthor(name) && !slices.Contains(names, name) && len(names) < maxAuthors {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return properties
	}
	with := maps.Clone(properties)
	if with == nil {
		with = map[string]string{}
	}
	with[authorsProperty] = strings.Join(names, "\n")
	return with
}

// author returns who asks for a commit, or "".
func (s *Session) author(ctx context.Context) string {
	if s.Author == nil {
		return ""
	}
	return s.Author(ctx)
}
