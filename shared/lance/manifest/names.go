package manifest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Names of directories within a table.
const (
	VersionsDir     = "_versions"
	TransactionsDir = "_transactions"
)

// A Scheme is a way to name manifests by their versions. A table uses V1 or V2, not both.
type Scheme uint8

// Naming schemes.
const (
	V2       Scheme = iota // 2^64-1 minus the version in 20 digits: the newest lists first
	V1                     // the version in decimal
	Detached               // "d" and the version, which has bit 63 set: outside of the history
)

// String returns the name of the scheme.
func (s Scheme) String() string {
	switch s {
	case V1:
		return "V1"
	case Detached:
		return "detached"
	default:
		return "V2"
	}
}

const (
	suffix      = ".manifest"
	v2NameLen   = 20 + len(suffix)
	detachedBit = 1 << 63
)

// IsDetached reports, by its number, whether a version is outside of the history.
func IsDetached(version uint64) bool { return version&detachedBit != 0 }

// Name returns the file name of a version's manifest: of version 3 it is
// 18446744073709551612.manifest in V2 and 3.manifest in V1.
func Name(version uint64, scheme Scheme) string {
	switch scheme {
	case V1:
		return strconv.FormatUint(version, 10) + suffix
	case Detached:
		return "d" + strconv.FormatUint(version, 10) + suffix
	default:
		digits := strconv.FormatUint(math.MaxUint64-version, 10)
		return strings.Repeat("0", 20-len(digits)) + digits + suffix
	}
}

// ParseName parses a file name in _versions. ok is false for other files there, such as hints and
// temporary files.
func ParseName(name string) (version uint64, scheme Scheme, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, 0, false
	}
	if rest, detached := strings.CutPrefix(digits, "d"); detached {
		digits, scheme = rest, Detached
	} else if len(name) == v2NameLen {
		scheme = V2
	} else {
		scheme = V1
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if scheme == V2 {
		n = math.MaxUint64 - n
	}
	// Each version has one name: no leading zeros, and bit 63 only in detached versions.
	if err != nil || Name(n, scheme) != name || n&detachedBit != 0 != (scheme == Detached) {
		return 0, 0, false
	}
	return n, scheme, true
}

// Key returns the key of a version's manifest in a store. The table lies under the prefix
// table, which is "" if the table is the root of the store.
func Key(table string, version uint64, scheme Scheme) string {
	return within(table, VersionsDir+"/"+Name(version, scheme))
}

// TransactionKey returns the key of a transaction file, given the name in a manifest.
func TransactionKey(table, name string) string {
	return within(table, TransactionsDir+"/"+name)
}

// TransactionName returns the file name of a transaction, such as 7-<uuid>.txn.
func TransactionName(readVersion uint64, uuid string) string {
	return fmt.Sprintf("%d-%s.txn", readVersion, uuid)
}

func within(table, path string) string {
	if table == "" {
		return path
	}
	return table + "/" + path
}
