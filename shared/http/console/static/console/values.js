// The values of an Arrow answer as texts: those that the command line writes (value.go).
//
// Arrow's own accessors lose digits: times become milliseconds, decimals lose their scale. So a value is a place in a
// column, { data, at }, and its text is made of the column's type and what its buffers hold.

// The types of Arrow by their numbers in its format (Schema.fbs); a dictionary is the library's own. They are not the library's,
// since it may be loaded after this.
const Type = {
  Dictionary: -1, Null: 1, Int: 2, Float: 3, Binary: 4, Utf8: 5, Bool: 6, Decimal: 7, Date: 8, Time: 9, Timestamp: 10, Interval: 11, List: 12, Struct: 13,
  FixedSizeBinary: 15, FixedSizeList: 16, Map: 17, Duration: 18, LargeBinary: 19, LargeUtf8: 20, LargeList: 21,
};

/** The values of a column, in the order of the rows. */
export const valuesOf = (vector) => vector.data.flatMap((data) => Array.from({ length: data.length }, (_, at) => ({ data, at })));

/** The rows of an answer as objects of values. Of columns with one name, the first counts. */
export function records(answer) {
  const columns = answer.schema.fields.map((f) => [f.name, valuesOf(answer.getChild(f.name))]);
  return Array.from({ length: answer.numRows }, (_, i) => Object.fromEntries(columns.map(([name, values]) => [name, values[i]])));
}

/** Whether something is a value of a column, and no number that a page has computed. */
export const isValue = (value) => value !== null && typeof value === "object" && value.data !== undefined && typeof value.at === "number";

/** Whether a value is of a column of texts, or of dates. */
export const isText = ({ data }) => typeOf(data) === Type.Utf8 || typeOf(data) === Type.LargeUtf8;
export const isDate = ({ data }) => typeOf(data) === Type.Date;

/** The kind of the values, also of those in a dictionary. */
const typeOf = (data) => data.typeId === Type.Dictionary ? data.type.dictionary.typeId : data.typeId;

/** Whether a value is null. */
export const isNull = ({ data, at }) => data.typeId === Type.Null || !data.getValid(at);

/** The numbers of a vector, or null if the value is no list of numbers. */
export function numbersOf(value) {
  if (isNull(value) || ![Type.FixedSizeList, Type.List].includes(value.data.typeId)) return null;
  const items = itemsOf(value);
  return items.every((item) => isNumber(item.data) && !isNull(item)) ? items.map(number) : null;
}

/** The bytes of a binary value, or null if it is none. */
export function bytesOf(value) {
  const { data, at } = value;
  if (isNull(value) || ![Type.Binary, Type.LargeBinary, Type.FixedSizeBinary].includes(data.typeId)) return null;
  if (data.typeId === Type.FixedSizeBinary) return data.values.subarray(at * data.stride, (at + 1) * data.stride);
  return data.values.subarray(Number(data.valueOffsets[at]), Number(data.valueOffsets[at + 1]));
}

/** Bytes as text. */
export const base64 = (content) => btoa(Array.from(content, (b) => String.fromCharCode(b)).join(""));

/** A value as people read it. */
export function textOf(value) {
  if (isNull(value)) return "null";
  const { data, at } = value, { type } = data;
  switch (data.typeId) {
    case Type.Int: return String(data.values[at]);
    case Type.Float: return floatText(number(value), type.precision);
    case Type.Bool: return String(bit(data, at));
    case Type.Utf8: case Type.LargeUtf8: return string(data, at);
    case Type.Binary: case Type.LargeBinary: return countOf(bytesOf(value).length);
    case Type.FixedSizeBinary: return Array.from(bytesOf(value), (b) => b.toString(16).padStart(2, "0")).join("");
    case Type.Decimal: return decimalText(data, at);
    case Type.Date: return dateText(type.unit === 0 ? BigInt(data.values[at]) : floorDivide(BigInt(data.values[at]), 86_400_000n));
    case Type.Time: return timeText(BigInt(data.values[at]), digits[type.unit]);
    case Type.Timestamp: return timestampText(data.values[at], digits[type.unit], type.timezone);
    case Type.Duration: return `${data.values[at]}${unitNames[type.unit]}`;
    case Type.Interval: return intervalText(data, at);
    case Type.Dictionary: return textOf(entry(data, at));
    case Type.Struct: return `{${type.children.map((f, i) => `${JSON.stringify(f.name)}: ${jsonOf({ data: data.children[i], at })}`).join(", ")}}`;
    case Type.List: case Type.LargeList: case Type.FixedSizeList: case Type.Map: return `[${itemsOf(value).map(jsonOf).join(", ")}]`;
    default: return String(type);
  }
}

/** A value inside of another one: JSON, in which texts, dates and decimals have quotes and bytes are base64. */
export function jsonOf(value) {
  if (isNull(value)) return "null";
  const { data, at } = value;
  switch (data.typeId) {
    case Type.Dictionary: return jsonOf(entry(data, at));
    case Type.Binary: case Type.LargeBinary: return JSON.stringify(base64(bytesOf(value)));
    case Type.Float: return Number.isFinite(number(value)) ? textOf(value) : JSON.stringify(textOf(value));
    case Type.Int: case Type.Bool: case Type.Struct:
    case Type.List: case Type.LargeList: case Type.FixedSizeList: case Type.Map: return textOf(value);
    default: return JSON.stringify(textOf(value));
  }
}

const unitNames = ["s", "ms", "us", "ns"], digits = [0, 3, 6, 9]; // by the units of Arrow

const bit = (data, at) => (data.values[(data.offset + at) >> 3] >> ((data.offset + at) % 8) & 1) === 1;

const decoder = new TextDecoder();

const string = (data, at) => decoder.decode(data.values.subarray(Number(data.valueOffsets[at]), Number(data.valueOffsets[at + 1])));

const countOf = (count) => count === 1 ? "1 byte" : `${count} bytes`;

const isNumber = (data) => data.typeId === Type.Float || data.typeId === Type.Int;

/** A number of a column; halves are widened. */
function number({ data, at }) {
  return data.typeId === Type.Float && data.type.precision === 0 ? half(data.values[at]) : Number(data.values[at]);
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

/** The elements of a list, or the pairs of a map. */
function itemsOf({ data, at }) {
  const of = data.children[0], { stride } = data;
  const [from, end] = data.typeId === Type.FixedSizeList ? [at * stride, (at + 1) * stride] : [Number(data.valueOffsets[at]), Number(data.valueOffsets[at + 1])];
  return Array.from({ length: end - from }, (_, i) => ({ data: of, at: from + i }));
}

/** The entry of a dictionary that stands for a value. */
function entry(data, at) {
  let place = Number(data.values[at]);
  for (const chunk of data.dictionary.data) {
    if (place < chunk.length) return { data: chunk, at: place };
    place -= chunk.length;
  }
  throw new Error("The answer names an entry that its dictionary lacks.");
}

/** The shortest number that reads as the same float; precision is that of Arrow: 0 half, 1 single, 2 double. */
export function floatText(value, precision) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  if (precision === 2) return String(value);
  for (let places = 1; places < 10; places++) {
    const short = Number(value.toPrecision(places));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

function decimalText(data, at) {
  const { scale } = data.type, words = data.values.subarray(at * data.stride, (at + 1) * data.stride);
  let whole = 0n;
  for (let i = words.length - 1; i >= 0; i--) whole = whole << 32n | BigInt(words[i]);
  whole = BigInt.asIntN(32 * words.length, whole);
  const sign = whole < 0n ? "-" : "", size = whole < 0n ? -whole : whole;
  if (scale <= 0) return sign + String(size * 10n ** BigInt(-scale));
  const text = String(size).padStart(scale + 1, "0");
  return `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

const floorDivide = (a, b) => a / b - (a % b < 0n ? 1n : 0n);
const two = (n) => String(n).padStart(2, "0");

/** The day with a number of days since 1970, by the calendar of Gregory, whose eras have 400 years from March on. */
function dateText(days) {
  const shifted = days + 719_468n, era = floorDivide(shifted, 146_097n), day = Number(shifted - era * 146_097n);
  const year = Math.floor((day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365);
  const ofYear = day - (365 * year + Math.floor(year / 4) - Math.floor(year / 100)), month = Math.floor((5 * ofYear + 2) / 153);
  const y = BigInt(year) + era * 400n + (month >= 10 ? 1n : 0n);
  return `${y < 0n ? "-" : ""}${String(y < 0n ? -y : y).padStart(4, "0")}-${two(month < 10 ? month + 3 : month - 9)}-${two(ofYear - Math.floor((153 * month + 2) / 5) + 1)}`;
}

/** The time of day of a number of units, of which 10 to the power of places are a second. */
function timeText(units, places) {
  const per = 10n ** BigInt(places), seconds = Number(units / per);
  const text = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return places === 0 ? text : `${text}.${String(units % per).padStart(places, "0")}`;
}

function timestampText(units, places, zone) {
  const per = 10n ** BigInt(places), offset = zone ? offsetOf(floorDivide(units, per), zone) : 0n;
  const local = units + offset * per, day = 86_400n * per, days = floorDivide(local, day);
  const time = timeText(local - days * day, places);
  return `${dateText(days)}T${places === 0 ? time : time.replace(/\.?0+$/, "")}${zone ? offsetText(offset) : ""}`;
}

function offsetText(offset) {
  if (offset === 0n) return "Z";
  const minutes = Number((offset < 0n ? -offset : offset) / 60n);
  return `${offset < 0n ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

const clocks = new Map(); // by zone; null for one that the browser does not have

/** How many seconds a zone is ahead of UTC at a number of seconds since 1970. */
function offsetOf(seconds, zone) {
  const fixed = /^([+-])(\d\d):?(\d\d)$/.exec(zone);
  if (fixed) return BigInt(`${fixed[1]}${Number(fixed[2]) * 3600 + Number(fixed[3]) * 60}`.replace("+", ""));
  if (!clocks.has(zone)) clocks.set(zone, clockOf(zone));
  const clock = clocks.get(zone), moment = new Date(Number(seconds) * 1000);
  if (!clock || Number.isNaN(moment.getTime())) return 0n;
  const part = Object.fromEntries(clock.formatToParts(moment).map(({ type, value }) => [type, value]));
  const year = part.era === "BC" ? 1 - Number(part.year) : Number(part.year);
  const local = new Date(0);
  local.setUTCFullYear(year, Number(part.month) - 1, Number(part.day));
  local.setUTCHours(Number(part.hour), Number(part.minute), Number(part.second));
  return BigInt(local.getTime() / 1000) - seconds;
}

function clockOf(zone) {
  try {
    return new Intl.DateTimeFormat("en-u-ca-gregory-hc-h23", {
      timeZone: zone, era: "short", year: "numeric", month: "numeric", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
    });
  } catch {
    return null;
  }
}

function intervalText(data, at) {
  const words = data.values.subarray(at * data.stride, (at + 1) * data.stride);
  switch (data.type.unit) {
    case 0: return `${words[0]} months`;
    case 1: return `${words[0]} days ${words[1]} ms`;
    default: return `${words[0]} months ${words[1]} days ${BigInt.asIntN(64, BigInt(words[3] >>> 0) << 32n | BigInt(words[2] >>> 0))} ns`;
  }
}
