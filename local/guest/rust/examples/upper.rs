//! A function for Tiltyard: a text in capital letters. A row without a text has no output; one with the text
//! "fail" fails, and with "panic" the program does.

use tiltyard_guest::{export, Batch, Output};

fn upper(batch: &Batch) -> Result<Vec<Output>, String> {
    let (text, mut out) = (&batch.columns[0], Output::texts());
    for i in 0..batch.rows {
        if text.is_null(i) {
            out.null();
            continue;
        }
        match text.text(i) {
            "fail" => out.fail("Error", "the text asks for it"),
            "panic" => panic!("the text asks for it"),
            other => out.text(&other.to_uppercase()),
        }
    }
    Ok(vec![out])
}

export!(upper);
