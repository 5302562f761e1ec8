"""Makes t.lance: a table to which a native writer gave a write-ahead log, by pylance 14.0.2."""

import pathlib
import shutil

import lance
import pyarrow as pa

place = pathlib.Path(__file__).parent / "t.lance"
shutil.rmtree(place, ignore_errors=True)
key = pa.field("id", pa.int64(), nullable=False, metadata={b"lance-schema:unenforced-primary-key": b"true"})
lance.write_dataset(pa.table({"id": [1]}, schema=pa.schema([key])), place).initialize_mem_wal(unsharded=True)
