//! PTX text: in by [`scan`] and [`reader`], out by [`writer`].

mod body;
mod constant;
pub mod cursor;
mod declaration;
mod numbered;
pub mod reader;
pub mod scan;
pub mod writer;
