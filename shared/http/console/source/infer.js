// The types of columns that come as texts or JSON, and their values as Arrow takes them.

const integer = /^[+-]?\d{1,19}$/, decimal = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/, special = /^[+-]?(nan|inf|infinity)$/i;
const date = /^\d{4}-\d\d-\d\d$/, moment = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
const inRange = (n) => n >= -(2n ** 63n) && n < 2n ** 63n;

function fail(value, type) {
  const text = typeof value === "string" ? value : JSON.stringify(value, (_, v) => typeof v === "bigint" ? String(v) : v);
  throw new Error(`${text.length > 60 ? `${text.slice(0, 60)}…` : text} is not ${type}`);
}

const list = (value, type) => {
  const found = typeof value === "string" ? tryList(value) : value && ArrayBuffer.isView(value) ? Array.from(value) : value;
  return Array.isArray(found) && !found.includes(null) ? found : fail(value, type);
};

function tryList(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function toNumber(value, name) {
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  if (typeof value === "string" && decimal.test(value.trim())) return Number(value);
  if (typeof value === "string" && special.test(value.trim())) return /nan/i.test(value) ? NaN : /^-/.test(value.trim()) ? -Infinity : Infinity;
  return fail(value, name);
}

function toInteger(value) {
  const found = typeof value === "bigint" ? value : Number.isSafeInteger(value) ? BigInt(value) : typeof value === "string" && integer.test(value.trim()) ? BigInt(value.trim().replace("+", "")) : fail(value, "int64");
  return inRange(found) ? found : fail(value, "int64");
}

function toMillis(value, pattern, name) {
  const millis = value instanceof Date ? value.getTime() : typeof value === "string" && pattern.test(value) ? Date.parse(pattern === date ? `${value}T00:00:00Z` : /(Z|[+-]\d\d:?\d\d)$/.test(value) ? value : `${value.replace(" ", "T")}Z`) : NaN;
  return Number.isNaN(millis) ? fail(value, name) : millis;
}

const toText = (value) => typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value, (_, v) => typeof v === "bigint" ? Number(v) : v) : String(value);

/** The types that a person can choose from: how they are called, their type in Arrow, whose library A is, and how a value becomes one. */
export const types = {
  int64: { arrow: (A) => new A.Int64(), convert: toInteger },
  float64: { arrow: (A) => new A.Float64(), convert: (v) => toNumber(v, "float64") },
  float32: { arrow: (A) => new A.Float32(), convert: (v) => toNumber(v, "float32") },
  bool: { arrow: (A) => new A.Bool(), convert: (v) => typeof v === "boolean" ? v : /^(true|false)$/i.test(String(v)) ? /^true$/i.test(v) : fail(v, "bool") },
  utf8: { arrow: (A) => new A.Utf8(), convert: toText },
  date32: { arrow: (A) => new A.DateDay(), convert: (v) => new Date(toMillis(v, date, "a date, such as 2024-02-29")) },
  timestamp: { label: "timestamp[ms, tz=UTC]", arrow: (A) => new A.TimestampMillisecond("UTC"), convert: (v) => toMillis(v, moment, "a time, such as 2024-02-29T01:02:03Z") },
  vector: { label: "vector of float32", arrow: (A, n) => new A.FixedSizeList(n, new A.Field("item", new A.Float32(), true)), convert: (v, n) => {
    const found = list(v, "a list of numbers").map((one) => toNumber(one, "a number"));
    return found.length === n ? found : fail(v, `a vector of ${n}`);
  } },
  numbers: { label: "list of float64", arrow: (A) => new A.List(new A.Field("item", new A.Float64(), true)), convert: (v) => list(v, "a list of numbers").map((one) => toNumber(one, "a number")) },
  texts: { label: "list of utf8", arrow: (A) => new A.List(new A.Field("item", new A.Utf8(), true)), convert: (v) => list(v, "a list of texts").map(toText) },
  binary: { arrow: (A) => new A.Binary(), convert: (v) => v instanceof Uint8Array ? v : typeof v === "string" ? Uint8Array.from(atob(v), (c) => c.charCodeAt(0)) : fail(v, "binary in base64") },
};

/** Chooses the type of a column by its values, of which null ones say nothing. */
export function inferColumn(name, values) {
  const some = values.filter((value) => value !== null && value !== undefined);
  const all = (test) => some.length > 0 && some.every(test), texts = (pattern) => all((v) => typeof v === "string" && pattern.test(v.trim()));
  const column = (type, more = {}) => ({ name, type, nullable: true, keep: true, ...more });
  if (all((v) => v instanceof Uint8Array)) return column("binary");
  if (all((v) => typeof v === "boolean") || texts(/^(true|false)$/i)) return column("bool");
  if (all((v) => typeof v === "bigint" || Number.isSafeInteger(v)) || texts(integer) && some.every((v) => inRange(BigInt(v.trim().replace("+", ""))) && !/^[+-]?0\d/.test(v.trim()))) return column("int64");
  if (all((v) => typeof v === "number") || all((v) => typeof v === "string" && (decimal.test(v.trim()) || special.test(v.trim())) && !/^[+-]?0\d/.test(v.trim()))) return column("float64");
  if (all((v) => v instanceof Date)) return column("timestamp");
  if (texts(date)) return column("date32");
  if (texts(moment)) return column("timestamp");
  const lists = some.map((v) => typeof v === "string" && /^\s*\[/.test(v) ? tryList(v) : v && ArrayBuffer.isView(v) && !(v instanceof Uint8Array) ? Array.from(v) : v);
  if (lists.length > 0 && lists.every((v) => Array.isArray(v) && !v.includes(null))) {
    const elements = lists.flat();
    if (elements.length > 0 && elements.every((v) => typeof v === "number")) return lists[0].length > 1 && lists.every((v) => v.length === lists[0].length) ? column("vector", { length: lists[0].length }) : column("numbers");
    if (elements.every((v) => typeof v === "string")) return column("texts");
  }
  return column("utf8");
}

/**
 * Makes the Arrow batches of rows, one for each call of next. Rows with a value that does not fit are left out and
 * reported as { line, column, message }.
 */
export function* batches(columns, rows, size) {
  const A = window.Arrow; // which was loaded before the file was read
  const kept = columns.filter((column) => column.keep);
  const schema = new A.Schema(kept.map((c) => new A.Field(c.name, types[c.type].arrow(A, c.length), c.nullable)));
  for (let from = 0; from < rows.length || from === 0; from += size) {
    const errors = [], good = [];
    for (const row of rows.slice(from, from + size)) {
      const converted = [];
      for (const column of kept) {
        try {
          const value = row.values[column.at];
          if (value === null || value === undefined) {
            if (!column.nullable) throw new Error("null, but the column is not nullable");
            converted.push(null);
          } else converted.push(types[column.type].convert(value, column.length));
        } catch (error) {
          errors.push({ line: row.line, column: column.name, message: error.message });
        }
      }
      if (converted.length === kept.length) good.push(converted);
    }
    const children = kept.map((column, i) => build(schema.fields[i].type, good, i));
    const data = A.makeData({ type: new A.Struct(schema.fields), length: good.length, nullCount: 0, children });
    yield { table: new A.Table(schema, [new A.RecordBatch(schema, data)]), rows: good.length, errors };
  }
}

/** The data of a column. It is built value by value, because other ways of the library make code from texts, which the page forbids. */
function build(type, rows, column) {
  const builder = window.Arrow.makeBuilder({ type, nullValues: [] });
  rows.forEach((row, i) => {
    if (row[column] === null) builder.setValid(i, false);
    else builder.set(i, row[column]);
  });
  return builder.finish().flush();
}
