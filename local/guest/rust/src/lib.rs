//! Functions in Rust that Tiltyard runs as WebAssembly modules. The crate has no dependencies.
//!
//! ```ignore
//! use tiltyard_guest::{export, Batch, Output};
//!
//! fn upper(batch: &Batch) -> Result<Vec<Output>, String> {
//!     let mut out = Output::texts();
//!     for i in 0..batch.rows {
//!         match batch.columns[0].is_null(i) {
//!             true => out.null(),
//!             false => out.text(&batch.columns[0].text(i).to_uppercase()),
//!         }
//!     }
//!     Ok(vec![out])
//! }
//!
//! export!(upper);
//! ```
//!
//! Build a `cdylib` for the target wasm32-unknown-unknown. (With wasm32-wasip1 the exports `open`, `close`
//! and `free` would take the places of functions of the C library with these names.)
//!
//! A function gets batches of rows, also one without rows when it is registered. It appends one value for
//! each row and output. When it panics or returns an error, the service computes the batch again in smaller
//! pieces, until it has found the rows for which it does.

mod flat;
mod input;
mod output;

pub use input::{Batch, Column};
pub use output::Output;

/// Makes a function the one of the module.
#[macro_export]
macro_rules! export {
    ($function:expr) => {
        #[no_mangle]
        pub extern "C" fn tiltyard_abi() -> u32 {
            1
        }
        #[no_mangle]
        pub extern "C" fn alloc(size: u32) -> *mut u8 {
            $crate::abi::alloc(size)
        }
        /// # Safety
        /// The arguments are those of a call of alloc, and its result.
        #[no_mangle]
        pub unsafe extern "C" fn free(at: *mut u8, size: u32) {
            unsafe { $crate::abi::free(at, size) }
        }
        #[no_mangle]
        pub extern "C" fn open(_at: *const u8, _size: u32) -> *const u8 {
            $crate::abi::open()
        }
        /// # Safety
        /// The arguments are a stream within the memory of the module.
        #[no_mangle]
        pub unsafe extern "C" fn call(at: *const u8, size: u32) -> *const u8 {
            unsafe { $crate::abi::call(at, size, $function) }
        }
        #[no_mangle]
        pub extern "C" fn close() {}
    };
}

/// What [`export!`] calls.
pub mod abi {
    use crate::{output, Batch, Output};
    use std::cell::RefCell;

    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    extern "C" {
        fn fd_write(file: u32, parts: *const u32, count: u32, written: *mut u32) -> u32;
    }

    pub fn alloc(size: u32) -> *mut u8 {
        Box::leak(vec![0; size as usize].into_boxed_slice()).as_mut_ptr()
    }

    /// # Safety
    /// The arguments are those of a call of alloc, and its result.
    pub unsafe fn free(at: *mut u8, size: u32) {
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, size as usize)) });
    }

    /// Prints the message of a panic, which becomes part of the error.
    pub fn open() -> *const u8 {
        std::panic::set_hook(Box::new(|info| {
            let text = info.to_string();
            let (part, mut written) = ([text.as_ptr() as u32, text.len() as u32], 0);
            unsafe { fd_write(2, part.as_ptr(), 1, &mut written) };
        }));
        reply(0, Vec::new())
    }

    /// # Safety
    /// The first two arguments are a stream within the memory of the module.
    pub unsafe fn call(at: *const u8, size: u32, function: impl Fn(&Batch) -> Result<Vec<Output>, String>) -> *const u8 {
        let batch = Batch::read(unsafe { std::slice::from_raw_parts(at, size as usize) });
        match function(&batch) {
            Ok(outputs) => reply(0, output::write(batch.rows, outputs)),
            Err(message) => reply(1, failure(&message)),
        }
    }

    fn failure(message: &str) -> Vec<u8> {
        let mut text = String::from(r#"{"error_type":"Error","message":""#);
        for c in message.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c < ' ' => text += &format!("\\u{:04x}", c as u32),
                c => text.push(c),
            }
        }
        (text + "\"}").into_bytes()
    }

    thread_local! {
        /// The reply and its content stay until the next one.
        static REPLY: RefCell<(Vec<u8>, [u32; 3])> = const { RefCell::new((Vec::new(), [0; 3])) };
    }

    fn reply(status: u32, content: Vec<u8>) -> *const u8 {
        REPLY.with_borrow_mut(|r| {
            r.1 = [status, content.as_ptr() as u32, content.len() as u32];
            r.0 = content;
            r.1.as_ptr().cast()
        })
    }
}
