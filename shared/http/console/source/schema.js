// What the types of columns mean to the pages.

/** The type of a column, in one line. */
export function typeText(type) {
  if (type.precise) return type.precise;
  const inner = (type.fields || []).map((f) => type.type === "struct" ? `${f.name}: ${typeText(f.type)}` : typeText(f.type));
  switch (type.type) {
    case "fixed_size_list": return `${inner[0]}[${type.length}]`;
    case "list": case "large_list": return `list<${inner[0]}>`;
    case "struct": return `struct<${inner.join(", ")}>`;
    default: return inner.length > 0 ? `${type.type}<${inner.join(", ")}>` : type.type;
  }
}

const floats = new Set(["float16", "float32", "float64", "bfloat16"]);
const texts = new Set(["utf8", "large_utf8", "string", "large_string"]);
const scalars = new Set(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool", "boolean", "date32"]);

const named = (schema, fits) => schema.fields.filter((f) => fits(f.type)).map((f) => f.name);

/** The columns of vectors: of numbers, all of one length. */
export const vectorColumns = (schema) => named(schema, (type) => type.type === "fixed_size_list" && (floats.has(type.fields[0].type.type) || type.fields[0].type.type === "uint8"));

/** The columns of texts. */
export const textColumns = (schema) => named(schema, (type) => texts.has(type.type));

/** The columns that rows can be told apart or ordered by. */
export const plainColumns = (schema) => named(schema, (type) => texts.has(type.type) || scalars.has(type.type));

/** A column as SQL names it. */
export const quoted = (name) => /^[a-z_][a-z0-9_]*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;

export const isTextType = (type) => texts.has(type.type);
export const isDateType = (type) => type.type.startsWith("date");
const numeric = /^(u?int\d+|float\d+|bfloat16|decimal.*)$/;
export const isNumberType = (type) => numeric.test(type.type);
export const isVectorType = (type) => type.type === "fixed_size_list" && (floats.has(type.fields[0].type.type) || type.fields[0].type.type === "uint8");
const ordered = /^(u?int\d+|float\d+|decimal.*|utf8|large_utf8|string|large_string|date\d+|timestamp|time\d+|bool|boolean|duration.*)$/;
/** Whether rows can be ordered by a column, and whether it has a least and a greatest value. */
export const isOrderedType = (type) => ordered.test(type.type);
const few = /^(u?int\d+|utf8|large_utf8|string|large_string|date\d+|bool|boolean|dictionary)$/;
/** Whether a column may have few different values, so that rows can be divided by them. */
export const mayHaveFew = (type) => few.test(type.type);
