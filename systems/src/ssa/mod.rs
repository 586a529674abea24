//! Phases that give values registers of their own.

pub mod promote_locals;
