//! Where everything lives: address windows, and the places of a module's variables.
//!
//! ```text
//! generic addresses            64 bits             32 bits
//! shared memory                0x0100_0000         the same
//! local memory of the thread   0x0200_0000         the same
//! constants                    0x0800_0000         the same
//! parameters of the kernel     0x0900_0000         the same
//! functions                    0x0A00_0000         the same
//! variables                    0x7E00_0000_0000    0x1000_0000
//! heap                         0x7D00_0000_0000    0xC000_0000
//! buffers                      0x7F00_0000_0000    0x4000_0000
//! ```
//!
//! An address in its own space is the generic one without its window, so a conversion that is left out shows; global
//! addresses are generic ones, as on every device. Each allocation has a gap after it, so an access past its end shows.

use crate::load_error::LoadError;
use crate::outline::Outline;
use crate::source::declarations::{Piece, PieceValue, Variable};
use crate::source::expressions::Address;
use ahash::AHashMap;
use ptxopt_components::types::StateSpace;

/// Generic addresses of shared memory.
pub const SHARED_WINDOW: u64 = 0x0100_0000;
/// Generic addresses of the thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0200_0000;
/// Generic addresses of constants.
pub const CONST_WINDOW: u64 = 0x0800_0000;
/// Generic addresses of the kernel's parameters.
pub const PARAM_WINDOW: u64 = 0x0900_0000;
/// Addresses of functions.
pub const FUNCTION_WINDOW: u64 = 0x0A00_0000;
/// One past the last window.
pub const WINDOWS_END: u64 = 0x0B00_0000;
/// Bytes between the addresses of two functions.
pub const FUNCTION_STRIDE: u64 = 16;
/// First address of a variable in its own space: what lies below is reserved, so that null is no variable.
pub const SPACE_FIRST: u64 = 1024;
/// Bytes that nothing owns after a `.local`, `.shared` or `.const` variable, in a module whose variables lie apart. Those of `.global`
/// always do.
pub const APART_BYTES: u64 = 4096;
/// Alignment of an allocation.
pub const ALLOCATION_ALIGN: u64 = 256;

/// What is added to an address in a space to make it a generic one.
#[must_use]
pub const fn window_of(space: StateSpace) -> u64 {
    match space {
        StateSpace::Shared => SHARED_WINDOW,
        StateSpace::Local => LOCAL_WINDOW,
        StateSpace::Const => CONST_WINDOW,
        StateSpace::Param => PARAM_WINDOW,
        StateSpace::Global | StateSpace::Generic | StateSpace::SharedCluster => 0,
    }
}

/// Where global allocations start, and how far apart they are.
#[derive(Clone, Copy, Debug)]
pub struct GlobalMap {
    /// Variables.
    pub variables: u64,
    /// What `malloc` gives.
    pub heap: u64,
    /// Buffers of the launch.
    pub buffers: u64,
    /// Bytes that nothing owns after an allocation.
    pub gap: u64,
}

impl GlobalMap {
    /// The map for addresses of 32 or of 64 bits.
    #[must_use]
    pub fn new(address_bits: u32) -> Self {
        if address_bits == 32 {
            Self { variables: 0x1000_0000, buffers: 0x4000_0000, heap: 0xC000_0000, gap: 4 << 10 }
        } else {
            Self {
                variables: 0x7E00_0000_0000,
                heap: 0x7D00_0000_0000,
                buffers: 0x7F00_0000_0000,
                gap: 1 << 20,
            }
        }
    }

    /// Where the allocation after one of `size` bytes at `address` starts.
    #[must_use]
    pub fn after(&self, address: u64, size: u64) -> u64 {
        (address + size + self.gap).next_multiple_of(ALLOCATION_ALIGN)
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// An address in `space`; the frame's own memory where the space is local or param.
    Variable {
        /// Its space.
        space: StateSpace,
        /// Its address there.
        address: u64,
        /// Bytes of an element, by which an index scales.
        element: u64,
    },
    /// Bytes from the start of the frame's local memory.
    Frame {
        /// The declared space: local, or param of a call.
        space: StateSpace,
        /// Byte offset in the frame.
        offset: u64,
        /// Bytes of an element, by which an index scales.
        element: u64,
    },
    /// A function with a body, by number.
    Function(u32),
    /// A function without one, by number among the prototypes.
    External(u32),
}

/// A variable with its place.
pub struct Placed {
    /// Its declaration.
    pub variable: Variable,
    /// Its address, in its space.
    pub address: u64,
}

/// Every variable of a module, placed.
pub struct Layout {
    /// 32 or 64.
    pub address_bits: u32,
    /// Where global allocations go.
    pub map: GlobalMap,
    /// Global and constant variables.
    pub placed: Vec<Placed>,
    /// What names of the module mean.
    pub symbols: AHashMap<String, Symbol>,
    /// One past the last static shared variable.
    pub shared_end: u64,
    /// Where dynamic shared memory starts.
    pub dynamic_shared: u64,
    /// One past the last constant.
    pub const_end: u64,
    /// One past the last `.local` variable of the module.
    pub local_end: u64,
    /// Whether [`APART_BYTES`] follow each variable of a function or module.
    pub is_apart: bool,
    /// Where they start, ascending, in spaces of the module.
    gaps: AHashMap<StateSpace, Vec<u64>>,
    next_global: u64,
    dynamic_align: u64,
}

impl Layout {
    /// Places the variables of the module; those of functions follow with [`Layout::place`].
    ///
    /// # Errors
    /// Two variables of one name.
    pub(crate) fn new(
        text: &[u8],
        address_bits: u32,
        is_apart: bool,
        outline: &Outline,
    ) -> Result<Self, LoadError> {
        let map = GlobalMap::new(address_bits);
        let mut layout = Self {
            address_bits,
            map,
            placed: Vec::new(),
            symbols: AHashMap::new(),
            shared_end: SPACE_FIRST,
            dynamic_shared: 0,
            const_end: SPACE_FIRST,
            local_end: SPACE_FIRST,
            is_apart,
            gaps: AHashMap::new(),
            next_global: map.variables,
            dynamic_align: 16,
        };
        for (number, prototype) in outline.prototypes.iter().enumerate() {
            layout.symbols.insert(prototype.name.clone(), Symbol::External(number as u32));
        }
        for (name, &function) in &outline.by_name {
            layout.symbols.insert(name.clone(), Symbol::Function(function as u32));
        }
        for variable in &outline.variables {
            let is_known = matches!(layout.symbols.get(&variable.name), Some(Symbol::Variable { .. }));
            if is_known && variable.is_extern {
                continue;
            }
            let symbol = layout.place(text, variable.clone())?;
            layout.symbols.insert(variable.name.clone(), symbol);
        }
        Ok(layout)
    }

    /// Gives a variable its place.
    ///
    /// # Errors
    /// A space that variables of a module cannot be in.
    pub(crate) fn place(&mut self, text: &[u8], variable: Variable) -> Result<Symbol, LoadError> {
        let element = variable.element_size();
        let (space, size) = (variable.space, variable.size.unwrap_or(0));
        let address = match space {
            StateSpace::Global => {
                let address = self.next_global.next_multiple_of(variable.align.max(ALLOCATION_ALIGN));
                self.next_global = self.map.after(address, size);
                self.placed.push(Placed { variable, address });
                address
            }
            StateSpace::Const => {
                let address = bump(&mut self.const_end, variable.align, size);
                self.placed.push(Placed { variable, address });
                address
            }
            // Unsized arrays all lie at the start of dynamic memory, which is known when all others are placed.
            StateSpace::Shared if variable.size.is_none() => {
                self.dynamic_align = self.dynamic_align.max(variable.align);
                return Ok(Symbol::Variable { space, address: DYNAMIC, element });
            }
            StateSpace::Shared => bump(&mut self.shared_end, variable.align, size),
            StateSpace::Local => bump(&mut self.local_end, variable.align, size),
            _ => {
                let reason = format!("`{}` is in a space without variables", variable.name);
                return Err(LoadError::declaration(text, variable.offset, reason));
            }
        };
        self.leave_gap(space);
        Ok(Symbol::Variable { space, address, element })
    }

    /// Leaves room after the variable of `space` that was placed last, where variables lie apart.
    fn leave_gap(&mut self, space: StateSpace) {
        let end = match space {
            StateSpace::Const => &mut self.const_end,
            StateSpace::Shared => &mut self.shared_end,
            StateSpace::Local => &mut self.local_end,
            _ => return,
        };
        if self.is_apart {
            self.gaps.entry(space).or_default().push(*end);
            *end += APART_BYTES;
        }
    }

    /// Whether bytes of `space` lie after a variable of the module, where nothing owns them.
    #[must_use]
    pub fn is_in_gap(&self, space: StateSpace, address: u64, count: u64) -> bool {
        let Some(gaps) = self.gaps.get(&space) else { return false };
        let last = gaps.partition_point(|&gap| gap < address.saturating_add(count)).checked_sub(1);
        last.is_some_and(|last| address < gaps[last] + APART_BYTES)
    }

    /// Fixes where dynamic shared memory starts, once every function has placed its variables.
    pub(crate) fn finish(&mut self) {
        self.dynamic_shared = self.shared_end.next_multiple_of(self.dynamic_align);
        for symbol in self.symbols.values_mut() {
            if let Symbol::Variable { address: address @ DYNAMIC, .. } = symbol {
                *address = self.dynamic_shared;
            }
        }
    }

    /// The bits that a piece of an initialiser stands for.
    ///
    /// # Errors
    /// The name that means nothing.
    pub fn bits(&self, piece: &Piece) -> Result<u64, String> {
        match &piece.value {
            PieceValue::Bits(bits) => Ok(*bits),
            PieceValue::Address(address) => self.address_of(address),
        }
    }

    fn address_of(&self, address: &Address) -> Result<u64, String> {
        let symbol = self.symbols.get(&address.name).ok_or_else(|| address.name.clone())?;
        let base = if address.is_generic { generic_address(*symbol) } else { space_address(*symbol) };
        let bits = base.wrapping_add(address.addend as u64) & address.mask;
        Ok(if address.mask == u64::MAX { bits } else { bits >> address.mask.trailing_zeros().min(63) })
    }
}

/// Stands for the start of dynamic shared memory until [`Layout::finish`].
pub const DYNAMIC: u64 = u64::MAX;

fn bump(end: &mut u64, align: u64, size: u64) -> u64 {
    let address = end.next_multiple_of(align);
    *end = address + size;
    address
}

/// Address of a symbol in its own space.
#[must_use]
pub fn space_address(symbol: Symbol) -> u64 {
    match symbol {
        Symbol::Variable { address, .. } => address,
        Symbol::Frame { offset, .. } => offset,
        Symbol::Function(number) => FUNCTION_WINDOW + u64::from(number) * FUNCTION_STRIDE,
        // After the functions with bodies, where nothing can be called by accident.
        Symbol::External(number) => WINDOWS_END - FUNCTION_STRIDE * (1 + u64::from(number)),
    }
}

/// Generic address of a symbol.
#[must_use]
pub fn generic_address(symbol: Symbol) -> u64 {
    let address = space_address(symbol);
    match symbol {
        Symbol::Variable { space, .. } | Symbol::Frame { space, .. } => address.wrapping_add(window(space)),
        Symbol::Function(_) | Symbol::External(_) => address,
    }
}

/// What a generic address has on top of one in `space`.
#[must_use]
pub fn window(space: StateSpace) -> u64 {
    match space {
        StateSpace::Shared | StateSpace::SharedCluster => SHARED_WINDOW,
        StateSpace::Local => LOCAL_WINDOW,
        StateSpace::Const => CONST_WINDOW,
        StateSpace::Param => PARAM_WINDOW,
        StateSpace::Global | StateSpace::Generic => 0,
    }
}

/// The space that a generic address lies in, and the address there.
#[inline]
#[must_use]
pub fn resolve(generic: u64) -> (StateSpace, u64) {
    match generic {
        SHARED_WINDOW..LOCAL_WINDOW => (StateSpace::Shared, generic - SHARED_WINDOW),
        LOCAL_WINDOW..CONST_WINDOW => (StateSpace::Local, generic - LOCAL_WINDOW),
        CONST_WINDOW..PARAM_WINDOW => (StateSpace::Const, generic - CONST_WINDOW),
        PARAM_WINDOW..FUNCTION_WINDOW => (StateSpace::Param, generic - PARAM_WINDOW),
        _ => (StateSpace::Global, generic),
    }
}
