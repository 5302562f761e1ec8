// Schemas as lists that open.

import { h } from "./dom.js";
import { inner, resolve, typeText } from "./document.js";

/** A text with its paragraphs, and code between back-quotes. */
export function prose(text = "") {
  return text.split("\n\n").map((paragraph) => h("p", {}, line(paragraph)));
}

/** A text without paragraphs. */
export const line = (text = "") => text.split("`").map((part, i) => i % 2 === 1 ? h("code", {}, part) : part);

/** The members of a schema, or of each of its forms. */
export function members(schema) {
  const forms = inner(schema);
  return forms.map(({ schema: form }, i) => [
    forms.length > 1 && i > 0 ? h("p", { class: "quiet" }, "or") : null,
    h("ul", { class: "members" }, Object.entries(form.properties).map(([name, property]) => member(name, property, form.required?.includes(name)))),
  ]);
}

function member(name, schema, isRequired) {
  const { value } = resolve(schema);
  const parts = inner(schema);
  return h("li", {},
    h("code", { class: "name" }, name), " ", h("span", { class: "type" }, typeText(schema)),
    isRequired ? h("strong", { class: "needed" }, " required") : null,
    value.default !== undefined ? h("span", { class: "quiet" }, ` default ${JSON.stringify(value.default)}`) : null,
    schema.description || value.description ? h("p", {}, line(schema.description ?? value.description)) : null,
    parts.length > 0 ? more(parts.map((part) => part.name).filter(Boolean).join(" or ") || "its members", schema) : null);
}

/** Members that are made when they are opened, since types can hold themselves. */
function more(label, schema) {
  return h("details", {
    ontoggle({ currentTarget: details }) {
      if (details.open && details.childElementCount === 1) details.append(...members(schema).flat().filter(Boolean));
    },
  }, h("summary", {}, label));
}
