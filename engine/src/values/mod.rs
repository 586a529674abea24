//! Values: who defines and who reads what.

pub mod def_use;
