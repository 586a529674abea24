//! PTX text: in by [`scan`] and [`reader`], out by [`writer`].

mod body;
pub mod cursor;
pub mod reader;
pub mod scan;
pub mod writer;
