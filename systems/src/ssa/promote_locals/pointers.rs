//! Pointers: addresses of local variables that lie in local variables.
//!
//! Without an optimizer a pointer is a variable like any other: it is stored once, and loaded wherever it is used.
//! ```text
//! add.u64 %rd1, %SP, 16;
//! st.b64 [%SP+8], %rd1;
//! ld.b64 %rd2, [%SP+8];        // %SP + 16
//! st.b32 [%rd2], 1;
//! ```
//! A *pointer* is the bytes that such a store writes. What is loaded from all of it is the address, where
//! - all that is stored to it is the same address, and
//! - nothing else touches one of its bytes, and
//! - the variable that it lies in does not escape.
//!
//! As with registers that hold an address, this is assumed while addresses are followed and looked at when all are known:
//! where it turns out wrong, the variable of the address escapes. A load that nothing was stored before may give anything,
//! so it may give the address.

use super::addresses::{Access, Address, NOT_CONSTANT, Variable};
use super::numbers::Sources;
use ahash::{AHashMap, AHashSet};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operation::Operation;
use ptxopt_engine::values::def_use::OperandRef;

/// The stored addresses of a function. Its memory is used again.
#[derive(Default)]
pub struct Pointers {
    /// Each store of an address.
    pub stored: Vec<(InstId, Address)>,
    /// By store: the address that it stores.
    address_of: AHashMap<InstId, Address>,
    /// By variable and first byte.
    places: AHashMap<(u32, u32), Pointer>,
    /// By store: variable and first byte of its pointer.
    place_of: AHashMap<InstId, (u32, u32)>,
    /// Loads whose result is followed.
    loads: AHashSet<InstId>,
}

/// Bytes that hold an address.
#[derive(Clone, Copy)]
struct Pointer {
    address: Address,
    /// One past its last byte.
    high: u32,
    /// Whether something else is stored to it, or touches a part of it.
    is_mixed: bool,
}

impl Pointers {
    /// Forgets the function before.
    pub fn clear(&mut self) {
        let Self { stored, address_of, places, place_of, loads } = self;
        stored.clear();
        address_of.clear();
        places.clear();
        place_of.clear();
        loads.clear();
    }

    /// Whether no address is stored.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// Notes that `inst` stores `address`.
    pub fn store(&mut self, inst: InstId, address: Address) {
        self.stored.push((inst, address));
    }

    /// Finds the pointers that are stored so far, and loads of them that were not found before.
    pub fn find_loads(
        &mut self,
        sources: Sources<'_>,
        accesses: &[Access],
        found: &mut Vec<(InstId, Address)>,
    ) {
        let Self { stored, address_of, places, place_of, loads } = self;
        address_of.extend(stored.iter().copied());
        for access in accesses {
            let Some(&address) = address_of.get(&access.inst) else { continue };
            let key = (access.variable, access.low);
            place_of.insert(access.inst, key);
            let new = Pointer { address, high: access.high, is_mixed: !is_whole(sources, access, 1) };
            let pointer = places.entry(key).or_insert(new);
            pointer.is_mixed |= new.is_mixed || (pointer.address, pointer.high) != (new.address, new.high);
        }
        for access in accesses {
            let Some(pointer) = places.get(&(access.variable, access.low)) else { continue };
            let is_pointer = pointer.high == access.high && is_whole(sources, access, 0);
            let is_load = operation(sources, access) == Operation::Ld;
            if is_load && is_pointer && access.refusal.is_none() && loads.insert(access.inst) {
                found.push((access.inst, pointer.address));
            }
        }
    }

    /// Lets the variables escape whose addresses are stored where something else may be.
    /// Accesses at computed addresses count only if `is_strict`.
    pub fn check(
        &mut self,
        sources: Sources<'_>,
        accesses: &[Access],
        variables: &mut [Variable],
        is_strict: bool,
    ) {
        let Self { stored, address_of, places, place_of, loads } = self;
        // What touches pointers and is no load or store of all of one.
        let mut others: Vec<(u32, u32, u32)> = Vec::new();
        for access in accesses.iter().filter(|access| is_strict || access.refusal != Some(NOT_CONSTANT)) {
            let pointer = places.get(&(access.variable, access.low));
            let is_own = match (pointer, operation(sources, access)) {
                (Some(pointer), Operation::St) => address_of.get(&access.inst) == Some(&pointer.address),
                (Some(_), _) => loads.contains(&access.inst),
                (None, _) => false,
            };
            if !is_own || access.refusal.is_some() {
                others.push((access.variable, access.low, access.high));
            }
        }
        others.sort_unstable();
        // So that each says how far those before it in the same variable reach.
        for at in 1..others.len() {
            if others[at].0 == others[at - 1].0 {
                others[at].2 = others[at].2.max(others[at - 1].2);
            }
        }
        for (&(variable, low), pointer) in places.iter_mut() {
            let before = others.partition_point(|&(of, from, _)| (of, from) < (variable, pointer.high));
            let last = before.checked_sub(1).map(|at| others[at]);
            pointer.is_mixed |= last.is_some_and(|(of, _, high)| of == variable && low < high);
        }
        for &(inst, address) in &*stored {
            let pointer = place_of.get(&inst).and_then(|place| places.get(place));
            if pointer.is_none_or(|pointer| pointer.is_mixed) {
                let escape = &mut variables[address.variable as usize].escape;
                escape.get_or_insert((inst, "the address of a local variable is stored"));
            }
        }
    }

    /// Lets the variables escape whose addresses lie in variables that do.
    pub fn escape_with(&self, variables: &mut [Variable]) {
        // Each round lets one more escape; a chain of more pointers than this is given up.
        const ROUNDS: u32 = 8;
        for round in 0..=ROUNDS {
            let mut has_changed = false;
            for &(inst, address) in &self.stored {
                let home = self.place_of.get(&inst).and_then(|&(variable, _)| {
                    variables[variable as usize].escape.filter(|_| round < ROUNDS)
                });
                let escape = &mut variables[address.variable as usize].escape;
                if (home.is_some() || round == ROUNDS) && escape.is_none() {
                    *escape = Some((inst, "the address of a local variable is stored in one that escapes"));
                    has_changed = true;
                }
            }
            if !has_changed {
                return;
            }
        }
    }
}

fn operation(sources: Sources<'_>, access: &Access) -> Operation {
    sources.forms.get(sources.view.heads[access.inst.index()].form).operation
}

/// Whether an access moves one register, all of it.
fn is_whole(sources: Sources<'_>, access: &Access, position: usize) -> bool {
    let at = OperandRef { inst: access.inst, position };
    let bits = |vreg: VRegId| sources.view.vregs[vreg.index()].ty.element().bits();
    sources.whole_register(at).is_some_and(|vreg| bits(vreg) == 8 * (access.high - access.low))
}
