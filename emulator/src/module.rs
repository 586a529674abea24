//! A loaded module: its variables placed, its functions decoded once for every launch.

use crate::decode;
use crate::layout::Layout;
use crate::load_error::LoadError;
use crate::outline::Outline;
use crate::program::{Function, Program};
use crate::source::headers::Formal;
use crate::source::tokens::{Token, Tokens};
use ptxopt_components::types::StateSpace;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan;
use ptxopt_engine::store::tables::CodeTables;

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its element type without the dot: `u64`, `b8`.
    pub ty: &'static str,
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// `.ptr`: the space that it points to, and the alignment there.
    pub pointer: Option<(StateSpace, u64)>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// `.reqntid`: the only block that it runs with; none where any will do.
    pub required_block: Option<[u32; 3]>,
    /// `.maxntid`: blocks have at most as many threads as this one; none where any will do.
    pub maximal_block: Option<[u32; 3]>,
    /// CTAs of a cluster; more than one only runs uninterpreted.
    pub cluster_size: u64,
}

/// A module that can be run.
pub struct Module {
    pub(crate) layout: Layout,
    pub(crate) program: Program,
    entries: Vec<Entry>,
}

impl Module {
    /// Loads a module's text.
    ///
    /// Instructions that are not modelled are no error here: they stop the launch that executes one.
    ///
    /// # Errors
    /// Text that is no PTX module, or a declaration that means nothing.
    pub fn load(text: &[u8]) -> Result<Self, LoadError> {
        Self::load_beside(text, None, false)
    }

    /// Loads a module whose variables lie apart: an access that leaves one by less than 4,096 bytes is out of bounds, and does not
    /// reach its neighbour.
    ///
    /// # Errors
    /// As [`Module::load`].
    pub fn load_apart(text: &[u8]) -> Result<Self, LoadError> {
        Self::load_beside(text, None, true)
    }

    /// Loads a module that is to leave the same as another one: what lies in the frames of both lies at the same places, since
    /// kernels may store addresses.
    ///
    /// # Errors
    /// As [`Module::load`].
    pub fn load_like(text: &[u8], model: &Self) -> Result<Self, LoadError> {
        Self::load_beside(text, Some(&model.program), false)
    }

    fn load_beside(text: &[u8], model: Option<&Program>, is_apart: bool) -> Result<Self, LoadError> {
        let scanned = scan::Module::scan(text).map_err(|error| LoadError::Text(error.into()))?;
        let mut forms = FormTable::default();
        let mut tables = CodeTables::default();
        read(&scanned, &scanned.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
            .map_err(|error| LoadError::Text(error.into()))?;
        let mut outline = Outline::default();
        outline.read(text, &scanned)?;
        let layout = Layout::new(text, address_size(text), is_apart, &outline)?;
        let program = decode::program(&scanned, &tables, &forms, &outline, layout, model)?;
        let (program, layout) = program;
        let entries = program.functions.iter().filter(|function| function.is_entry).map(entry).collect();
        Ok(Self { layout, program, entries })
    }

    /// The kernels, in textual order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Addresses of 32 or of 64 bits.
    #[must_use]
    pub fn address_bits(&self) -> u32 {
        self.layout.address_bits
    }

    /// Address of the first buffer of a launch. The others follow it, each after a gap.
    #[must_use]
    pub fn first_buffer(&self) -> u64 {
        self.layout.map.buffers
    }
}

fn entry(function: &Function) -> Entry {
    let given = |extent| Some(extent).filter(|&extent| extent != [0; 3]);
    let parameter = |formal: &Formal| Parameter {
        name: formal.name.clone(),
        ty: formal.ty.name(),
        size: formal.size,
        align: formal.align,
        pointer: formal.pointer,
    };
    Entry {
        name: function.header.name.clone(),
        parameters: function.header.parameters.iter().map(parameter).collect(),
        required_block: given(function.header.required_block),
        maximal_block: given(function.header.maximal_block),
        cluster_size: function.header.cluster,
    }
}

/// What `.address_size` says; 32 where it says nothing, as old modules leave it.
fn address_size(text: &[u8]) -> u32 {
    let mut tokens = Tokens::new(text, 0, text.len().min(1 << 16));
    while let Ok(token) = tokens.next() {
        match token {
            Token::Directive(b"address_size") => {
                return if tokens.next() == Ok(Token::Integer(64)) { 64 } else { 32 };
            }
            Token::Directive(b"entry" | b"func" | b"global") | Token::End => return 32,
            _ => {}
        }
    }
    32
}
