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

// authorsProperty is the transaction property that records who requested the commit, one name per
// line. A transaction that joins several appends has several lines.
const authorsProperty = "tiltyard.authors"

const (
	// maxAuthors bounds the names in one transaction. The first ones are kept.
	maxAuthors = 32
	// maxAuthorBytes bounds one name. A longer name is dropped, not truncated, because its prefix
	// could be another user's name.
	maxAuthorBytes = 512
)

// Authors returns the users who requested a transaction. It returns none if the writer did not
// record any.
func Authors(txn *pb.Transaction) []string {
	var found []string
	for name := range strings.SplitSeq(txn.Properties[authorsProperty], "\n") {
		if isAuthor(name) && len(found) < maxAuthors {
			found = append(found, name)
		}
	}
	return found
}

// isAuthor reports whether a name can be recorded: one line of valid, printable UTF-8.
func isAuthor(name string) bool {
	return name != "" && len(name) <= maxAuthorBytes && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// signed returns the properties with the authors added. It does not modify the argument.
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

// author returns the user who requests a commit, or "" if unknown.
func (s *Session) author(ctx context.Context) string {
	if s.Author == nil {
		return ""
	}
	return s.Author(ctx)
}
