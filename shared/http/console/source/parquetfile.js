// Makes a Parquet file of batches of Arrow: of each column the elements of a Parquet schema, and of its values what
// hyparquet-writer takes for them. The file also has the schema of Arrow, as those of pyarrow and of tiltyard export
// have it, from which readers take what Parquet does not distinguish: vectors and lists, large and small texts.

import { ByteWriter, ParquetWriter } from "hyparquet-writer";

const { Type } = window.Arrow;
const groupRows = 65_536, groupBytes = 4 << 20; // a row group ends at either
const units = [null, "MILLIS", "MICROS", "NANOS"]; // by the units of Arrow, of which Parquet has no seconds
const day = 86_400_000n;

/** Yields the rows of answers as the bytes of a file, one row group after the other. Throws if it cannot hold a column. */
export async function* parquetOf(answers) {
  let file;
  for await (const chunks of answers) {
    const reader = await window.Arrow.RecordBatchReader.from(chunks);
    await reader.open();
    file ??= new ParquetFile(reader.schema);
    for await (const batch of reader) yield* file.add(batch);
  }
  yield file.end();
}

class ParquetFile {
  constructor(schema) {
    this.columns = columnsOf(schema.fields, "");
    this.bytes = new ByteWriter();
    const root = { name: "schema", num_children: this.columns.length }, stored = { key: "ARROW:schema", value: encoded(schema) };
    this.writer = new ParquetWriter({ writer: this.bytes, schema: [root, ...this.columns.flatMap((c) => c.elements)], kvMetadata: [stored], createdBy: "Tiltyard" });
    this.begin();
  }

  begin() {
    this.values = this.columns.map(() => []);
    this.size = 0;
  }

  /** Adds a batch, and yields the bytes of the row groups that it fills. */
  *add(batch) {
    if (batch.numRows === 0) return; // of such a batch, Arrow does not have all data
    const rowBytes = batch.data.byteLength / batch.numRows || 1;
    for (let from = 0; from < batch.numRows;) {
      const most = Math.min(groupRows - this.values[0].length, Math.ceil((groupBytes - this.size) / rowBytes));
      const end = Math.min(batch.numRows, from + most);
      this.columns.forEach((column, i) => { for (const value of listOf(column, batch.data.children[i], from, end)) this.values[i].push(value); });
      this.size += (end - from) * rowBytes;
      from = end;
      if (this.values[0].length >= groupRows || this.size >= groupBytes) {
        this.write();
        yield this.take();
      }
    }
  }

  /** The last bytes of the file. */
  end() {
    this.write();
    this.writer.finish();
    return this.take();
  }

  /** Writes the rows that wait as a row group. */
  write() {
    const rows = this.values[0].length;
    if (rows > 0) this.writer.write({ columnData: this.columns.map(({ name, encoding }, i) => ({ name, encoding, data: this.values[i] })), rowGroupSize: rows });
    this.begin();
  }

  /** The bytes that were written since the last time; their places in the file go on. */
  take() {
    const written = this.bytes.getBytes().slice();
    this.bytes.index = 0;
    return written;
  }
}

/** A schema of Arrow as files have it: a stream without rows, in base64. */
function encoded(schema) {
  const stream = window.Arrow.tableToIPC(new window.Arrow.Table(schema), "stream");
  return btoa(Array.from(stream, (b) => String.fromCharCode(b)).join(""));
}

/** The columns of a table or a struct. Path is the name of the struct, with a dot. */
function columnsOf(fields, path) {
  const names = new Set();
  for (const { name } of fields) {
    if (names.has(name)) throw new Error(`Two columns have the name ${path}${name}. Parquet files cannot hold them; Arrow files can.`);
    names.add(name);
  }
  return fields.map((field) => columnOf(field, path + field.name));
}

/**
 * A column: its name, the elements of its schema, and value, which makes a value that is not null of a place in the data
 * of Arrow. It is as it is in these data if there is none. Encoding is set where a dictionary would take 0 and -0 for one.
 */
function columnOf({ name, type, nullable }, path) {
  const repetition = { repetition_type: nullable ? "OPTIONAL" : "REQUIRED" };
  const leaf = (physical, more, value) => ({ name, elements: [{ name, type: physical, ...repetition, ...more }], value });
  const group = (children, more, value) => ({
    name, value, encoding: children.find((c) => c.encoding)?.encoding,
    elements: [{ name, ...repetition, num_children: children.length, ...more }, ...children.flatMap((c) => c.elements)],
  });
  const repeated = (item, kind, value) => { // lists and maps have a group below theirs that is repeated
    const made = group([], { num_children: 1, converted_type: kind }, value), inner = kind === "MAP" ? "key_value" : "list";
    const children = kind === "MAP" ? columnsOf(item.type.children.map((f, i) => renamed(f, ["key", "value"][i])), `${path}.`) : [columnOf(renamed(item, "element"), path)];
    made.elements.push({ name: inner, repetition_type: "REPEATED", num_children: children.length }, ...children.flatMap((c) => c.elements));
    return { ...made, encoding: children.find((c) => c.encoding)?.encoding, children };
  };
  const refuse = (why) => { throw new Error(`The column ${path} ${why}. A Parquet file from the browser cannot hold it; CSV and Arrow files can.`); };
  switch (type.typeId) {
    case Type.Null: return leaf("INT32", { repetition_type: "OPTIONAL", logical_type: { type: "NULL" } });
    case Type.Bool: return leaf("BOOLEAN", {}, bit);
    case Type.Int: return leaf(type.bitWidth === 64 ? "INT64" : "INT32", type.isSigned && type.bitWidth >= 32 ? {} : { converted_type: `${type.isSigned ? "" : "U"}INT_${type.bitWidth}` });
    case Type.Float:
      if (type.precision === 0) return leaf("FIXED_LEN_BYTE_ARRAY", { type_length: 2, logical_type: { type: "FLOAT16" } }, (data, at) => window.Arrow.util.uint16ToFloat64(data.values[at]));
      return { ...leaf(type.precision === 1 ? "FLOAT" : "DOUBLE", {}), encoding: "PLAIN" };
    case Type.Utf8: case Type.LargeUtf8: return leaf("BYTE_ARRAY", { converted_type: "UTF8" }, bytes);
    case Type.Binary: case Type.LargeBinary: return leaf("BYTE_ARRAY", {}, bytes);
    case Type.FixedSizeBinary:
      if (type.byteWidth === 0) refuse("has values without bytes");
      return leaf("FIXED_LEN_BYTE_ARRAY", { type_length: type.byteWidth }, (data, at) => data.values.subarray(at * data.stride, (at + 1) * data.stride));
    case Type.Decimal:
      if (type.scale < 0 || type.scale > type.precision) refuse(`is of type ${type}`);
      return leaf("FIXED_LEN_BYTE_ARRAY", { type_length: decimalBytes(type.precision), converted_type: "DECIMAL", precision: type.precision, scale: type.scale }, decimal);
    case Type.Date: return leaf("INT32", { converted_type: "DATE" }, type.unit === 0 ? undefined : (data, at) => Number((BigInt(data.values[at]) - modulo(BigInt(data.values[at]), day)) / day));
    case Type.Time: {
      const unit = units[type.unit] ?? "MILLIS", logical = { logical_type: { type: "TIME", isAdjustedToUTC: false, unit } };
      return leaf(unit === "MILLIS" ? "INT32" : "INT64", logical, type.unit === 0 ? (data, at) => data.values[at] * 1000 : undefined);
    }
    case Type.Timestamp:
      return leaf("INT64", { logical_type: { type: "TIMESTAMP", isAdjustedToUTC: Boolean(type.timezone), unit: units[type.unit] ?? "MILLIS" } }, type.unit === 0 ? (data, at) => data.values[at] * 1000n : undefined);
    case Type.Dictionary: {
      const plain = columnOf({ name, type: type.dictionary, nullable }, path);
      return { ...plain, value: (data, at) => entry(plain, data, at) };
    }
    case Type.Struct: {
      if (type.children.length === 0) refuse("is a struct without fields");
      const children = columnsOf(type.children, `${path}.`);
      return group(children, {}, (data, at) => Object.fromEntries(children.map((child, i) => [child.name, valueOf(child, data.children[i], at)])));
    }
    case Type.List: case Type.LargeList: case Type.FixedSizeList: {
      const list = repeated(type.children[0], "LIST", (data, at) => listOf(list.children[0], data.children[0], ...placesOf(data, at)));
      return list;
    }
    case Type.Map: {
      const map = repeated(type.children[0], "MAP", (data, at) => {
        const [keys, values] = map.children.map((child, i) => listOf(child, data.children[0].children[i], ...placesOf(data, at)));
        return keys.map((key, i) => ({ key, value: values[i] }));
      });
      return map;
    }
    default: return refuse(`is of type ${type}`);
  }
}

const renamed = ({ type, nullable }, name) => ({ name, type, nullable });

/** A value, or null. */
const valueOf = (column, data, at) => data.typeId === Type.Null || !data.getValid(at) ? null : column.value ? column.value(data, at) : data.values[at];

/** The values of a range. */
function listOf(column, data, from, end) {
  if (!column.value && data.typeId !== Type.Null && data.nullCount === 0) return Array.from(data.values.subarray(from, end));
  return Array.from({ length: end - from }, (_, i) => valueOf(column, data, from + i));
}

/** Where the elements of a list begin and end. */
const placesOf = ({ typeId, valueOffsets, stride }, at) => typeId === Type.FixedSizeList ? [at * stride, (at + 1) * stride] : [Number(valueOffsets[at]), Number(valueOffsets[at + 1])];

const bit = (data, at) => (data.values[(data.offset + at) >> 3] >> ((data.offset + at) % 8) & 1) === 1;

const bytes = ({ values, valueOffsets }, at) => values.subarray(Number(valueOffsets[at]), Number(valueOffsets[at + 1]));

/** The entry of a dictionary that stands for a value. */
function entry(column, data, at) {
  let place = Number(data.values[at]);
  for (const chunk of data.dictionary.data) {
    if (place < chunk.length) return valueOf(column, chunk, place);
    place -= chunk.length;
  }
  throw new Error("The answer names an entry that its dictionary lacks.");
}

/** The unscaled number of a decimal. */
function decimal({ values, stride }, at) {
  let whole = 0n;
  for (let i = stride - 1; i >= 0; i--) whole = whole << 32n | BigInt(values[at * stride + i]);
  return BigInt.asIntN(32 * stride, whole);
}

/** How many bytes hold all decimals of a precision. */
function decimalBytes(precision) {
  let length = 1;
  while (2n ** BigInt(8 * length - 1) < 10n ** BigInt(precision)) length++;
  return length;
}

const modulo = (a, b) => (a % b + b) % b;
