//! Batches of parameters: an Arrow IPC stream of a schema and one batch.

use crate::flat::{u32_at, u64_at, Table};

/// Some rows of the parameters.
pub struct Batch<'a> {
    pub rows: usize,
    /// In the order of the parameters.
    pub columns: Vec<Column<'a>>,
}

/// The values of a parameter. Its methods panic for values of another type.
pub struct Column<'a> {
    pub name: String,
    pub rows: usize,
    /// The items of a list, or the fields of a struct.
    pub children: Vec<Column<'a>>,
    kind: u64,
    width: usize, // bytes of a value; for lists, items of a value if that is fixed
    signed: bool,
    validity: &'a [u8], // empty: no nulls
    offsets: &'a [u8],
    values: &'a [u8],
}

// Numbers of types in Schema.fbs.
const INT: u64 = 2;
const FLOAT: u64 = 3;
const BINARY: u64 = 4;
const UTF8: u64 = 5;
const BOOL: u64 = 6;
const LIST: u64 = 12;
const STRUCT: u64 = 13;
const FIXED_SIZE_LIST: u64 = 16;
const LARGE_BINARY: u64 = 19;
const LARGE_UTF8: u64 = 20;
const LARGE_LIST: u64 = 21;

impl<'a> Column<'a> {
    fn new(field: Table<'a>) -> Self {
        let kind = field.number(2, 1).unwrap_or(0);
        let parameters = field.child(3);
        let number = |i, size| parameters.and_then(|p| p.number(i, size));
        let (width, signed) = match kind {
            INT => (number(0, 4).unwrap_or(0) as usize / 8, number(1, 1) == Some(1)),
            FLOAT => (2 << number(0, 2).unwrap_or(0), true),
            8 => (if number(0, 2) == Some(0) { 4 } else { 8 }, true), // dates
            9 => (number(1, 4).unwrap_or(32) as usize / 8, true),     // times
            10 | 18 => (8, true),                                     // timestamps and durations
            7 => (16, true),                                          // decimals
            15 | FIXED_SIZE_LIST => (number(0, 4).unwrap_or(0) as usize, false),
            BINARY | UTF8 | BOOL | LIST | STRUCT | LARGE_BINARY | LARGE_UTF8 | LARGE_LIST => (0, false),
            _ => panic!("the column {} is of type {kind}, which this crate does not read", field.text(0)),
        };
        let (children, count) = field.vector(5);
        let children = (0..count).map(|i| Column::new(children.follow(4 * i))).collect();
        Column { name: field.text(0), rows: 0, children, kind, width, signed, validity: &[], offsets: &[], values: &[] }
    }

    /// Whether a row has no value.
    pub fn is_null(&self, i: usize) -> bool {
        !self.validity.is_empty() && self.validity[i / 8] >> (i % 8) & 1 == 0
    }

    /// The text in a row.
    pub fn text(&self, i: usize) -> &'a str {
        self.check(self.kind == UTF8 || self.kind == LARGE_UTF8, "texts");
        std::str::from_utf8(&self.values[self.offset(i)..self.offset(i + 1)]).expect("the service checks texts")
    }

    /// The text or the bytes in a row.
    pub fn bytes(&self, i: usize) -> &'a [u8] {
        match self.kind {
            7 | 15 => &self.values[i * self.width..(i + 1) * self.width],
            _ => {
                self.check(matches!(self.kind, UTF8 | LARGE_UTF8 | BINARY | LARGE_BINARY), "bytes");
                &self.values[self.offset(i)..self.offset(i + 1)]
            }
        }
    }

    /// The integer in a row. Dates, times and durations are integers in their own unit.
    pub fn int(&self, i: usize) -> i64 {
        self.check(self.kind == INT || (8..=10).contains(&self.kind) || self.kind == 18, "integers");
        let mut bytes = [0; 8];
        bytes[..self.width].copy_from_slice(&self.values[i * self.width..(i + 1) * self.width]);
        let unused = 64 - 8 * self.width;
        match self.signed {
            true => i64::from_le_bytes(bytes) << unused >> unused,
            false => i64::from_le_bytes(bytes),
        }
    }

    /// The number in a row, of f32 or f64.
    pub fn float(&self, i: usize) -> f64 {
        self.check(self.kind == FLOAT && self.width >= 4, "numbers of f32 or f64");
        match self.width {
            4 => f32::from_bits(u32_at(self.values, 4 * i) as u32) as f64,
            _ => f64::from_bits(u64_at(self.values, 8 * i)),
        }
    }

    /// The truth value in a row.
    pub fn bool(&self, i: usize) -> bool {
        self.check(self.kind == BOOL, "truth values");
        self.values[i / 8] >> (i % 8) & 1 == 1
    }

    /// The rows of `children[0]` that are the items of the list in a row.
    pub fn items(&self, i: usize) -> std::ops::Range<usize> {
        if self.kind == FIXED_SIZE_LIST {
            return i * self.width..(i + 1) * self.width;
        }
        self.check(self.kind == LIST || self.kind == LARGE_LIST, "lists");
        self.offset(i)..self.offset(i + 1)
    }

    fn offset(&self, i: usize) -> usize {
        match self.kind {
            LARGE_BINARY | LARGE_UTF8 | LARGE_LIST => u64_at(self.offsets, 8 * i) as usize,
            _ => u32_at(self.offsets, 4 * i),
        }
    }

    fn check(&self, ok: bool, what: &str) {
        assert!(ok, "the column {} does not hold {what}", self.name);
    }
}

/// Takes the arrays of a batch in their order.
struct Reader<'a> {
    body: &'a [u8],
    nodes: Table<'a>,
    buffers: Table<'a>,
    node: usize,
    buffer: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> &'a [u8] {
        let at = self.buffers.at + 16 * self.buffer;
        self.buffer += 1;
        let begin = u64_at(self.buffers.data, at) as usize;
        &self.body[begin..begin + u64_at(self.buffers.data, at + 8) as usize]
    }

    fn column(&mut self, c: &mut Column<'a>) {
        c.rows = u64_at(self.nodes.data, self.nodes.at + 16 * self.node) as usize;
        self.node += 1;
        c.validity = self.next();
        if matches!(c.kind, UTF8 | BINARY | LARGE_UTF8 | LARGE_BINARY | LIST | LARGE_LIST) {
            c.offsets = self.next();
        }
        if !matches!(c.kind, LIST | LARGE_LIST | STRUCT | FIXED_SIZE_LIST) {
            c.values = self.next();
        }
        for child in &mut c.children {
            self.column(child);
        }
    }
}

impl<'a> Batch<'a> {
    /// Reads a stream.
    pub fn read(mut stream: &'a [u8]) -> Self {
        let mut batch = Batch { rows: 0, columns: Vec::new() };
        loop {
            let size = u32_at(stream, 4);
            if size == 0 {
                return batch;
            }
            let message = Table::root(&stream[8..8 + size]);
            let body = &stream[8 + size..];
            let header = message.child(2).expect("a message has a header");
            if message.number(1, 1) == Some(1) {
                let (fields, count) = header.vector(1);
                batch.columns = (0..count).map(|i| Column::new(fields.follow(4 * i))).collect();
            } else {
                batch.rows = header.number(0, 8).unwrap_or(0) as usize;
                let mut reader = Reader { body, nodes: header.vector(1).0, buffers: header.vector(2).0, node: 0, buffer: 0 };
                for c in &mut batch.columns {
                    reader.column(c);
                }
            }
            stream = &body[message.number(3, 8).unwrap_or(0) as usize..];
        }
    }
}
