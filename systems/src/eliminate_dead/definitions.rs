//! Where each register is defined: what the search for needed instructions looks up.
//!
//! Nearly all registers have one definition, which lies in the register's own row. The definitions of the others lie
//! together, in program order.

use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_engine::dataflow::liveness::kills;
use ptxopt_engine::view::FunctionView;

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
    /// The first one, if `count` is not 0.
    first: Definition,
    /// Where all of them start in `several`, if `count` is above 1.
    start: u32,
    count: u32,
}

/// The definitions of a function, by register.
#[derive(Default)]
pub struct Definitions {
    rows: Vec<Row>,
    several: Vec<Definition>,
    /// Definitions behind the first of their register, in program order.
    later: Vec<(VRegId, Definition)>,
    /// Instructions that write more than one operand.
    with_several_results: Vec<InstId>,
}

const NO_START: u32 = u32::MAX;

impl Definitions {
    /// Collects the definitions by live instructions.
    pub fn collect(&mut self, function: &FunctionView<'_>) {
        let Self { rows, several, later, with_several_results } = self;
        with_several_results.clear();
        rows.clear();
        rows.resize(function.vregs.len(), Row { first: Definition(0), start: NO_START, count: 0 });
        later.clear();
        for (inst, head) in function.heads.iter().enumerate().filter(|(_, head)| head.is_live()) {
            let inst = InstId::new(inst);
            let guarded = head.opcode.is_guarded();
            let mut result_count = 0;
            for operand in function.operands_of(inst) {
                let Some(vreg) = operand.vreg().filter(|_| operand.is_definition()) else { continue };
                result_count += 1;
                if result_count == 2 {
                    with_several_results.push(inst);
                }
                let definition = Definition::new(inst, kills(operand, guarded));
                let row = &mut rows[vreg.index()];
                if row.count == 0 {
                    (row.first, row.count) = (definition, 1);
                } else if row.count == 1 && row.first.inst() == inst {
                    row.first = row.first.with_kill(definition.kills());
                } else if let Some((last, of_last)) = later.last_mut()
                    && (*last, of_last.inst()) == (vreg, inst)
                {
                    *of_last = of_last.with_kill(definition.kills());
                } else {
                    row.count += 1;
                    later.push((vreg, definition));
                }
            }
        }
        several.clear();
        for &(vreg, definition) in later.iter() {
            let row = &mut rows[vreg.index()];
            if row.start == NO_START {
                row.start = several.len() as u32;
                several.resize(several.len() + row.count as usize, row.first);
                row.count = 1;
            }
            several[(row.start + row.count) as usize] = definition;
            row.count += 1;
        }
    }

    /// The only definition of `vreg`, if it has just one.
    #[inline]
    pub fn only(&self, vreg: VRegId) -> Option<Definition> {
        let row = self.rows[vreg.index()];
        (row.count == 1).then_some(row.first)
    }

    /// The definitions of `vreg` in program order.
    pub fn of(&self, vreg: VRegId) -> &[Definition] {
        let row = &self.rows[vreg.index()];
        match row.count {
            0 => &[],
            1 => std::slice::from_ref(&row.first),
            count => &self.several[row.start as usize..(row.start + count) as usize],
        }
    }

    /// Number of the first definition of a register with several, among all such definitions.
    pub fn number_of_first(&self, vreg: VRegId) -> usize {
        self.rows[vreg.index()].start as usize
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
