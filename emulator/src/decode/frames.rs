//! Frames: the register slots and the local memory of a function, and what its own names mean.

use crate::layout::{APART_BYTES, Layout, SPACE_FIRST, Symbol};
use crate::load_error::LoadError;
use crate::program::{FormalPlace, Function, Place, Target};
use crate::source::declarations::variables;
use crate::source::headers::{Formal, Header};
use crate::source::tokens::Tokens;
use ahash::AHashMap;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::types::StateSpace;
use ptxopt_components::vreg::VRegName;
use ptxopt_engine::ptx::scan;
use ptxopt_engine::store::view::FunctionView;

/// Slots of a register.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Its first slot.
    pub slot: u32,
    /// Elements of a vector, else 1.
    pub lanes: u32,
    /// Cells of an element: 2 for 128 bits.
    pub cells: u32,
    /// Ones for the bits of a cell.
    pub mask: u64,
}

/// Bytes kept for a parameter array without a size; a call that passes more is refused.
const UNSIZED_BYTES: u64 = 4096;

/// What a function's frame holds.
pub struct Frame {
    /// By virtual register.
    pub vregs: Vec<Register>,
    /// The slot of the carry flag.
    pub carry: u32,
    /// Number of slots.
    pub slots: u32,
    /// Variables and parameters of the function.
    pub symbols: AHashMap<String, Symbol>,
    /// The places in the frame of those among them that lie there.
    pub places: AHashMap<String, Place>,
    /// Parts of it that nothing owns.
    pub gaps: Vec<Place>,
    /// Bytes of local memory.
    pub local_size: u64,
    /// Its alignment.
    pub local_align: u64,
    /// Whether it is a kernel.
    pub is_entry: bool,
    /// Where arguments go.
    pub parameters: Vec<FormalPlace>,
    /// Where results are found.
    pub results: Vec<FormalPlace>,
}

impl Frame {
    /// Room for a variable, padded to its alignment: compilers read a parameter of 12 bytes as a vector of 16. One that lies in
    /// the `model` as it should lie here keeps its place.
    fn reserve(&mut self, name: &str, size: u64, align: u64, model: Option<&Function>) -> u64 {
        let suits = |place: &&Place| place.size == size && place.offset.is_multiple_of(align);
        let given = model.and_then(|model| model.places.get(name)).filter(suits);
        let offset = given.map_or_else(|| self.local_size.next_multiple_of(align), |place| place.offset);
        self.local_size = self.local_size.max(offset + size.next_multiple_of(align));
        self.local_align = self.local_align.max(align);
        self.places.insert(name.to_owned(), Place { offset, size });
        offset
    }

    /// Leaves room after the variable that was placed last.
    fn leave_gap(&mut self) {
        self.gaps.push(Place { offset: self.local_size, size: APART_BYTES });
        self.local_size += APART_BYTES;
    }
}

/// Lays out the frame of a function, like that of the `model` where there is one, and places the shared, global and constant
/// variables that it declares.
pub fn frame(
    view: &FunctionView<'_>,
    header: &Header,
    scanned: &scan::Module<'_>,
    layout: &mut Layout,
    model: Option<&Function>,
) -> Result<Frame, LoadError> {
    let mut frame = Frame {
        vregs: Vec::new(),
        carry: 0,
        slots: 0,
        symbols: AHashMap::new(),
        places: AHashMap::new(),
        gaps: Vec::new(),
        local_size: model.map_or(0, |model| model.local_size),
        local_align: model.map_or(16, |model| model.local_align),
        is_entry: view.state.flags.contains(CodeFlags::ENTRY),
        parameters: Vec::new(),
        results: Vec::new(),
    };
    for vreg in view.vregs {
        let bits = vreg.ty.element().bits();
        let (lanes, cells) = (u32::from(vreg.ty.lanes), if bits > 64 { 2 } else { 1 });
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        frame.vregs.push(Register { slot: frame.slots, lanes, cells, mask });
        frame.slots += lanes * cells;
    }
    frame.carry = frame.slots;
    frame.slots += 1;
    formals(view, header, scanned, &mut frame, model)?;
    declarations(view, scanned, layout, &mut frame, model)?;
    Ok(frame)
}

fn formals(
    view: &FunctionView<'_>,
    header: &Header,
    scanned: &scan::Module<'_>,
    frame: &mut Frame,
    model: Option<&Function>,
) -> Result<(), LoadError> {
    let mut next_kernel = SPACE_FIRST;
    let mut all = header.results.iter().chain(&header.parameters);
    let registers = if all.any(|formal| formal.is_register) { names(view, scanned) } else { AHashMap::new() };
    let mut place = |formal: &Formal, frame: &mut Frame| {
        if formal.is_register {
            // The reader gives every parameter a register, whether or not the body names it.
            let vreg = registers.get(formal.name.as_bytes()).ok_or_else(|| {
                let reason = format!("parameter `{}` has no register", formal.name);
                LoadError::declaration(scanned.text, view.text.body.first as usize, reason)
            })?;
            let register = frame.vregs[*vreg];
            let target = Target { slot: register.slot, mask: register.mask };
            return Ok(FormalPlace::Register(target, register.lanes * register.cells));
        }
        let element = u64::from(formal.ty.bits().div_ceil(8));
        if frame.is_entry {
            let address = next_kernel.next_multiple_of(formal.align);
            next_kernel = address + formal.size;
            let symbol = Symbol::Variable { space: StateSpace::Param, address, element };
            frame.symbols.insert(formal.name.clone(), symbol);
            Ok(FormalPlace::Kernel(address, formal.size))
        } else {
            let size = if formal.is_unsized { UNSIZED_BYTES } else { formal.size };
            let offset = frame.reserve(&formal.name, size, formal.align, model);
            let symbol = Symbol::Frame { space: StateSpace::Param, offset, element };
            frame.symbols.insert(formal.name.clone(), symbol);
            Ok(FormalPlace::Frame(offset, size))
        }
    };
    let results: Result<Vec<_>, LoadError> =
        header.results.iter().map(|formal| place(formal, frame)).collect();
    let parameters: Result<Vec<_>, LoadError> =
        header.parameters.iter().map(|formal| place(formal, frame)).collect();
    (frame.results, frame.parameters) = (results?, parameters?);
    Ok(())
}

/// The registers that have a name of their own.
fn names<'a>(view: &FunctionView<'a>, scanned: &'a scan::Module<'_>) -> AHashMap<&'a [u8], usize> {
    let whole = view.vreg_names.iter().enumerate().filter(|(_, name)| name.number == VRegName::WHOLE);
    whole.map(|(vreg, name)| (view.pools.names.bytes(scanned.text, name.prefix), vreg)).collect()
}

fn declarations(
    view: &FunctionView<'_>,
    scanned: &scan::Module<'_>,
    layout: &mut Layout,
    frame: &mut Frame,
    model: Option<&Function>,
) -> Result<(), LoadError> {
    for decl in view.decls {
        let mut text = scanned.text[decl.directives.range()].to_vec();
        text.push(b' ');
        text.extend_from_slice(view.pools.names.bytes(scanned.text, decl.name));
        text.extend_from_slice(&scanned.text[decl.rest.range()]);
        text.push(b';');
        let place = decl.directives.first as usize;
        let at_home = |error| match error {
            LoadError::Declaration { reason, .. } => LoadError::declaration(scanned.text, place, reason),
            error => error,
        };
        for variable in variables(&mut Tokens::new(&text, 0, text.len())).map_err(at_home)? {
            let (name, element, space) = (variable.name.clone(), variable.element_size(), variable.space);
            let symbol = if matches!(space, StateSpace::Local | StateSpace::Param) {
                let size = variable.size.unwrap_or(0);
                let offset = frame.reserve(&name, size, variable.align, model);
                if layout.is_apart && space == StateSpace::Local {
                    frame.leave_gap();
                }
                Symbol::Frame { space, offset, element }
            } else if variable.is_extern {
                let reason = "an external variable in a body".to_owned();
                return Err(LoadError::declaration(scanned.text, place, reason));
            } else {
                layout.place(scanned.text, variable).map_err(at_home)?
            };
            frame.symbols.insert(name, symbol);
        }
    }
    Ok(())
}
