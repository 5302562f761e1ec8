// The OpenAPI document, and how its parts are read.

/** Where the service is: the folder above this page. */
export const base = new URL("../", document.baseURI);

let whole;

/** Loads the document. */
export async function load() {
  const answer = await fetch(new URL("openapi.json", base));
  if (!answer.ok) throw new Error(`The document cannot be loaded: the server answered ${answer.status}.`);
  whole = await answer.json();
  return whole;
}

/** What a reference refers to, and the last part of its name; of something else, itself. */
export function resolve(value) {
  let name = "";
  while (value && value.$ref) {
    const parts = value.$ref.replace("#/", "").split("/");
    name = parts.at(-1);
    value = parts.reduce((at, part) => at[part], whole);
  }
  return { value, name };
}

/** All operations in the order of the document; one that has two methods is listed once, by its first. */
export function operations() {
  const all = [];
  for (const [path, item] of Object.entries(whole.paths)) {
    const methods = Object.entries(item);
    const [method, operation] = methods[0];
    all.push({ name: operation["x-operation"], path, method: method.toUpperCase(), methods: new Map(methods.map(([m, o]) => [m.toUpperCase(), o])), ...operation });
  }
  return all;
}

/** The groups in the order of the document, each with its operations. */
export function groups() {
  const all = operations();
  return whole.tags.map(({ name, description }) => ({ name, description, operations: all.filter(({ tags }) => tags.includes(name)) }));
}

/** The type of a schema, in a few words. */
export function typeText(schema) {
  const { value, name } = resolve(schema);
  if (value.anyOf) return name || value.anyOf.map(typeText).join(" or ");
  if (value.enum) return value.enum.map((one) => JSON.stringify(one)).join(", ");
  if (value.const !== undefined) return JSON.stringify(value.const);
  const kind = [value.type ?? "any value"].flat().map((one) => one === "array" ? `list of ${typeText(value.items ?? {})}` : one).join(" or ");
  if (value.type === "object" && value.additionalProperties && !value.properties) return `object of ${typeText(value.additionalProperties)}`;
  return name && value.properties ? name : kind;
}

/** The schemas inside of a schema that have members of their own. */
export function inner(schema) {
  const { value, name } = resolve(schema);
  if (value.properties) return [{ schema: value, name }];
  if (value.anyOf) return value.anyOf.flatMap(inner);
  if (value.items) return inner(value.items);
  return typeof value.additionalProperties === "object" ? inner(value.additionalProperties) : [];
}
