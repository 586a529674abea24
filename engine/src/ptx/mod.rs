//! PTX text: in by [`scan`] and [`reader`], out by [`writer`].

pub mod cursor;
pub mod reader;
pub mod scan;
pub mod writer;
