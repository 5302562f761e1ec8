// Package work lists all kinds of jobs. A new kind is a package below this one and a line here. The
// local server and the worker function both run all kinds.
package work

import (
	"maps"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/builtin"
	"tiltyard/shared/engine/udf/expression"
	"tiltyard/shared/jobs"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/dropping"
	"tiltyard/shared/work/indexing"
	"tiltyard/shared/work/jobtable"
	"tiltyard/shared/work/maintain"
	"tiltyard/shared/work/metering"
	"tiltyard/shared/work/publishing"
	"tiltyard/shared/work/refresh"
	"tiltyard/shared/work/sweep"
	"tiltyard/shared/work/udfcall"
	"tiltyard/shared/work/udfregister"
)

// Kinds returns all kinds of jobs by name. functions opens the functions that they call.
func Kinds(on tables.Tables, keeper *maintain.Keeper, functions udfcall.Directory) map[string]jobs.Kind {
	kinds := map[string]jobs.Kind{
		tables.MaintainKind: keeper.Kind(),
		dropping.Kind:       dropping.Drop(on.Names),
		refresh.Kind:        jobtable.Follow(on, refresh.Refresh(on, functions, refresh.PartSizes)),
		backfill.Kind:       jobtable.Follow(on, backfill.Following(on, backfill.Fill(on, functions, backfill.PartSizes))),
		indexing.Kind:       indexing.Create(on, indexing.PartSizes),
		indexing.FoldKind:   indexing.Fold(on, indexing.PartSizes),
		jobtable.Kind:       jobtable.Keep(on),
		udfregister.Kind:    udfregister.Create(functions),
		tables.UsageKind:    metering.Fold(on),
		sweep.TablesKind:    sweep.Tables(keeper),
		sweep.ViewsKind:     sweep.Views(on),
	}
	maps.Copy(kinds, publishing.Kinds(on.Announcer))
	return kinds
}

// Functions returns the directory of functions, with the configured runtimes and the ones that need
// no configuration. keys decrypts secrets; if it is nil, functions with secrets fail.
func Functions(on tables.Tables, keys secretbox.Opener, configured udf.Runtimes) udfcall.Directory {
	d := udfcall.Directory{Names: on.Names, Rights: on.Rights, Runtimes: udf.Runtimes{"sql": expression.Runtime{}, "builtin": builtin.Runtime{}}}
	if keys != nil {
		d.Secrets = secretbox.Keep(keys)
	}
	maps.Copy(d.Runtimes, configured)
	return d
}
