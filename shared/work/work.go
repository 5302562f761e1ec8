// Package work is the table of all kinds of jobs. A new kind is a package below this one and a line
// here. The local server and the worker function both run the whole table.
package work

import (
	"maps"

	"tiltyard/shared/function"
	"tiltyard/shared/function/expression"
	"tiltyard/shared/job"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/dropping"
	"tiltyard/shared/work/indexing"
	"tiltyard/shared/work/maintain"
	"tiltyard/shared/work/refresh"
	"tiltyard/shared/work/registering"
)

// Kinds returns all kinds of jobs by name.
// runtimes run functions.
func Kinds(on tables.Tables, keeper *maintain.Keeper, runtimes function.Runtimes) map[string]job.Kind {
	return map[string]job.Kind{
		tables.MaintainKind: keeper.Kind(),
		dropping.Kind:       dropping.Drop(on.Names),
		refresh.Kind:        refresh.Refresh(on),
		backfill.Kind:       backfill.Fill(on),
		indexing.Kind:       indexing.Create(on, indexing.PartSizes),
		registering.Kind:    registering.Create(on.Names, runtimes),
	}
}

// Runtimes returns the runtimes of functions: those that were configured, and those that need no
// configuration.
func Runtimes(configured function.Runtimes) function.Runtimes {
	all := function.Runtimes{"sql": expression.Runtime{}}
	maps.Copy(all, configured)
	return all
}
