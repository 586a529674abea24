//! Batches: how many functions a shard takes at a time.

use crate::ptx::scan::FunctionText;

/// Instructions at which a batch is full. One function at a time costs 1.28 times, everything at once 1.23 times,
/// what batches of 1,000 to 8,000 instructions cost.
pub const BATCH_INSTS: usize = 4096;

/// Cuts the functions of a module into batches. A function that is larger is its own batch.
#[must_use]
pub fn cut(functions: &[FunctionText]) -> Vec<&[FunctionText]> {
    let mut batches = Vec::new();
    let (mut first, mut insts) = (0, 0);
    for (at, function) in functions.iter().enumerate() {
        if insts > 0 && insts + function.inst_count_max > BATCH_INSTS {
            batches.push(&functions[first..at]);
            (first, insts) = (at, 0);
        }
        insts += function.inst_count_max;
    }
    if first < functions.len() {
        batches.push(&functions[first..]);
    }
    batches
}
