//! Values: who defines and who reads what, and what comes from which predecessor.

pub mod def_use;
pub mod definitions;
pub mod phis;
pub mod reaching;
pub mod sites;
