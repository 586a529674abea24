//! Value numbers: registers and expressions with one number hold the same value wherever both are defined.
//!
//! No phase: what the phases of redundancy (49, 64) ask. A function in SSA form is walked in a preorder of its dominator tree,
//! in which what a value is computed from comes first, but for what comes around a loop. Each instruction is looked up in a
//! table by what it computes (`meanings`) and the numbers of what it reads; one that is there has computed the same.
//!
//! ```text
//! r3 = add r1, r2;
//! r4 = add r2, r1;             // has the number of r3: sums commute
//! p = setp.lt r3, 5;
//! q = setp.gt 5, r4;           // has the number of p
//! r5 = phi {A, r3}, {B, r4};   // has the number of r3
//! r6 = ld [r3];                // with the version of memory that it sees
//! ```
//! The number of a register is that of the first register with its value; constants have numbers of their own, and so have the
//! values of *variables*, registers that keep several definitions
//! ([decision 9](../../../../docs/decisions/0009-ssa-form-between-two-phases.md)): a definition of one that reaches, or
//! those that meet.
//!
//! An instruction that reads what nothing else reads waits until something could be equal to it (`postponed`): that is so of
//! four in ten.
//!
//! # Guards
//! What an instruction computes under a guard is what it computes without one, so it may take the number of what is computed
//! always. The other way round, the results are variables, and are asked for by their reaching definition.
//!
//! # What is apart
//! Memory is one of the spaces, and generic addresses reach three of them. But where a kernel calls nothing, makes no
//! generic address of local memory (`cvta.local`) and names no place in a generic access (`ld.u32 %r1, [depot]`, which `ptxas` takes
//! for local memory), there is none, and local memory is apart from generic accesses. The `.local`
//! variables of the body are apart from everything else while nothing else knows their addresses (`frame`). Within a
//! space, bytes are apart by their distance from one base, and variables of the function by their bounds (`places`). PTX has
//! no promise that two pointers are apart: `.ptr` of a kernel parameter names a space and an alignment, and the space says
//! nothing of addresses that are made of the parameter by `cvta` and arithmetic. Variables of the module may be those of
//! another one (`.extern`, `.weak`, `.common`), whose bounds this one does not say, so only equal names are compared.
//!
//! # What is not numbered
//! What other threads take part in, volatile and ordered accesses, `atom` and `red`; carries; clocks; results that become
//! sinks; what reads registers in flight, of the module, or of the function's interface.
//!
//! Papers: Alpern, Wegman and Zadeck 1988; Briggs, Cooper and Simpson 1997, "Value numbering" (the hash table over the dominator
//! tree).

mod addresses;
mod around_loops;
mod comparisons;
mod frame;
mod keys;
mod look_up;
mod meanings;
mod memory;
mod numbers;
#[cfg(test)]
mod oracle;
mod overwritten;
mod places;
mod postponed;
mod table;
mod walk;

pub(super) use meanings::bits_of;
pub use numbers::{Again, Known, Opposed, Source, ValueNumbers};
