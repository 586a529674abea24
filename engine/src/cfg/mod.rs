//! Control flow: edges from instructions, and reverse postorder.

pub mod build;
