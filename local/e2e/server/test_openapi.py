"""The document of the API beside the public specification, as the client that is generated from
the specification has it: its methods have the paths and parameters, its models the fields."""

from __future__ import annotations

import fnmatch
import inspect
import re
import typing

import lance_namespace_urllib3_client as public
import pydantic
import pytest

SIMPLE = {str: "string", int: "integer", bool: "boolean", float: "number", bytes: "string", type(None): "null"}


class Operation(typing.NamedTuple):
    """An operation of the public specification."""

    name: str
    method: str
    path: str
    parameters: dict[str, tuple[str, object]]  # wire name -> (in, type)
    body: object | None
    answers: dict[str, str]  # status -> name of a type


def public_operations() -> list[Operation]:
    found = []
    for name, api in inspect.getmembers(public, inspect.isclass):
        if not name.endswith("Api"):
            continue
        for private, serialize in inspect.getmembers(api, inspect.isfunction):
            if private.startswith("_") and private.endswith("_serialize"):
                found.append(read_operation(api, private.removeprefix("_").removesuffix("_serialize"), serialize))
    return list({operation.name: operation for operation in found}.values())  # an operation may have several tags


def read_operation(api, name: str, serialize) -> Operation:
    """Calls the function that makes a request, with a value for each parameter."""
    made = {}

    class Client:
        select_header_accept = select_header_content_type = staticmethod(lambda _types: "a/b")

        @staticmethod
        def param_serialize(**given):
            made.update(given)

    given = {parameter: None for parameter in inspect.signature(serialize).parameters}
    values = {parameter: f"<{parameter}>".encode() for parameter in given if not parameter.startswith("_") and parameter != "self"}
    serialize(api(Client()), **{**{p: None for p in given if p != "self"}, **values})
    method = getattr(api, name)
    hints = typing.get_type_hints(method, include_extras=True)
    places = [("path", wire, value) for wire, value in made["path_params"].items()] + [("query", wire, value) for wire, value in made["query_params"]]
    parameters = {wire: (place, hints[value.decode().strip("<>")]) for place, wire, value in places}
    body = made["body"] and hints[made["body"].decode().strip("<>")]
    answers = dict(re.findall(r"'(\d\d\d)': \"?(\w+)", inspect.getsource(method)))
    camel = "".join(word.capitalize() for word in name.split("_"))
    return Operation(camel, made["method"], made["resource_path"], parameters, body, answers)


def is_model(annotation) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, pydantic.BaseModel)


def kinds(annotation) -> set[str]:
    """The JSON types of an annotation."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return kinds(arguments[0])
    if origin is typing.Union:
        return set().union(*(kinds(argument) for argument in arguments)) - {"null"}
    if origin in (list, tuple):
        return {"array"}
    if origin is dict or is_model(annotation):
        return {"object"}
    return {SIMPLE[annotation]} if annotation in SIMPLE else {"any"}


def parts(annotation) -> list:
    """What is inside of an annotation: the elements of a list, the values of a dictionary, a model itself."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return parts(arguments[0])
    if origin is typing.Union:
        return [part for argument in arguments for part in parts(argument)]
    if origin is list:
        return [("item", arguments[0])]
    if origin is dict:
        return [("value", arguments[1])]
    return [("model", annotation)] if is_model(annotation) else []


class Document:
    """Our document."""

    def __init__(self, document: dict):
        self.document = document

    def resolve(self, schema: dict) -> dict:
        while "$ref" in schema:
            found = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def forms(self, schema: dict) -> list[dict]:
        schema = self.resolve(schema)
        return [form for one in schema["anyOf"] for form in self.forms(one)] if "anyOf" in schema else [schema]

    def kinds(self, schema: dict) -> set[str]:
        found = set()
        for form in self.forms(schema):
            kind = form.get("type", "any")
            found |= {kind} if isinstance(kind, str) else set(kind)
        return found - {"null"}

    def inside(self, schema: dict, what: str) -> dict | None:
        """The schema of the elements or of the values."""
        key = {"item": "items", "value": "additionalProperties"}[what]
        return next((form[key] for form in self.forms(schema) if isinstance(form.get(key), dict)), None)


class Comparison:
    """Compares models with schemas, and keeps the differences as texts."""

    def __init__(self, document: Document):
        self.ours, self.differences, self.seen = document, set(), set()

    def model(self, model, schema: dict, sent: bool) -> None:
        if (model, sent) in self.seen:
            return
        self.seen.add((model, sent))
        forms = [form for form in self.ours.forms(schema) if form.get("type") == "object"]
        properties = {name: value for form in forms for name, value in form.get("properties", {}).items()}
        needed = set.intersection(*(set(form.get("required", [])) for form in forms)) if forms else set()
        wanted = set()
        for name, field in model.model_fields.items():
            wire = field.alias or name
            where = f"{model.__name__}.{wire}"
            if field.is_required():
                wanted.add(wire)
            if wire not in properties:
                self.differences.add(f"{where} is missing")
                continue
            self.types(where, field.annotation, properties[wire], sent)
        more = needed - wanted if sent else wanted - needed
        for wire in more & set(properties):
            self.differences.add(f"{model.__name__}.{wire} is {'required' if sent else 'not required'}")

    def types(self, where: str, annotation, schema: dict, sent: bool) -> None:
        theirs, ours = kinds(annotation), self.ours.kinds(schema)
        if "number" in (ours if sent else theirs):
            (theirs if sent else ours).discard("integer")
        accepted = theirs <= ours if sent else ours <= theirs
        if "any" not in ours | theirs and not accepted:
            self.differences.add(f"{where} is {'|'.join(sorted(ours))}, not {'|'.join(sorted(theirs))}")
            return
        for what, part in parts(annotation):
            if what == "model":
                self.model(part, schema, sent)
            elif (inner := self.ours.inside(schema, what)) is not None:
                self.types(f"{where}[]", part, inner, sent)


@pytest.fixture(scope="module")
def document(server) -> Document:
    answer = server.wire(token=None).call("GET", "/openapi.json")
    assert answer.status == 200, answer.body
    return Document(answer.json)


def test_every_public_operation_is_in_the_document(document):
    operations = public_operations()
    assert len(operations) >= 54
    for operation in operations:
        item = document.document["paths"].get(operation.path)
        assert item, f"{operation.name}: no path {operation.path}"
        ours = item.get(operation.method.lower())
        assert ours, f"{operation.name}: no method {operation.method}"
        assert (ours["x-operation"], ours["x-origin"]) == (operation.name, "spec")
    assert {o["x-operation"] for item in document.document["paths"].values() for o in item.values() if o["x-origin"] == "spec"} == {
        operation.name for operation in operations
    }


def differences(document: Document) -> set[str]:
    comparison = Comparison(document)
    for operation in public_operations():
        ours = document.document["paths"][operation.path][operation.method.lower()]
        known = {}
        for parameter in map(document.resolve, ours["parameters"]):
            schema = parameter.get("schema") or parameter["content"]["application/json"]["schema"]
            known[parameter["in"], parameter["name"]] = parameter, schema
        for wire, (place, annotation) in operation.parameters.items():
            where = f"{operation.name}?{wire}"
            if (place, wire) not in known:
                comparison.differences.add(f"{where} is missing")
                continue
            parameter, schema = known[place, wire]
            if "content" in parameter:  # JSON in a text
                schema = {"type": "string"}
            comparison.types(where, annotation, schema, sent=True)
        if operation.body is not None:
            content = ours["requestBody"]["content"]
            if is_model(operation.body):
                comparison.model(operation.body, content["application/json"]["schema"], sent=True)
            elif kinds(operation.body) == {"object"}:
                comparison.types(operation.name, operation.body, content["application/json"]["schema"], sent=True)
            else:
                assert "application/vnd.apache.arrow.stream" in content, operation.name
        compare_answers(comparison, operation, ours)
    return comparison.differences


def compare_answers(comparison: Comparison, operation: Operation, ours: dict) -> None:
    for status, name in operation.answers.items():
        if status[0] != "2":
            continue
        answer = ours["responses"].get(status)
        if answer is None:
            comparison.differences.add(f"{operation.name}: status {status} is missing")
            continue
        model = getattr(public, name, None)
        if is_model(model) and "application/json" in answer.get("content", {}):
            comparison.model(model, answer["content"]["application/json"]["schema"], sent=False)
        elif is_model(model) and set(model.model_fields) - {"context"}:
            comparison.differences.add(f"{operation.name}: {status} has no JSON")
    problem = comparison.ours.document["components"]["schemas"]["Problem"]
    comparison.model(public.ErrorResponse, problem, sent=False)


def test_differences_from_the_public_specification_have_reasons(document):
    found = differences(document) - {f"{operation}Request.{field} is missing" for operation, field in ignored(document)}
    unexplained = [text for text in sorted(found) if not any(fnmatch.fnmatchcase(text, pattern) for pattern in REASONS)]
    assert unexplained == []
    idle = [pattern for pattern in REASONS if not fnmatch.filter(found, pattern)]
    assert idle == [], "these differences are gone"


def ignored(document: Document) -> set[tuple[str, str]]:
    """The operations and their fields that the document lists as ignored."""
    operations = [operation for item in document.document["paths"].values() for operation in item.values()]
    return {(operation["x-operation"], field) for operation in operations for field in operation.get("x-ignored", {})}


# What is not as the public specification has it, and why.
REASONS = {
    "*Response.context is missing": "the entries of an answer's context are its headers in REST",
    "AlterTransactionSet*.* is required": "an action without it has nothing to do, and is refused",
    "AlterTransactionUnsetProperty.key is required": "an action without it has nothing to do, and is refused",
    "AlterVirtualColumnEntry.* is missing": "virtual columns cannot be altered, which is answered with 501",
}
