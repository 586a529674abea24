//! From rows to operations: every function once, when the module is loaded.

mod arithmetic;
mod asynchronous;
pub(crate) mod barriers;
mod calls;
mod copies;
mod frames;
mod items;
mod matrix;
mod memory;
mod operands;
mod warp;

use crate::arith;
use crate::lanes::WARP_SIZE;
use crate::layout::{Layout, Symbol};
use crate::load_error::LoadError;
use crate::outline::Outline;
use crate::program::{Function, Guard, Kind, Op, Program};
use ahash::AHashMap;
use items::{Item, items};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::{VRegFlags, VRegHead};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::scan;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_engine::store::view::FunctionView;

/// Decodes every function. The layout gains the variables that functions declare. Frames are laid out as those of the `model`'s
/// functions of the same names.
///
/// # Errors
/// A declaration in a body that means nothing.
pub(crate) fn program(
    scanned: &scan::Module<'_>,
    tables: &CodeTables,
    forms: &FormTable,
    outline: &Outline,
    mut layout: Layout,
    model: Option<&Program>,
) -> Result<(Program, Layout), LoadError> {
    let views: Vec<FunctionView<'_>> = tables.view().functions().collect();
    let models = model.into_iter().flat_map(|model| &model.functions);
    let models: AHashMap<&str, &Function> = models.map(|model| (&model.header.name[..], model)).collect();
    let mut frames = Vec::new();
    for (view, header) in views.iter().zip(&outline.headers) {
        let model = models.get(&header.name[..]).copied();
        frames.push(frames::frame(view, header, scanned, &mut layout, model)?);
    }
    layout.finish();
    let breaks = scanned.text.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
    let mut program = Program {
        line_starts: std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect(),
        prototypes: outline.prototypes.clone(),
        ..Program::default()
    };
    let mut shared = Shared { constants: AHashMap::new(), mnemonics: AHashMap::new() };
    for ((view, header), frame) in views.iter().zip(&outline.headers).zip(frames) {
        let first = program.ops.len() as u32;
        let mut decoder = Decoder {
            view,
            forms,
            scanned,
            layout: &layout,
            outline,
            frame: &frame,
            program: &mut program,
            shared: &mut shared,
        };
        decoder.function();
        program.functions.push(Function {
            header: header.clone(),
            is_entry: frame.is_entry,
            first,
            slots: frame.slots,
            local_size: frame.local_size,
            local_align: frame.local_align,
            parameters: frame.parameters,
            results: frame.results,
            places: frame.places,
            gaps: frame.gaps,
        });
    }
    Ok((program, layout))
}

/// What the functions of a module share while they are decoded.
struct Shared {
    /// Entry of the constants by value.
    constants: AHashMap<u64, u32>,
    /// Number by mnemonic, of instructions that lanes execute together.
    mnemonics: AHashMap<String, u32>,
}

/// Why an instruction has no operation of its own: something about it is not modelled.
#[derive(Clone, Copy, Debug)]
struct NotModelled;

/// An instruction, taken apart.
struct Instruction<'a> {
    mnemonic: &'a str,
    /// Root and qualifiers.
    words: Vec<&'a str>,
    items: Vec<Item>,
    operands: &'a [Operand],
}

impl Instruction<'_> {
    fn root(&self) -> &str {
        self.words[0]
    }

    fn has(&self, qualifier: &str) -> bool {
        self.words[1..].contains(&qualifier)
    }

    /// The type suffixes, in textual order.
    fn types(&self) -> impl DoubleEndedIterator<Item = PtxType> + '_ {
        self.words[1..].iter().filter_map(|word| PtxType::parse(word.as_bytes()))
    }

    fn last_type(&self) -> Option<PtxType> {
        self.types().next_back()
    }

    /// The operands of item `at`.
    fn item(&self, at: usize) -> Result<&[Operand], NotModelled> {
        let item = self.items.get(at).ok_or(NotModelled)?;
        Ok(&self.operands[item.operands()])
    }

    /// The only operand of item `at`.
    fn single(&self, at: usize) -> Result<Operand, NotModelled> {
        match self.item(at)? {
            [operand] => Ok(*operand),
            _ => Err(NotModelled),
        }
    }

    /// Whether the last operand is a cache policy.
    fn has_policy(&self) -> bool {
        self.has("L2::cache_hint")
    }

    /// Number of items without a cache policy.
    fn item_count(&self) -> usize {
        self.items.len() - usize::from(self.has_policy() && !self.items.is_empty())
    }
}

/// Decodes one function.
struct Decoder<'a> {
    view: &'a FunctionView<'a>,
    forms: &'a FormTable,
    scanned: &'a scan::Module<'a>,
    layout: &'a Layout,
    outline: &'a Outline,
    frame: &'a frames::Frame,
    program: &'a mut Program,
    shared: &'a mut Shared,
}

impl<'a> Decoder<'a> {
    fn function(&mut self) {
        if let Some(what) = self.refused() {
            let offset = self.view.text.body.first;
            self.program.ops.push(Op { kind: Kind::Refused(what), guard: Guard::NONE, offset });
            return;
        }
        let first = self.program.ops.len() as u32;
        let mut pc_of_block = vec![0; self.view.blocks.len()];
        for block in self.view.block_ids() {
            pc_of_block[block.index()] = self.program.ops.len() as u32;
            for inst in self.view.insts_of(block) {
                let op = self.instruction(inst);
                self.program.ops.push(op);
            }
        }
        // What runs off the end returns.
        let offset = self.view.text.body.end() as u32 - 1;
        self.program.ops.push(Op { kind: Kind::Return, guard: Guard::NONE, offset });
        for op in &mut self.program.ops[first as usize..] {
            match &mut op.kind {
                Kind::Branch(target) => *target = pc_of_block[*target as usize],
                Kind::BranchIndexed(_, targets) => {
                    targets.iter_mut().for_each(|target| *target = pc_of_block[*target as usize]);
                }
                _ => {}
            }
        }
    }

    /// What a function has that keeps it from being decoded. Registers are a frame's, so those of the module are not what callers
    /// and callees leave in them.
    fn refused(&self) -> Option<&'static str> {
        let is_of_module = |vreg: &VRegHead| vreg.flags.contains(VRegFlags::MODULE);
        if self.view.state.flags.contains(CodeFlags::LEFT) {
            Some("a function that the reader keeps as text")
        } else if self.outline.headers.len() > 1 && self.view.vregs.iter().any(is_of_module) {
            Some("a register that functions share")
        } else {
            None
        }
    }

    fn instruction(&mut self, inst: InstId) -> Op {
        let head = self.view.heads[inst.index()];
        let codes = self.forms.shape(head.form);
        let mnemonic = std::str::from_utf8(self.forms.mnemonic_text(head.form)).unwrap_or("?");
        let count = codes.iter().filter(|&&code| matches!(code, shape::OPERAND | shape::INDEXED)).count();
        let operands = self.view.operands_of(inst);
        let guard = match self.view.guard_of(inst).map(Operand::kind) {
            Some(OperandKind::Predicate { vreg, negated }) => {
                Guard::new(self.frame.vregs[vreg.index()].slot, negated)
            }
            _ => Guard::NONE,
        };
        let offset = self.view.places[inst.index()].offset;
        let instruction = Instruction {
            mnemonic,
            words: mnemonic.split('.').collect(),
            items: items(codes),
            operands: &operands[..count],
        };
        let is_verbatim = codes.first() == Some(&shape::VERBATIM);
        let kind = match if is_verbatim { Err(NotModelled) } else { self.kind(&instruction) } {
            Ok(kind) => kind,
            Err(NotModelled) => self.uninterpreted(&instruction, is_verbatim),
        };
        Op { kind, guard, offset }
    }

    fn kind(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        match of.root() {
            "mov" => self.copy(of),
            "cvta" => self.convert_address(of),
            "isspacep" => self.is_space(of),
            "mapa" | "getctarank" => self.map_rank(of),
            "ld" | "ldu" => self.load(of),
            "st" if !of.has("async") && !of.has("bulk") => self.store(of),
            "atom" => self.atomic(of, true),
            "red" if !of.has("async") => self.atomic(of, false),
            "shfl" | "vote" | "match" | "redux" | "elect" => self.warp_op(of),
            "activemask" => Ok(Kind::ActiveMask(self.target(of.single(0)?)?)),
            "bar" | "barrier" => self.barrier(of),
            "mbarrier" => self.mbarrier(of),
            "cp" if of.words[1..].first() == Some(&"async") && !of.has("bulk") => self.async_copy(of),
            "bra" | "brx" | "call" => self.control(of),
            "ret" => Ok(Kind::Return),
            "exit" => Ok(Kind::Exit),
            "trap" | "brkpt" => Ok(Kind::Trap),
            "nanosleep" => Ok(Kind::Pause),
            "membar" | "fence" | "prefetch" | "prefetchu" | "applypriority" | "pmevent"
            | "griddepcontrol" | "setmaxnreg" => Ok(Kind::Nothing),
            "discard" => Ok(Kind::Nothing),
            "createpolicy" => self.policy(of),
            "mma" | "wmma" | "movmatrix" | "ldmatrix" | "stmatrix" => self.matrix(of),
            "alloca" | "stacksave" | "stackrestore" => self.stack(of),
            _ => self.arithmetic(of),
        }
    }

    /// The constant `bits`, spread over the lanes.
    fn constant(&mut self, bits: u64) -> crate::program::Source {
        let constants = &mut self.program.constants;
        let entry = self.shared.constants.entry(bits).or_insert_with(|| {
            constants.push([bits; WARP_SIZE]);
            constants.len() as u32 - 1
        });
        crate::program::Source::Constant(*entry)
    }

    /// What `name` stands for in this function.
    fn symbol(&self, name: &str) -> Option<Symbol> {
        self.frame.symbols.get(name).or_else(|| self.layout.symbols.get(name)).copied()
    }

    fn dialect(&self) -> arith::Dialect {
        let dialect = self.scanned.dialect;
        arith::Dialect { flushes: dialect.flushes, wide_conversions_keep: dialect.wide_conversions_keep }
    }
}
