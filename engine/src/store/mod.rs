//! Where code lies: the tables of a batch, its columns in a World, and views of them.

pub mod as_read;
pub mod columns;
pub mod left;
pub mod names;
pub mod per_function;
pub mod room;
pub mod tables;
pub mod view;
