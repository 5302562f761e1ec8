// Rows of JSON as an Arrow stream.

/** Makes the stream of a text that is a JSON list of objects. */
export function streamOf(text) {
  const rows = JSON.parse(text);
  if (!Array.isArray(rows) || rows.length === 0 || rows.some((row) => typeof row !== "object" || row === null || Array.isArray(row))) {
    throw new Error("The rows must be a JSON list of objects, at least one.");
  }
  const names = [...new Set(rows.flatMap(Object.keys))];
  const columns = {};
  for (const name of names) {
    const values = rows.map((row) => row[name] ?? null);
    const type = typeOf(name, values.filter((value) => value !== null));
    columns[name] = column(values, type);
  }
  return Arrow.tableToIPC(new Arrow.Table(columns), "stream");
}

/** A column. It is built value by value, because other ways of the library make code from texts, which the page forbids. */
function column(values, type) {
  const builder = Arrow.makeBuilder({ type, nullValues: [] });
  values.forEach((value, i) => {
    if (value === null) builder.setValid(i, false);
    else builder.set(i, convert(value, type));
  });
  return builder.finish().toVector();
}

/** The type of a column: integers, numbers, texts, booleans, and lists of them; lists of numbers of one length are vectors. */
function typeOf(name, values) {
  const all = (test) => values.length > 0 && values.every(test);
  if (all((value) => typeof value === "string")) return new Arrow.Utf8();
  if (all((value) => typeof value === "boolean")) return new Arrow.Bool();
  if (all(Number.isInteger)) return new Arrow.Int64();
  if (all((value) => typeof value === "number")) return new Arrow.Float64();
  if (all(Array.isArray)) {
    const elements = values.flat();
    if (elements.includes(null)) throw new Error(`A list of ${name} holds a null, which this page cannot send.`);
    const isVector = elements.length > 0 && elements.every((value) => typeof value === "number") && values.every((value) => value.length === values[0].length);
    if (isVector) return new Arrow.FixedSizeList(values[0].length, new Arrow.Field("item", new Arrow.Float32(), true));
    return new Arrow.List(new Arrow.Field("item", typeOf(name, elements), true));
  }
  throw new Error(`The values of ${name} are not all integers, numbers, texts, booleans or lists of them.`);
}

const convert = (value, type) => {
  if (type instanceof Arrow.Int64) return BigInt(value);
  return type instanceof Arrow.List ? value.map((one) => convert(one, type.children[0].type)) : value;
};
