// Reads and writes Parquet files. It is loaded only when one is opened or saved.

export { parquetReadObjects } from "hyparquet";
export { parquetOf } from "./parquetfile.js";
