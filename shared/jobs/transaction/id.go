package transaction

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/protocol"
)

// The ids of transactions have these forms:
//
//	fe9c…      32 digits: a job. The first 12 are 2^48-1 minus the milliseconds since 1970
//	           at which it began, so that the newest is first by name; the others are random
//	c5d1…      "c" and 32 digits: a commit that has a record
//	v7-9b2e…-bW92…
//	           a commit without a record: its version, its UUID, and the id of its table,
//	           joined and in base64. A commit of a branch adds a zero byte and the branch
//	x01…       a change; see change.go
//	7          after the id of a table: the commit that made this version of the main branch
//	9b2e…-…    after the id of a table: the commit of this UUID, as native clients name them

// ParseID parses the id of a transaction, which may follow the id of its table. The error is
// TransactionNotFound if the id has none of the forms above.
func ParseID(id []string) (Ref, error) {
	if len(id) == 0 {
		return Ref{}, protocol.Errorf(protocol.InvalidInput, "the id must name a transaction")
	}
	table, name := id[:len(id)-1], id[len(id)-1]
	switch {
	case IsJobID(name):
		return Ref{Unit: Unit{Job: name}}, nil
	case name != "" && name[0] == 'c' && isID(name[1:]):
		return Ref{record: name[1:]}, nil
	}
	if ref, ok := parseCommitID(name); ok {
		return ref, nil
	}
	if change, ok := parseChangeID(name); ok {
		return Ref{change: change}, nil
	}
	// The other forms name a commit relative to its table.
	if len(table) == 0 {
		return Ref{}, notFound(name, nil)
	}
	if version, err := strconv.ParseUint(name, 10, 64); err == nil && version > 0 {
		return Ref{Table: table, Version: version}, nil
	}
	if len(name) != uuidLen {
		return Ref{}, notFound(name, nil)
	}
	return Ref{Table: table, UUID: name}, nil
}

const (
	idDigits = 32
	uuidLen  = 36
)

// Began returns the time at which a job began, to the millisecond, from its id. It returns the zero time for other ids.
func Began(job string) time.Time {
	if !IsJobID(job) {
		return time.Time{}
	}
	left, err := strconv.ParseUint(job[:12], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(1<<48 - 1 - int64(left)).UTC()
}

// IsJobID reports whether id has the form of a job's id.
func IsJobID(id string) bool { return isID(id) }

// isID reports whether s consists of 32 lower-case hexadecimal digits.
func isID(s string) bool { return len(s) == idDigits && isHex(s) }

// isHex reports whether s consists of lower-case hexadecimal digits.
func isHex(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// CommitID returns the id of the transaction of a commit. The id contains everything needed to find
// the commit again, so it needs no record. ok is false if the name of the table is too long for an
// id; see [Store.IDOfCommit].
func CommitID(table []string, commit Commit) (id string, ok bool) {
	digits := strings.ReplaceAll(commit.UUID, "-", "")
	if commit.Version == 0 || !isID(digits) || len(table) == 0 || protocol.CheckID(table) != nil {
		return "", false // parseCommitID would refuse the id
	}
	path := protocol.JoinID(table, protocol.DefaultDelimiter)
	if commit.Branch != "" {
		path += "\x00" + commit.Branch
	}
	id = fmt.Sprintf("v%d-%s-%s", commit.Version, digits, base64.RawURLEncoding.EncodeToString([]byte(path)))
	if len(id) > protocol.MaxIDComponentBytes {
		return "", false
	}
	return id, true
}

// parseCommitID decodes the id of a commit without a record.
func parseCommitID(id string) (Ref, bool) {
	rest, ok := strings.CutPrefix(id, "v")
	if !ok {
		return Ref{}, false
	}
	number, rest, _ := strings.Cut(rest, "-")
	digits, path, _ := strings.Cut(rest, "-")
	version, err := strconv.ParseUint(number, 10, 64)
	if err != nil || version == 0 || !isID(digits) {
		return Ref{}, false
	}
	joined, err := base64.RawURLEncoding.Strict().DecodeString(path)
	if err != nil {
		return Ref{}, false
	}
	name, branch, onBranch := strings.Cut(string(joined), "\x00")
	table, err := protocol.SplitID(name, protocol.DefaultDelimiter)
	if err != nil || len(table) == 0 || onBranch != (branch != "") {
		return Ref{}, false
	}
	uuid := strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
	return Ref{Table: table, Branch: branch, Version: version, UUID: uuid}, true
}

// newJobID returns an id for a job that begins now. Later jobs have smaller ids.
func newJobID(now time.Time) string {
	const most = 1<<48 - 1
	var random [10]byte
	rand.Read(random[:]) // never returns an error: a failure ends the program
	return fmt.Sprintf("%012x%x", most-now.UnixMilli()&most, random)
}
