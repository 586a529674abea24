//! The data of ptxopt: typed ids, packed components and the opcode table.
//!
//! Nothing here computes more than a look-up. The rows are what the entities of a shard are made of; the engine
//! holds them in columns and the phases work on slices of those columns.

pub mod anchor;
pub mod block;
pub mod code_object;
pub mod description;
pub mod form;
pub mod ids;
pub mod instruction;
pub mod literal;
pub mod opcodes;
pub mod operand;
pub mod operation;
pub mod qualifiers;
pub mod special_registers;
pub mod types;
pub mod vreg;
