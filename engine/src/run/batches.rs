//! Batches: how many functions a shard takes at a time.

use crate::ptx::scan::FunctionText;

/// Instructions at which a batch is full. In the phases one function at a time costs 1.22 times what this costs, 4,096
/// instructions 1.08 times, 32,768 the same; what is in work takes more memory the more of it there is.
pub const BATCH_INSTS: usize = 8192;

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

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::ids::Span;

    /// How many functions each batch has, of functions with so many instructions.
    fn lengths(insts: &[usize]) -> Vec<usize> {
        let function = |&inst_count_max: &usize| FunctionText {
            header: Span::default(),
            name: Span::default(),
            body: Span::default(),
            is_entry: false,
            inst_count_max,
        };
        let functions: Vec<FunctionText> = insts.iter().map(function).collect();
        let batches = cut(&functions);
        assert_eq!(batches.concat().len(), functions.len(), "each is in one");
        batches.iter().map(|batch| batch.len()).collect()
    }

    #[test]
    fn batches_are_full_and_no_more() {
        assert_eq!(lengths(&[]), []);
        assert_eq!(lengths(&[10, 10, 10]), [3]);
        assert_eq!(lengths(&[BATCH_INSTS - 96, 96, 1]), [2, 1]);
        assert_eq!(lengths(&[BATCH_INSTS - 96, 97, 1]), [1, 2]);
        assert_eq!(lengths(&[1, BATCH_INSTS + 1, 1, 1]), [1, 1, 2]);
        assert_eq!(lengths(&[BATCH_INSTS + 1, BATCH_INSTS + 1]), [1, 1]);
        // What has no instruction makes no batch of its own.
        assert_eq!(lengths(&[0, BATCH_INSTS + 1, 0]), [2, 1]);
        assert_eq!(lengths(&[2, 3, BATCH_INSTS - 4]), [2, 1]);
    }
}
