//! What the tests of this crate share: the modules and tools they work with, and views of PTX text that owe nothing
//! to the reader under test.

pub mod assembly;
pub mod blessed;
pub mod clock;
pub mod comparison;
pub mod cubin;
pub mod generated;
pub mod gpu;
pub mod mistakes;
pub mod modules;
pub mod mutate;
pub mod native;
pub mod pairs;
pub mod plain;
pub mod ptxas;
pub mod random_code;
pub mod rewrite;
pub mod say;
pub mod sets;
pub mod variants;
