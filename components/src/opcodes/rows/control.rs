//! Branches, calls and the end of a thread.

use super::super::row::{Effects, Row, row};

pub(super) const ROWS: &[Row] = &[
    row("bra", "^", Effects::BRANCH),
    // The table of targets is named by its label.
    row("brx.idx", ".u32/i &", Effects::BRANCH_INDEXED),
    // Results, callee, arguments and prototype are resolved by code: most of them stand in parentheses or are
    // absent.
    row("call", "call", Effects::CALL),
    row("ret", "", Effects::RETURN),
    row("exit", "", Effects::EXIT),
    row("trap", "", Effects::TRAP),
];
