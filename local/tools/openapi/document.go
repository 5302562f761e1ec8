package main

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

// readShapes returns the shapes of all operations by name.
func readShapes() (map[string]httpapi.Shape, error) {
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://shapes", Store: memstore.New()})
	if err != nil {
		return nil, err
	}
	shapes := map[string]httpapi.Shape{}
	for _, route := range all.Open(tables.Stores{Objects: roots, Now: time.Now}, all.Options{}).Routes {
		shape := route.Shape()
		shapes[shape.Operation] = shape
	}
	for _, op := range operations.All {
		if _, ok := shapes[op.Name]; !ok {
			return nil, fmt.Errorf("no service has a route for %s", op.Name)
		}
	}
	return shapes, nil
}

// A document is an OpenAPI document under construction.
type document struct {
	shapes  map[string]httpapi.Shape
	schemas *schemas
}

func newDocument(shapes map[string]httpapi.Shape, comments *comments) *document {
	return &document{shapes, &schemas{comments: comments, made: map[string]object{}, kinds: map[string]reflect.Type{}}}
}

// build builds the document. It visits requests first, because their schema of a type, with its
// required fields, also counts for answers. Only the types of columns get the complete schema of
// answers.
func (d *document) build() object {
	d.schemas.of(reflect.TypeFor[protocol.JSONSchema]())
	d.schemas.asked = true
	for _, op := range operations.All {
		if !d.shapes[op.Name].IsUpload && slices.Contains(op.Methods, http.MethodPost) {
			d.schemas.of(op.RequestType())
		}
	}
	d.schemas.asked = false
	paths := object{}
	for _, op := range operations.All {
		item := object{}
		for i, method := range op.Methods {
			item = item.with(strings.ToLower(method), d.operation(op, method, i > 0))
		}
		paths = paths.with(op.Path, item)
	}
	return object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "Tiltyard"}, {"version", protocol.SpecificationVersion}, {"description", paragraphs(about)},
			{"license", object{{"name", "Apache 2.0"}, {"identifier", "Apache-2.0"}}},
		}},
		{"servers", []object{{{"url", "."}, {"description", "the server of this document"}}}},
		{"security", []object{{{"bearer", []string{}}}, {{"apiKey", []string{}}}}},
		{"tags", d.tags()},
		{"paths", paths},
		{"components", d.components()},
	}
}

// tags describes the groups of operations.
func (d *document) tags() []object {
	var tags []object
	for _, group := range groups {
		tags = append(tags, object{{"name", group.name}, {"description", group.about}})
	}
	return tags
}

// operation describes an operation with one of its methods.
func (d *document) operation(op protocol.Operation, method string, isSecond bool) object {
	shape := d.shapes[op.Name]
	id := op.Name
	if isSecond {
		id += "By" + method[:1] + strings.ToLower(method[1:])
	}
	o := object{
		{"operationId", id}, {"summary", op.Summary}, {"tags", []string{op.Function}},
		{"x-operation", op.Name}, {"x-origin", op.Origin}, {"x-access", op.Access},
	}
	if op.Note != "" {
		o = o.with("description", op.Note)
	}
	if fields := ignoredFields(op.Name); len(fields) > 0 {
		o = o.with("x-ignored", fields)
	}
	o = o.with("parameters", d.parameters(op, shape))
	if method != http.MethodGet {
		o = o.with("requestBody", d.body(op, shape))
	}
	return o.with("responses", d.responses(op, shape))
}

// ignoredFields maps the fields of an operation that have no effect to the reasons.
func ignoredFields(operation string) object {
	var fields object
	for _, f := range operations.Ignored {
		if f.Operation == operation {
			fields = fields.with(f.Field, f.Reason)
		}
	}
	return fields
}

// parameters lists the parameters in the path, the query string and the headers.
func (d *document) parameters(op protocol.Operation, shape httpapi.Shape) []object {
	var list []object
	fields := fieldsOf(op.RequestType())
	names := wireNames(fields)
	if strings.Contains(op.Path, "{id}") {
		list = append(list, refer("parameters", idParameter(op)))
	}
	list = append(list, refer("parameters", "delimiter"))
	for _, f := range fields {
		for _, in := range []string{"path", "query"} {
			name := f.Tag.Get(in)
			if name == "" {
				continue
			}
			parameter := object{{"name", name}, {"in", in}}
			if in == "path" || slices.Contains(required[nameOf(op.RequestType())], name) {
				parameter = parameter.with("required", true)
			}
			if text := d.schemas.comments.describe(f.owner+"."+f.Name, names); text != "" {
				parameter = parameter.with("description", text)
			}
			list = append(list, d.parameterForm(parameter, f.Type))
		}
	}
	if shape.IsOnce {
		list = append(list, refer("parameters", "idempotencyKey"))
	}
	if op.ResponseType() == reflect.TypeFor[protocol.Rows]() && isStorable(op) {
		list = append(list, refer("parameters", "result"))
	}
	if op.ResponseType() == reflect.TypeFor[protocol.Bytes]() {
		list = append(list, refer("parameters", "range"))
	}
	return append(list, refer("parameters", "timeout"))
}

// parameterForm adds the schema of a parameter. A map is encoded as a JSON object in the
// parameter's text.
func (d *document) parameterForm(parameter object, t reflect.Type) object {
	schema := d.schemas.of(t)
	if t.Kind() == reflect.Map {
		return parameter.with("content", object{{"application/json", object{{"schema", schema}}}})
	}
	return parameter.with("schema", schema)
}

// idParameter returns the name of the parameter that describes the id in an operation's path.
func idParameter(op protocol.Operation) string {
	_, kind, _ := strings.Cut(op.Path, "/v1/")
	kind, _, _ = strings.Cut(kind, "/")
	return kind + "Id"
}

// body describes the body of a request.
func (d *document) body(op protocol.Operation, shape httpapi.Shape) object {
	arrow := object{{arrowipc.ContentTypeStream, object{{"schema", object{{"description", "An Arrow IPC stream."}}}}}}
	if shape.IsUpload {
		return object{{"required", true}, {"content", arrow}}
	}
	media := object{{"schema", d.schemas.of(op.RequestType())}}
	if given := examples[op.Name]; given != nil {
		all := object{}
		for _, e := range given {
			all = all.with(e.name, object{{"summary", e.about}, {"value", e.body}})
		}
		media = media.with("examples", all)
	}
	content := object{{"application/json", media}}
	if _, ok := op.Request.(interface{ RequestUpload() *protocol.Upload }); ok {
		content = append(content, arrow...)
	}
	body := object{{"content", content}}
	if len(required[nameOf(op.RequestType())]) > 0 || len(needsOne[op.Name]) > 0 {
		body = body.with("required", true)
	}
	return body
}

// responses lists the answers by status.
func (d *document) responses(op protocol.Operation, shape httpapi.Shape) object {
	all := object{}
	for _, status := range statusesOf(op) {
		all = all.with(strconv.Itoa(status), d.answer(op, shape, status))
	}
	return all.with("4XX", refer("responses", "problem")).with("5XX", refer("responses", "problem"))
}

// statusesOf returns the statuses of an operation's regular answers.
func statusesOf(op protocol.Operation) []int {
	if op.Statuses != nil {
		return op.Statuses
	}
	if v, ok := op.Response.(interface{ HTTPStatus() int }); ok {
		return []int{v.HTTPStatus()}
	}
	return []int{http.StatusOK}
}

// answer describes the answer with one status.
func (d *document) answer(op protocol.Operation, shape httpapi.Shape, status int) object {
	response := op.ResponseType()
	answer := object{{"description", http.StatusText(status) + "."}}
	if text := d.schemas.comments.describe(nameOf(response), wireNames(fieldsOf(response))); text != "" {
		answer = object{{"description", text}}
	}
	if _, ok := op.Response.(interface{ AtVersion() int64 }); ok {
		answer = answer.with("headers", object{{"x-lancedb-version", refer("headers", "version")}})
	}
	switch {
	case status == http.StatusSeeOther:
		return d.redirect(response)
	case status == http.StatusNoContent:
		return object{{"description", op.NoContent}}
	case status == http.StatusRequestedRangeNotSatisfiable:
		return object{{"description", "The range lies beyond the end of the value."}}
	case response == reflect.TypeFor[protocol.Empty]():
		return object{{"description", "Yes. The body is empty."}}
	case shape.Answers == arrowipc.ContentTypeFile:
		return answer.with("content", d.rows(op, arrowipc.ContentTypeFile, arrowipc.ContentTypeStream))
	case shape.Answers == arrowipc.ContentTypeStream:
		return answer.with("content", d.rows(op, arrowipc.ContentTypeStream, arrowipc.ContentTypeFile))
	case shape.Answers != "":
		return answer.with("content", object{{shape.Answers, object{{"schema", object{{"description", "Bytes."}}}}}})
	}
	return answer.with("content", object{{"application/json", object{{"schema", d.schemas.of(response)}}}})
}

// isStorable reports whether the rows of an answer can be written to storage.
func isStorable(op protocol.Operation) bool { return slices.Contains(op.Statuses, http.StatusSeeOther) }

// rows describes an answer with rows, or with the location to which they were written.
func (d *document) rows(op protocol.Operation, types ...string) object {
	content := object{}
	for _, contentType := range types {
		content = content.with(contentType, object{{"schema", object{{"description", "Rows in the Arrow IPC format."}}}})
	}
	if op.ResponseType() != reflect.TypeFor[protocol.Rows]() {
		return content
	}
	objects := object{{"description", "Rows as objects, for Accept: application/json; clients generated from this document get Arrow."}, {"type", "array"}, {"items", object{{"type", "object"}}}}
	content = content.with("application/x-ndjson", object{{"schema", object{{"description", "Rows as objects, one in each line."}}}})
	if !isStorable(op) {
		return content.with("application/json", object{{"schema", objects}})
	}
	return content.with("application/json", object{{"schema", object{{"oneOf", []any{d.schemas.of(reflect.TypeFor[queryapi.StoredResult]()), objects}}}}})
}

// redirect describes an answer that redirects to stored rows.
func (d *document) redirect(response reflect.Type) object {
	answer := object{
		{"description", "The rows are in storage, at Location."},
		{"headers", object{{"location", object{{"description", "Where the rows can be read."}, {"schema", object{{"type", "string"}}}}}}},
	}
	if response != reflect.TypeFor[protocol.Rows]() {
		return answer
	}
	return answer.with("content", object{{"application/json", object{{"schema", d.schemas.of(reflect.TypeFor[queryapi.StoredResult]())}}}})
}

// components lists the schemas by name, and the parts that all operations have in common.
func (d *document) components() object {
	problem := d.schemas.of(httpapi.ProblemType)
	d.schemas.of(reflect.TypeFor[protocol.ServerVersion]())
	made := object{}
	for _, name := range slices.Sorted(maps.Keys(d.schemas.made)) {
		made = made.with(name, d.schemas.made[name])
	}
	return object{
		{"securitySchemes", object{
			{"bearer", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "The token that the server prints, or one of the issuer that the server is set up with."}}},
			{"apiKey", object{{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}, {"description", "The same token, as LanceDB's clients send it."}}},
		}},
		{"parameters", sharedParameters()},
		{"headers", object{{"version", object{{"description", "The version of the table that was read."}, {"schema", object{{"type", "integer"}}}}}}},
		{"responses", object{{"problem", object{
			{"description", "The operation failed. code is one of the codes of the Lance Namespace specification: " + codes() + "."},
			{"content", object{{"application/json", object{{"schema", problem}}}}},
		}}}},
		{"schemas", made},
	}
}

// codes lists the error codes and their numbers.
func codes() string {
	var all []string
	for code := protocol.Code(0); !strings.HasPrefix(code.String(), "Code("); code++ {
		all = append(all, fmt.Sprintf("%d %s", int(code), code))
	}
	return strings.Join(all, ", ")
}
