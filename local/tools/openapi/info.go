package main

import (
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

const about = `A catalog and query service for Lance tables. It serves the operations of the Lance Namespace REST protocol, those
that LanceDB's remote clients use instead of them, and few of its own. x-origin of an operation is spec, lancedb or own.

An id in a path is the names from the root namespace down, joined by $: shop$orders is the table orders in the namespace
shop. $ alone is the root namespace. A path may end in a slash; answers then have the spellings that LanceDB's clients read.

Rows go in and out in the Arrow IPC format. All else is JSON. In a request null is the same as no field, and fields that are
not known are ignored; x-ignored of an operation lists those that clients know and that have no effect here. An error is answered with the JSON object Problem; if its retryable is true, the same request may succeed later.`

// groups are the tags of operations, in the order of the table: the functions that serve them.
var groups = []struct{ name, about string }{
	{"namespace", "Namespaces, which hold tables and other namespaces."},
	{"table", "Names of tables, their locations and sizes."},
	{"schema", "Columns and metadata of a schema."},
	{"data", "Writing rows."},
	{"query", "Reading rows: filters, vectors, full text."},
	{"sql", "Statements in SQL."},
	{"index", "Indices."},
	{"version", "Versions of tables."},
	{"ref", "Tags and branches."},
	{"transaction", "Transactions, jobs and maintenance."},
	{"view", "Views, functions and secrets."},
}

// idParameters describes the id in a path for each kind of object.
var idParameters = []struct{ kind, about, example string }{
	{"namespace", "The names of the namespaces from the root down, joined by $. $ alone is the root.", "shop"},
	{"table", "The names of the namespaces and the table, joined by $.", "shop$orders"},
	{"transaction", "The id of the transaction. The names of its table may be in front of it, joined by $.", ""},
	{"materialized_view", "The names of the namespaces and the view, joined by $.", "shop$totals"},
	{"view", "The names of the namespaces and the view, joined by $.", "shop$recent"},
	{"function", "The names of the namespaces and the function, joined by $.", "shop$half"},
	{"secret", "The names of the namespaces and the secret, joined by $.", "shop$key"},
}

// sharedParameters lists the parameters that several operations have in common, by name.
func sharedParameters() object {
	text := object{{"type", "string"}}
	all := object{}
	for _, p := range idParameters {
		parameter := object{{"name", "id"}, {"in", "path"}, {"required", true}, {"description", p.about}, {"schema", text}}
		if p.example != "" {
			parameter = parameter.with("example", p.example)
		}
		all = all.with(p.kind+"Id", parameter)
	}
	header := func(name, about string, schema object) object {
		return object{{"name", name}, {"in", "header"}, {"description", about}, {"schema", schema}}
	}
	return append(all, object{
		{"delimiter", object{
			{"name", "delimiter"}, {"in", "query"}, {"description", "What joins the names of an id, in the path and in answers."},
			{"schema", text.with("default", protocol.DefaultDelimiter)},
		}},
		{"idempotencyKey", header("idempotency-key", "A text of the caller's choice. A request that is sent again with the same key happens once, and has the answer of the first. GET /version tells whether the server keeps keys.", text.with("maxLength", 255))},
		{"range", header("range", "The bytes that are wanted, such as bytes=0-99.", text)},
		{"result", header("x-tiltyard-result", "redirect: an answer beyond 4 MiB is written to storage, and the response leads to it, as clients that follow redirects need. link: the answer is written to storage, and the response says where it is.", object{{"enum", []string{"redirect", "link"}}})},
		{"timeout", header("x-request-timeout-ms", "How many milliseconds the request may take, where that is less than the server allows.", object{{"type", "integer"}, {"minimum", 0}})},
	}...)
}

// llms returns a text about the service for language models.
func llms() string {
	var b strings.Builder
	b.WriteString(llmsHead)
	for _, group := range groups {
		b.WriteString("\n### " + group.name + ": " + group.about + "\n\n")
		for _, op := range operations.All {
			if op.Function == group.name {
				b.WriteString("- " + op.Name + ": " + strings.Join(op.Methods, ", ") + " " + op.Path + " - " + op.Summary + "\n")
			}
		}
	}
	return b.String()
}
