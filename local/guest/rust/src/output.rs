//! Columns that a function fills, and the Arrow IPC stream that they become.

use crate::flat::{Slot, Writer};

/// A column of outputs: a value for each row of the batch.
#[derive(Default)]
pub struct Output {
    kind: u64,
    parameters: Vec<(usize, u64)>,
    rows: usize,
    nulls: usize,
    validity: Vec<u8>,
    offsets: Vec<u8>, // of texts and lists, after the first
    values: Vec<u8>,
    item: Option<Box<Output>>,
    failed: Vec<(usize, String)>,
}

impl Output {
    /// A column of texts.
    pub fn texts() -> Self {
        Output { kind: 5, ..Default::default() }
    }

    /// A column of integers of i64.
    pub fn ints() -> Self {
        Output { kind: 2, parameters: vec![(4, 64), (1, 1)], ..Default::default() }
    }

    /// A column of integers of i32.
    pub fn ints32() -> Self {
        Output { kind: 2, parameters: vec![(4, 32), (1, 1)], ..Default::default() }
    }

    /// A column of numbers of f64.
    pub fn floats() -> Self {
        Output { kind: 3, parameters: vec![(2, 2)], ..Default::default() }
    }

    /// A column of numbers of f32.
    pub fn floats32() -> Self {
        Output { kind: 3, parameters: vec![(2, 1)], ..Default::default() }
    }

    /// A column of truth values.
    pub fn bools() -> Self {
        Output { kind: 6, ..Default::default() }
    }

    /// A column of vectors of f32 of one length.
    pub fn vectors(length: usize) -> Self {
        Output { kind: 16, parameters: vec![(4, length as u64)], item: Some(Box::new(Output::floats32())), ..Default::default() }
    }

    /// A column of lists. Push the items of a row to `items()`, then call `end_list`.
    pub fn lists(of: Output) -> Self {
        Output { kind: 12, item: Some(Box::new(of)), ..Default::default() }
    }

    pub fn text(&mut self, text: &str) {
        self.expect(self.kind == 5);
        self.values.extend(text.as_bytes());
        self.end(true);
    }

    pub fn int(&mut self, value: i64) {
        self.expect(self.kind == 2);
        let width = self.parameters[0].1 as usize / 8;
        assert!(width == 8 || i32::try_from(value).is_ok(), "{value} does not fit into 32 bits");
        self.values.extend(&value.to_le_bytes()[..width]);
        self.end(true);
    }

    pub fn float(&mut self, value: f64) {
        self.expect(self.kind == 3);
        match self.parameters[0].1 {
            1 => self.values.extend((value as f32).to_le_bytes()),
            _ => self.values.extend(value.to_le_bytes()),
        }
        self.end(true);
    }

    pub fn bool(&mut self, value: bool) {
        self.expect(self.kind == 6);
        self.bit(value);
        self.end(true);
    }

    pub fn vector(&mut self, vector: &[f32]) {
        self.expect(self.kind == 16);
        let length = self.parameters[0].1 as usize;
        assert!(vector.len() == length, "a vector of {} numbers in a column of vectors of {length}", vector.len());
        vector.iter().for_each(|v| self.items().float(*v as f64));
        self.end(true);
    }

    /// The items of the list that `end_list` ends.
    pub fn items(&mut self) -> &mut Output {
        self.item.as_mut().expect("a column of lists")
    }

    pub fn end_list(&mut self) {
        self.expect(self.kind == 12);
        self.end(true);
    }

    /// Appends no value.
    pub fn null(&mut self) {
        match self.kind {
            2 => self.values.resize(self.values.len() + self.parameters[0].1 as usize / 8, 0),
            3 => self.values.resize(self.values.len() + (2 << self.parameters[0].1), 0),
            6 => self.bit(false),
            16 => (0..self.parameters[0].1).for_each(|_| self.items().float(0.0)),
            _ => {}
        }
        self.end(false);
    }

    /// Appends no value, and the reason why the row has none: the name of a type and a message.
    pub fn fail(&mut self, kind: &str, message: &str) {
        self.failed.push((self.rows, format!("{kind}: {message}")));
        self.null();
    }

    fn expect(&self, ok: bool) {
        assert!(ok, "a value of another type than the column");
    }

    fn bit(&mut self, value: bool) {
        if self.rows % 8 == 0 {
            self.values.push(0);
        }
        self.values[self.rows / 8] |= (value as u8) << (self.rows % 8);
    }

    fn end(&mut self, valid: bool) {
        if self.rows % 8 == 0 {
            self.validity.push(0);
        }
        self.validity[self.rows / 8] |= (valid as u8) << (self.rows % 8);
        self.nulls += !valid as usize;
        self.rows += 1;
        let end = match &self.item {
            Some(item) => item.rows,
            None => self.values.len(),
        };
        self.offsets.extend((end as u32).to_le_bytes());
    }

    fn field(&self, w: &mut Writer, name: &str) -> usize {
        let parameters: Vec<Slot> = self.parameters.iter().map(|(size, value)| Slot::Number(*size, *value)).collect();
        w.table(&[
            Slot::Child(&|w| w.text(name)),
            Slot::Number(1, 1), // nullable
            Slot::Number(1, self.kind),
            Slot::Child(&|w| w.table(&parameters)),
            Slot::Absent,
            Slot::Child(&|w| w.tables(self.item.iter().len(), &|w, _| self.item.as_ref().unwrap().field(w, "item"))),
        ])
    }

    /// Adds the arrays to those of a batch.
    fn arrays(&self, nodes: &mut Vec<u8>, buffers: &mut Vec<u8>, body: &mut Vec<u8>) {
        nodes.extend((self.rows as u64).to_le_bytes());
        nodes.extend((self.nulls as u64).to_le_bytes());
        let mut add = |parts: &[&[u8]]| {
            let begin = body.len();
            parts.iter().for_each(|p| body.extend(*p));
            buffers.extend((begin as u64).to_le_bytes());
            buffers.extend(((body.len() - begin) as u64).to_le_bytes());
            body.resize(body.len().next_multiple_of(8), 0);
        };
        add(&[&self.validity]);
        if matches!(self.kind, 5 | 12) {
            add(&[&[0; 4], &self.offsets]);
        }
        match &self.item {
            Some(item) => item.arrays(nodes, buffers, body),
            None => add(&[&self.values]),
        }
    }
}

/// Returns the stream of a reply.
pub fn write(rows: usize, mut outputs: Vec<Output>) -> Vec<u8> {
    let mut reasons: Vec<(usize, String)> = Vec::new();
    for (i, o) in outputs.iter_mut().enumerate() {
        assert!(o.rows == rows, "output {i} has {} values for {rows} rows", o.rows);
        reasons.append(&mut o.failed);
    }
    let mut names: Vec<String> = (0..outputs.len()).map(|i| format!("value{i}")).collect();
    if !reasons.is_empty() {
        reasons.sort();
        let mut texts = Output::texts();
        for row in 0..rows {
            match reasons.iter().find(|(failed, _)| *failed == row) {
                Some((_, reason)) => texts.text(reason),
                None => texts.null(),
            }
        }
        outputs.push(texts);
        names.push("__error".into());
    }
    let (mut nodes, mut buffers, mut body) = (Vec::new(), Vec::new(), Vec::new());
    outputs.iter().for_each(|o| o.arrays(&mut nodes, &mut buffers, &mut body));
    let mut out = Vec::new();
    message(&mut out, 1, 0, &|w| {
        w.table(&[Slot::Absent, Slot::Child(&|w| w.tables(outputs.len(), &|w, i| outputs[i].field(w, &names[i])))])
    });
    message(&mut out, 3, body.len(), &|w| {
        w.table(&[Slot::Number(8, rows as u64), Slot::Child(&|w| w.structs(&nodes, 16)), Slot::Child(&|w| w.structs(&buffers, 16))])
    });
    out.extend(body);
    out.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    out
}

/// Appends the metadata of a message, of version 5 of the format.
fn message(out: &mut Vec<u8>, kind: u64, body: usize, header: &dyn Fn(&mut Writer) -> usize) {
    let mut w = Writer(vec![0; 4]);
    let root = w.table(&[Slot::Number(2, 4), Slot::Number(1, kind), Slot::Child(header), Slot::Number(8, body as u64)]);
    w.0[..4].copy_from_slice(&(root as u32).to_le_bytes());
    w.pad(8, 0);
    out.extend(u32::MAX.to_le_bytes());
    out.extend((w.0.len() as u32).to_le_bytes());
    out.extend(w.0);
}
