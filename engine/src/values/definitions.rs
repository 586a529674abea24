//! Where each register is defined: what the search for needed instructions looks up.
//!
//! Nearly all registers have one definition, which lies in the register's own row. The definitions of the others lie
//! together, in program order. Rows of eight bytes stay in the cache longest.

use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::operand::{Operand, definitions};
use std::ops::Range;

/// An instruction that defines a register, and whether it ends the life of the value before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition(u32);

impl Definition {
    fn new(inst: InstId, kills: bool) -> Self {
        Self(inst.0 << 1 | u32::from(kills))
    }

    /// The instruction.
    pub fn inst(self) -> InstId {
        InstId(self.0 >> 1)
    }

    /// Whether nothing of the value before it is left.
    pub fn kills(self) -> bool {
        self.0 & 1 != 0
    }

    fn with_kill(self, kills: bool) -> Self {
        Self(self.0 | u32::from(kills))
    }
}

/// The definitions of one register.
#[derive(Clone, Copy)]
struct Row {
    /// The definition, if it is the only one; else the number in it is where all of them start in `several`.
    at: Definition,
    /// The block of the only definition, else how many there are; and the flags.
    rest: u32,
}

/// The definitions have their place in `several`.
const PLACED: u32 = 1 << 30;
/// There is one definition. Blocks have fewer bits than are left: an operand names them.
const ONCE: u32 = 1 << 29;
const FLAGS: u32 = PLACED | ONCE;

impl Row {
    fn count(self) -> usize {
        if self.rest & ONCE != 0 { 1 } else { (self.rest & !FLAGS) as usize }
    }

    fn range(self) -> Range<usize> {
        self.at.0 as usize..self.at.0 as usize + self.count()
    }
}

/// How a register is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defined {
    /// Nowhere.
    Never,
    /// By this instruction of this block.
    Once(InstId, BlockId),
    /// More than once.
    Often,
}

/// The definitions of a function, by register.
#[derive(Default)]
pub struct Definitions {
    rows: Vec<Row>,
    several: Vec<Definition>,
    /// Definitions after the first of their register, in program order.
    later: Vec<(VRegId, Definition)>,
    /// Instructions that write more than one operand.
    with_several_results: Vec<InstId>,
}

impl Definitions {
    /// Collects the definitions by live instructions.
    pub fn collect(&mut self, function: &FunctionView<'_>) {
        self.with_several_results.clear();
        self.rows.clear();
        self.rows.resize(function.vregs.len(), Row { at: Definition(0), rest: 0 });
        self.later.clear();
        let pool = &function.pools.operands[..];
        for (inst, (head, row)) in function.heads.iter().zip(function.operands).enumerate() {
            if !head.is_live() {
                continue;
            }
            let inst = InstId::new(inst);
            if head.marks.contains(Marks::MORE_RESULTS) {
                self.add_each(inst, head, row.get(head.operand_count, pool));
                continue;
            }
            let first = row.first(head.operand_count, pool);
            if let Some((vreg, is_partial)) = definitions(std::slice::from_ref(&first)).next() {
                let kills = !head.opcode.is_guarded() && !is_partial;
                self.add(vreg, Definition::new(inst, kills), head.block);
            }
        }
        self.place();
    }

    /// Adds the definitions by an instruction that may have several results.
    fn add_each(&mut self, inst: InstId, head: &InstHead, operands: &[Operand]) {
        for (count, (vreg, is_partial)) in definitions(operands).enumerate() {
            if count == 1 {
                self.with_several_results.push(inst);
            }
            let kills = !head.opcode.is_guarded() && !is_partial;
            self.add(vreg, Definition::new(inst, kills), head.block);
        }
    }

    #[inline]
    fn add(&mut self, vreg: VRegId, definition: Definition, block: BlockId) {
        let row = &mut self.rows[vreg.index()];
        if row.rest == 0 {
            *row = Row { at: definition, rest: ONCE | block.0 };
        } else {
            self.add_later(vreg, definition);
        }
    }

    /// Adds a definition of a register that has one.
    fn add_later(&mut self, vreg: VRegId, definition: Definition) {
        let row = &mut self.rows[vreg.index()];
        if row.count() == 1 && row.at.inst() == definition.inst() {
            row.at = row.at.with_kill(definition.kills());
        } else if let Some((last, of_last)) = self.later.last_mut()
            && (*last, of_last.inst()) == (vreg, definition.inst())
        {
            *of_last = of_last.with_kill(definition.kills());
        } else {
            row.rest = row.count() as u32 + 1;
            self.later.push((vreg, definition));
        }
    }

    /// Brings the definitions of each register together. The last place of a register holds the next free one until it is
    /// filled itself.
    fn place(&mut self) {
        let Self { rows, several, later, .. } = self;
        several.clear();
        for &(vreg, definition) in later.iter() {
            let row = &mut rows[vreg.index()];
            if row.rest & PLACED == 0 {
                let (first, start) = (row.at, several.len());
                *row = Row { at: Definition(start as u32), rest: row.rest | PLACED };
                several.resize(start + row.count(), Definition(start as u32 + 1));
                several[start] = first;
            }
            let last = row.range().end - 1;
            let free = several[last].0;
            several[last].0 = free + 1;
            several[free as usize] = definition;
        }
    }

    /// How `vreg` is defined, for one who reads it.
    #[inline]
    pub fn defined(&self, vreg: VRegId) -> Defined {
        let row = self.rows[vreg.index()];
        if row.rest == 0 {
            Defined::Never
        } else if row.rest & ONCE != 0 {
            Defined::Once(row.at.inst(), BlockId(row.rest & !FLAGS))
        } else {
            Defined::Often
        }
    }

    /// The only definition of `vreg`, if it has just one.
    #[inline]
    pub fn only(&self, vreg: VRegId) -> Option<Definition> {
        let row = self.rows[vreg.index()];
        (row.count() == 1).then_some(row.at)
    }

    /// The definitions of `vreg` in program order.
    pub fn of(&self, vreg: VRegId) -> &[Definition] {
        let row = &self.rows[vreg.index()];
        match row.count() {
            0 => &[],
            1 => std::slice::from_ref(&row.at),
            _ => &self.several[row.range()],
        }
    }

    /// Number of the first definition of a register with several, among all such definitions.
    pub fn number_of_first(&self, vreg: VRegId) -> usize {
        self.rows[vreg.index()].at.0 as usize
    }

    /// The live instructions that write more than one operand, in program order.
    pub fn with_several_results(&self) -> &[InstId] {
        &self.with_several_results
    }

    /// Number of definitions of registers with several.
    pub fn several_count(&self) -> usize {
        self.several.len()
    }
}
