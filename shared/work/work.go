// Package work is the table of all kinds of jobs. A new kind is a package below this one and a line
// here. The local server and the worker function both run the whole table.
package work

import (
	"maps"

	"tiltyard/shared/function"
	"tiltyard/shared/function/builtin"
	"tiltyard/shared/function/expression"
	"tiltyard/shared/job"
	"tiltyard/shared/sealing"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/announcing"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/calling"
	"tiltyard/shared/work/dropping"
	"tiltyard/shared/work/indexing"
	"tiltyard/shared/work/jobtable"
	"tiltyard/shared/work/looking"
	"tiltyard/shared/work/maintain"
	"tiltyard/shared/work/refresh"
	"tiltyard/shared/work/registering"
)

// Kinds returns all kinds of jobs by name. functions opens the functions that they call.
func Kinds(on tables.Tables, keeper *maintain.Keeper, functions calling.Directory) map[string]job.Kind {
	kinds := map[string]job.Kind{
		tables.MaintainKind: keeper.Kind(),
		dropping.Kind:       dropping.Drop(on.Names),
		refresh.Kind:        jobtable.Follow(on, refresh.Refresh(on, functions, refresh.PartSizes)),
		backfill.Kind:       jobtable.Follow(on, backfill.Following(on, backfill.Fill(on, functions, backfill.PartSizes))),
		indexing.Kind:       indexing.Create(on, indexing.PartSizes),
		indexing.FoldKind:   indexing.Fold(on, indexing.PartSizes),
		jobtable.Kind:       jobtable.Keep(on),
		registering.Kind:    registering.Create(functions),
		looking.TablesKind:  looking.Tables(keeper),
		looking.ViewsKind:   looking.Views(on),
	}
	maps.Copy(kinds, announcing.Kinds(on.Announcer))
	return kinds
}

// Functions returns the directory of functions, with the configured runtimes and those without a
// configuration. keys decrypts secrets; if it is nil, functions with secrets fail.
func Functions(on tables.Tables, keys sealing.Opener, configured function.Runtimes) calling.Directory {
	d := calling.Directory{Names: on.Names, Rights: on.Rights, Runtimes: function.Runtimes{"sql": expression.Runtime{}, "builtin": builtin.Runtime{}}}
	if keys != nil {
		d.Secrets = sealing.Keep(keys)
	}
	maps.Copy(d.Runtimes, configured)
	return d
}
