// The reader of Parquet files, loaded only when one is opened.

export { parquetReadObjects } from "hyparquet";
