//! Flatbuffers, as far as Arrow IPC needs them. A table has at its place the distance back to its list of
//! fields: u16 bytes of the list, u16 bytes of the table, then the distance of each field from the place
//! of the table, 0 for one that is absent. What a field refers to lies behind it, at the distance in it.

pub fn u16_at(data: &[u8], at: usize) -> usize {
    u16::from_le_bytes(data[at..at + 2].try_into().unwrap()) as usize
}

pub fn u32_at(data: &[u8], at: usize) -> usize {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize
}

pub fn u64_at(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().unwrap())
}

/// A table, or the elements of a vector.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub data: &'a [u8],
    pub at: usize,
}

impl<'a> Table<'a> {
    pub fn root(data: &'a [u8]) -> Self {
        Table { data, at: 0 }.follow(0)
    }

    /// What the distance at some bytes after the table refers to.
    pub fn follow(self, after: usize) -> Self {
        let at = self.at + after;
        Table { data: self.data, at: at + u32_at(self.data, at) }
    }

    /// Where a field is, after the table.
    fn field(self, i: usize) -> Option<usize> {
        let list = (self.at as i64 - u32_at(self.data, self.at) as u32 as i32 as i64) as usize;
        if 4 + 2 * i >= u16_at(self.data, list) {
            return None;
        }
        Some(u16_at(self.data, list + 4 + 2 * i)).filter(|after| *after != 0)
    }

    /// The number in a field of some bytes, if it is there.
    pub fn number(self, i: usize, size: usize) -> Option<u64> {
        let at = self.at + self.field(i)?;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.data[at..at + size]);
        Some(u64::from_le_bytes(bytes))
    }

    pub fn child(self, i: usize) -> Option<Self> {
        self.field(i).map(|after| self.follow(after))
    }

    /// The elements of a vector and their number.
    pub fn vector(self, i: usize) -> (Self, usize) {
        match self.child(i) {
            Some(v) => (Table { data: v.data, at: v.at + 4 }, u32_at(v.data, v.at)),
            None => (self, 0),
        }
    }

    pub fn text(self, i: usize) -> String {
        let (v, count) = self.vector(i);
        String::from_utf8_lossy(&v.data[v.at..v.at + count]).into_owned()
    }
}

/// A field of a table that is written.
pub enum Slot<'a> {
    Absent,
    Number(usize, u64),
    Child(&'a dyn Fn(&mut Writer) -> usize),
}

impl Slot<'_> {
    fn size(&self) -> usize {
        match self {
            Slot::Absent => 0,
            Slot::Number(size, _) => *size,
            Slot::Child(_) => 4,
        }
    }
}

/// Writes a flatbuffer from its beginning: what a table refers to comes after it.
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn pad(&mut self, size: usize, rest: usize) {
        while self.0.len() % size != rest {
            self.0.push(0);
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn refer(&mut self, at: usize, to: usize) {
        self.put(at, &((to - at) as u32).to_le_bytes());
    }

    /// Writes a table and what it refers to, and returns where the table is.
    pub fn table(&mut self, slots: &[Slot]) -> usize {
        let mut order: Vec<usize> = (0..slots.len()).filter(|i| slots[*i].size() > 0).collect();
        order.sort_by_key(|i| 8 - slots[*i].size()); // larger ones first, so that all are aligned
        let list_bytes = 4 + 2 * slots.len();
        self.pad(8, (12 - list_bytes % 8) % 8);
        let list = self.0.len();
        self.0.resize(list + list_bytes, 0);
        let at = self.0.len();
        self.0.extend(((at - list) as u32).to_le_bytes());
        let mut places = Vec::new();
        for i in order {
            let place = self.0.len();
            self.put(list + 4 + 2 * i, &((place - at) as u16).to_le_bytes());
            let value = if let Slot::Number(_, value) = slots[i] { value } else { 0 };
            self.0.extend(&value.to_le_bytes()[..slots[i].size()]);
            places.push((i, place));
        }
        self.put(list, &(list_bytes as u16).to_le_bytes());
        self.put(list + 2, &((self.0.len() - at) as u16).to_le_bytes());
        for (i, place) in places {
            if let Slot::Child(write) = slots[i] {
                let to = write(self);
                self.refer(place, to);
            }
        }
        at
    }

    /// Writes a vector of tables.
    pub fn tables(&mut self, count: usize, write: &dyn Fn(&mut Writer, usize) -> usize) -> usize {
        self.pad(4, 0);
        let at = self.0.len();
        self.0.extend((count as u32).to_le_bytes());
        self.0.resize(at + 4 + 4 * count, 0);
        for i in 0..count {
            let to = write(self, i);
            self.refer(at + 4 + 4 * i, to);
        }
        at
    }

    /// Writes a vector of structs of some bytes, which are aligned to 8.
    pub fn structs(&mut self, content: &[u8], size: usize) -> usize {
        self.pad(8, 4);
        let at = self.0.len();
        self.0.extend(((content.len() / size) as u32).to_le_bytes());
        self.0.extend(content);
        at
    }

    pub fn text(&mut self, text: &str) -> usize {
        self.pad(4, 0);
        let at = self.0.len();
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self.0.push(0);
        at
    }
}
