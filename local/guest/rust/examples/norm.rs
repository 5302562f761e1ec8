//! A function for Tiltyard: a vector of three numbers at length 1, and its length before. It fails for a
//! vector without a length.

use tiltyard_guest::{export, Batch, Output};

fn norm(batch: &Batch) -> Result<Vec<Output>, String> {
    let (vectors, mut unit, mut length) = (&batch.columns[0], Output::vectors(3), Output::floats());
    for i in 0..batch.rows {
        if vectors.is_null(i) {
            unit.null();
            length.null();
            continue;
        }
        let vector: Vec<f64> = vectors.items(i).map(|item| vectors.children[0].float(item)).collect();
        let size = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        if size == 0.0 {
            unit.fail("ValueError", "the vector has no length");
            length.null();
            continue;
        }
        unit.vector(&vector.iter().map(|v| (v / size) as f32).collect::<Vec<_>>());
        length.float(size);
    }
    Ok(vec![unit, length])
}

export!(norm);
