// Package stores lists what tables are opened over: the stores of a deployment, its queue, and the settings of its
// tables. Package boot makes a [Set] of the environment, and package tables opens tables over it. The set has a
// package of its own because each function imports boot, and a function that serves no tables contains no engine.
package stores

import (
	"log/slog"
	"time"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables/vending"
)

// A Set holds the stores and settings that tables are opened over. A number that is zero means its default.
type Set struct {
	Objects      *objectstore.Roots
	Records      record.Store // holds transactions and uploads
	Now          func() time.Time
	Logger       *slog.Logger // receives warnings about tables; nil disables them
	CacheBytes   uint64       // bounds the cache of what was read from tables
	MergeBytes   int64        // bounds the source of a merge, most of which lies in the scratch directory
	TopK         int          // bounds the rows of a search or sort
	StableRowIDs bool         // of new tables whose creator chooses neither
	Anonymous    bool         // leaves the names of callers out of versions
	Queue        jobs.Queue   // nil: there are no jobs, and requests do long work themselves
	Maintain     bool         // has jobs compact and clean up tables that are written to; see package maintain
	Auto         AutoRefresh  // has jobs refresh views whose sources are written to
	// DropRetention is how long dropped tables can be restored where no property is set.
	DropRetention time.Duration
	// EventSource has changes announced as events of this source; see package event. Empty: there are no events.
	EventSource    string
	EventRetention time.Duration  // how long events can be read
	Vendor         vending.Vendor // makes credentials for clients; nil: clients get none
	// Runs returns an error for functions that this deployment does not run; nil: jobs find that out.
	Runs   udf.Check
	Rights auth.Rights // of the callers who have defined views, columns and functions
}

// AutoRefresh decides when a view that asks for it is refreshed without a request. Its zero value means
// never.
type AutoRefresh struct {
	// After is the age of the oldest change that the view does not show. 0 switches all of this off.
	After time.Duration
	// Rows of the source that differ from what the view shows are enough earlier, if they are one
	// percent of the source or more.
	Rows int64
	// Cooldown is the least time between two refreshes.
	Cooldown time.Duration
}
