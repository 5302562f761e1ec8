// Package stores defines the configuration of package tables: the stores of a deployment, its queue, and the settings of
// its tables. Package boot makes a [Set] from the environment. The set has a package of its own because each function
// imports boot, and a function that serves no tables must not contain the engine.
package stores

import (
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables/vending"
)

// A Set contains the stores and settings of package tables. A zero number means the default.
type Set struct {
	Objects      *objectstore.Roots
	Records      record.Store // transactions and uploads
	Now          func() time.Time
	Logger       *slog.Logger // receives warnings about tables; nil disables them
	CacheBytes   uint64       // size of the cache of table data
	MergeBytes   int64        // bytes of a merge's source, most of them in the scratch directory
	TopK         int          // bounds the rows of a search or sort
	StableRowIDs bool         // default for new tables
	Anonymous    bool         // leaves the names of callers out of versions
	Queue        jobs.Queue   // nil: there are no jobs, and requests do long work themselves
	Maintain     bool         // has jobs compact and clean up tables that are written to; see package maintain
	Metered      bool         // usage is metered; see package usage
	Auto         AutoRefresh  // refresh of views by jobs after changes of their sources
	// DropRetention is the time for which dropped tables can be restored, unless a property sets it.
	DropRetention time.Duration
	// EventSource enables events, and is their source; see package event. Empty: no events.
	EventSource    string
	EventRetention time.Duration  // time for which events can be read
	Vendor         vending.Vendor // issues credentials to clients; nil: none
	// Runs returns an error for functions that this deployment does not run; nil: jobs find that out.
	Runs   udf.Check
	Rights auth.Rights // of the callers who have defined views, columns and functions
	Parts  Parts
}

// Parts decide whether and where parts of large queries run. The zero value means here.
type Parts struct {
	Where    string // lambda: and the name or ARN of a function, or a URL of servers; empty: here
	Endpoint string // of Lambda's API; empty: that of the region
	AWS      func() (aws.Config, error)
	Memory   int64 // bytes of a function; 0: unknown
	Bytes    int64 // decoded bytes that a part reads; what reads more than twice as many is divided
	Together int   // parts of a query at the same time
}

// AutoRefresh decides when a view is refreshed automatically. Its zero value means never.
type AutoRefresh struct {
	// After is the age of the oldest change that the view does not show. 0 switches all of this off.
	After time.Duration
	// Rows of the source that differ from what the view shows are enough earlier, if they are one
	// percent of the source or more.
	Rows int64
	// Cooldown is the least time between two refreshes.
	Cooldown time.Duration
}
