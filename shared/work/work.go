// Package work is the table of what jobs do. A new kind of job is a package below, and a line
// here: the local server and the worker function take the whole table.
package work

import (
	"tiltyard/shared/job"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/dropping"
	"tiltyard/shared/work/maintain"
)

// Kinds returns what jobs do, under the names of their kinds.
func Kinds(on tables.Tables, keeper *maintain.Keeper) map[string]job.Kind {
	return map[string]job.Kind{
		tables.MaintainKind: keeper.Kind(),
		dropping.Kind:       dropping.Drop(on.Names),
	}
}
