// Reads CSV and JSON lines into rows, which say on which line they begin.

/** Divides a text of CSV into records of { line, values }. Fields in quotes may hold separators, line ends and doubled quotes. */
export function parseCSV(text, separator = ",") {
  const records = [];
  let values = [], value = "", quoted = false, wasQuoted = false, line = 1, begun = 1;
  const endValue = () => {
    values.push(value === "" && !wasQuoted ? null : value);
    value = "";
    wasQuoted = false;
  };
  const endRecord = () => {
    endValue();
    if (values.length > 1 || values[0] !== null) records.push({ line: begun, values });
    values = [];
    begun = line;
  };
  for (let i = text.charCodeAt(0) === 0xfeff ? 1 : 0; i < text.length; i++) {
    const c = text[i];
    if (c === "\n") line++;
    if (quoted) {
      if (c !== '"') value += c;
      else if (text[i + 1] === '"') value += text[++i];
      else quoted = false;
    } else if (c === '"' && value === "") quoted = wasQuoted = true;
    else if (c === separator) endValue();
    else if (c === "\n") endRecord();
    else if (c !== "\r" || text[i + 1] !== "\n") value += c;
  }
  if (quoted) throw new Error(`The file ends inside of quotes, which begin in the record of line ${begun}.`);
  if (value !== "" || wasQuoted || values.length > 0) endRecord();
  return records;
}

/** The separator that a file has: the most frequent one of its first line. */
export const separatorOf = (text) => {
  const first = text.slice(0, text.indexOf("\n") >>> 0);
  return [",", "\t", ";"].map((one) => [one, first.split(one).length]).sort((a, b) => b[1] - a[1])[0][0];
};

/** The rows of a CSV file with a head, as { names, rows: [{ line, values }], errors }. */
export function readCSV(text) {
  const [head, ...rest] = parseCSV(text, separatorOf(text));
  if (!head) throw new Error("The file is empty.");
  const names = head.values.map((name, i) => name ?? `column_${i + 1}`);
  const errors = rest.filter((row) => row.values.length !== names.length).map((row) => ({ line: row.line, message: `${row.values.length} fields, but the head has ${names.length}` }));
  return { names, rows: rest.filter((row) => row.values.length === names.length), errors };
}

/** The rows of a file of JSON: an object in each line, or one list of objects. */
export function readJSON(text) {
  const found = [], errors = [];
  const add = (object, line) => {
    if (typeof object === "object" && object !== null && !Array.isArray(object)) found.push({ line, object });
    else errors.push({ line, message: "not a JSON object" });
  };
  if (/^\s*\[/.test(text)) JSON.parse(text).forEach((object, i) => add(object, i + 1));
  else {
    text.split("\n").forEach((one, i) => {
      if (one.trim() === "") return;
      try {
        add(JSON.parse(one), i + 1);
      } catch {
        errors.push({ line: i + 1, message: "not JSON" });
      }
    });
  }
  return { ...ofObjects(found), errors };
}

/** Rows of objects as lists of values, by the names of all of them. */
export function ofObjects(found) {
  const names = [...new Set(found.flatMap(({ object }) => Object.keys(object)))];
  return { names, rows: found.map(({ line, object }) => ({ line, values: names.map((name) => object[name] ?? null) })) };
}
