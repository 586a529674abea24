//! Liveness: the sets solve their equation.
//!
//! Fast, where [`Fact::Liveness`] holds. One backward walk over the instructions, and a pass over blocks and edges for
//! each strip of 512 registers: a set is compared in words, however it is kept, so that registers that live in many blocks
//! cost an eighth of a bit's look-up each.
//!
//! At every reachable block
//! ```text
//! live_out(b) = union of live_in(s) over successors s, and what phis read at the end of b
//! live_in(b)  = gens(b) | (live_out(b) - kills(b))
//! ```
//! with gens and kills worked out here, bottom-up: what an instruction defines leaves gens and enters kills, then what
//! it reads enters gens. A register that some block reads before defining it has a bit.
//!
//! That the sets are the smallest which solve the equation is left to `liveness_full`.

use super::{Verdict, each_function, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockOrder;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets, STRIP_BITS, Strip};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::{CodeFacts, Fact};
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;

/// The verifier of live sets.
pub const CHECK: Check = Check {
    name: "liveness",
    from: Verify::Fast,
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run);
    },
};

/// Verifies every function of the batch for which the fact holds.
pub fn run(
    code: Code,
    codes: CodeObjects,
    forms: Res<FormTable>,
    sets: Res<LiveSets>,
    mut scratch: Local<Scratch>,
    mut violations: ResMut<Violations>,
) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        let facts = &facts[function.code.index()];
        verify_where_held(function, facts, &forms, &sets, &mut scratch)
    });
}

/// Verifies one function, if the fact holds for it.
pub(super) fn verify_where_held(
    function: &FunctionView<'_>,
    facts: &CodeFacts,
    forms: &FormTable,
    sets: &LiveSets,
    scratch: &mut Scratch,
) -> Verdict {
    if !facts.holds(Fact::Liveness, &function.state) {
        return Ok(());
    }
    match sets.get(function.code) {
        Some(set) => verify(function, forms, set, scratch),
        None => Err("it has no live sets".to_owned()),
    }
}

/// What a block does to a live set.
#[derive(Default)]
pub struct Transfer {
    /// By register: whether the block reads it before it defines it.
    gens: Vec<bool>,
    /// By register: whether the block defines it for certain.
    kills: Vec<bool>,
    /// Registers whose bits were written, perhaps more than once.
    touched: Vec<VRegId>,
    /// Registers that something outside the function may read.
    outside: Vec<VRegId>,
}

impl Transfer {
    /// Makes ready for the blocks of `function`.
    pub fn start(&mut self, function: &FunctionView<'_>) {
        let Self { gens, kills, touched, outside } = self;
        touched.clear();
        for bits in [gens, kills] {
            bits.clear();
            bits.resize(function.vregs.len(), false);
        }
        let is_outside = |vreg: &VRegId| {
            function.vregs[vreg.index()].flags.intersects(VRegFlags::OUTPUT | VRegFlags::MODULE)
        };
        outside.clear();
        outside.extend(function.vreg_ids().filter(is_outside));
    }

    /// Works out what `block` does, bottom-up.
    pub fn compute(&mut self, function: &FunctionView<'_>, forms: &FormTable, block: BlockId) {
        for vreg in self.touched.drain(..) {
            self.gens[vreg.index()] = false;
            self.kills[vreg.index()] = false;
        }
        if function.succs(block).is_empty() {
            // Control leaves the function here: by the block's last instruction, or off the end.
            self.read_outside(function, VRegFlags::OUTPUT | VRegFlags::MODULE);
        }
        for inst in function.insts_of(block).rev() {
            let is_guarded = function.heads[inst.index()].opcode.is_guarded();
            let operands = function.operands_of(inst);
            let is_kill =
                |operand: &&Operand| operand.is_definition() && !operand.is_partial() && !is_guarded;
            for vreg in operands.iter().filter(is_kill).filter_map(|operand| operand.vreg()) {
                self.touched.push(vreg);
                self.gens[vreg.index()] = false;
                self.kills[vreg.index()] = true;
            }
            // A phi reads at the ends of the predecessors.
            let is_phi = function.heads[inst.index()].is_phi();
            let is_read = |operand: &&Operand| operand.is_use() && !is_phi;
            for vreg in operands.iter().filter(is_read).filter_map(|operand| operand.vreg()) {
                self.read(vreg);
            }
            if !self.outside.is_empty() {
                self.read_outside(function, read_without_naming(function, forms, inst));
            }
        }
    }

    /// The registers that the block reads before it defines them. One may come more than once.
    pub fn gens(&self) -> impl Iterator<Item = VRegId> + '_ {
        self.touched.iter().copied().filter(|vreg| self.gens[vreg.index()])
    }

    /// The registers that the block defines for certain. One may come more than once.
    pub fn kills(&self) -> impl Iterator<Item = VRegId> + '_ {
        self.touched.iter().copied().filter(|vreg| self.kills[vreg.index()])
    }

    fn read(&mut self, vreg: VRegId) {
        self.touched.push(vreg);
        self.gens[vreg.index()] = true;
    }

    fn read_outside(&mut self, function: &FunctionView<'_>, flags: VRegFlags) {
        for at in 0..self.outside.len() {
            let vreg = self.outside[at];
            if function.vregs[vreg.index()].flags.intersects(flags) {
                self.read(vreg);
            }
        }
    }
}

/// Which registers an instruction reads because control leaves the function.
fn read_without_naming(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> VRegFlags {
    let effects = forms.get(function.heads[inst.index()].form).effects;
    let leaves = Effects::RETURN | Effects::EXIT | Effects::CALL | Effects::UNKNOWN;
    let mut read = VRegFlags::empty();
    read.set(VRegFlags::OUTPUT, effects.contains(Effects::RETURN));
    read.set(VRegFlags::MODULE, effects.intersects(leaves));
    read
}

/// Verifies the sets of one function.
pub fn verify(
    function: &FunctionView<'_>,
    forms: &FormTable,
    set: &LiveSet,
    scratch: &mut Scratch,
) -> Verdict {
    verify_shape(function, set)?;
    let Scratch { transfer, steps, live_in, live_out } = scratch;
    collect_steps(function, forms, set, transfer, steps)?;
    let mut steps = steps.as_slice();
    for strip in 0..set.strip_count() {
        let count = steps.partition_point(|step| step.strip() == strip);
        let (own, others) = steps.split_at(count);
        steps = others;
        set.live_in_strip(strip, live_in);
        set.live_out_strip(strip, live_out);
        verify_strip(function, set, strip, own, live_in, live_out)?;
    }
    Ok(())
}

/// Memory that the verifier uses again.
#[derive(Default)]
pub struct Scratch {
    transfer: Transfer,
    steps: Vec<Step>,
    live_in: Vec<Strip>,
    live_out: Vec<Strip>,
}

/// What a block does to one bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    block: BlockId,
    /// Against the course of control: what is defined and read exposed is read.
    does: Does,
    bit: u32,
}

/// See [`Step`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    /// A phi of a successor reads the register at the block's end.
    ReadAtEnd,
    /// The block defines it for certain.
    Kill,
    /// The block reads it before it defines it.
    Gen,
}

/// The registers that phis read, with the blocks at whose ends they do.
pub(super) fn reads_at_ends<'a>(
    function: &FunctionView<'a>,
) -> impl Iterator<Item = (BlockId, VRegId)> + use<'a> {
    let phis = function.rows().filter(|(_, head, _)| head.is_phi());
    phis.flat_map(|(.., operands)| operands[1..].chunks_exact(2))
        .filter_map(|pair| Some((pair[0].as_block()?, pair[1].vreg()?)))
}

impl Step {
    fn strip(&self) -> usize {
        self.bit as usize / STRIP_BITS
    }
}

/// Lists what the reachable blocks do to bits, by strip and block.
fn collect_steps(
    function: &FunctionView<'_>,
    forms: &FormTable,
    set: &LiveSet,
    transfer: &mut Transfer,
    steps: &mut Vec<Step>,
) -> Verdict {
    steps.clear();
    transfer.start(function);
    for block in function.block_ids() {
        if function.orders[block.index()].rpo == BlockOrder::UNREACHABLE {
            continue;
        }
        transfer.compute(function, forms, block);
        let kills = transfer.kills().filter_map(|vreg| set.bit_of(vreg));
        steps.extend(kills.map(|bit| Step { block, does: Does::Kill, bit: bit as u32 }));
        for vreg in transfer.gens() {
            let Some(bit) = set.bit_of(vreg) else {
                return wrong_in(
                    block,
                    format_args!("{vreg:?} is read before it is defined, and has no bit"),
                );
            };
            steps.push(Step { block, does: Does::Gen, bit: bit as u32 });
        }
    }
    let in_blocks = steps.len();
    for (block, vreg) in reads_at_ends(function) {
        let Some(bit) = set.bit_of(vreg) else {
            return wrong_in(block, format_args!("a phi reads {vreg:?} at its end, and it has no bit"));
        };
        steps.push(Step { block, does: Does::ReadAtEnd, bit: bit as u32 });
    }
    if set.strip_count() > 1 || steps.len() > in_blocks {
        steps.sort_unstable_by_key(|step| (step.strip(), *step));
    }
    Ok(())
}

/// Verifies the equation for the bits of one strip, with plain words and no kernel that could be wrong on both sides.
fn verify_strip(
    function: &FunctionView<'_>,
    set: &LiveSet,
    strip: usize,
    steps: &[Step],
    live_in: &[Strip],
    live_out: &[Strip],
) -> Verdict {
    let mut steps = steps.iter().peekable();
    for block in function.block_ids() {
        if function.orders[block.index()].rpo == BlockOrder::UNREACHABLE {
            continue;
        }
        let mut wanted = Strip::default();
        for &succ in function.succs(block) {
            wanted.iter_mut().zip(&live_in[succ.index()]).for_each(|(wanted, of_succ)| *wanted |= of_succ);
        }
        let place = |step: &Step| (step.bit as usize % STRIP_BITS / 64, 1 << (step.bit % 64));
        while let Some(step) = steps.next_if(|step| (step.block, step.does) == (block, Does::ReadAtEnd)) {
            let (word, mask) = place(step);
            wanted[word] |= mask;
        }
        compare(set, strip, block, "out", &wanted, &live_out[block.index()])?;
        while let Some(step) = steps.next_if(|step| step.block == block) {
            let (word, mask) = place(step);
            if step.does == Does::Gen { wanted[word] |= mask } else { wanted[word] &= !mask }
        }
        compare(set, strip, block, "in", &wanted, &live_in[block.index()])?;
    }
    Ok(())
}

fn compare(set: &LiveSet, strip: usize, block: BlockId, side: &str, wanted: &Strip, has: &Strip) -> Verdict {
    let Some(word) = wanted.iter().zip(has).position(|(wanted, has)| wanted != has) else { return Ok(()) };
    let bit = (wanted[word] ^ has[word]).trailing_zeros() as usize;
    let vreg = set.globals().get(strip * STRIP_BITS + word * 64 + bit);
    let is_live = has[word] >> bit & 1 == 1;
    wrong_in(block, format_args!("live {side} has {vreg:?}: {is_live}, against the equation"))
}

/// Verifies that the sets are those of a function of this shape, and that each register has one bit at most.
fn verify_shape(function: &FunctionView<'_>, set: &LiveSet) -> Verdict {
    if set.block_count() != function.blocks.len() {
        return Err(format!("its sets have {} blocks, not {}", set.block_count(), function.blocks.len()));
    }
    let mut has_bit = vec![false; function.vregs.len()];
    for &vreg in set.globals() {
        if has_bit.get(vreg.index()).is_none_or(|&has_one| has_one) {
            return Err(format!("{vreg:?} has two bits, or does not exist"));
        }
        has_bit[vreg.index()] = true;
    }
    let differs = |vreg: &VRegId| set.bit_of(*vreg).is_some() != has_bit[vreg.index()];
    match function.vreg_ids().find(differs) {
        Some(vreg) => Err(format!("{vreg:?} has a bit in one direction only")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, analyzed, module, solved};

    /// %r1 lives from 0 into the loop 1, %r2 from 0 over 1 to 2; a guarded write of %r2 in 1 kills nothing.
    fn built() -> Built {
        analyzed(
            ".reg .b32 %r<9>; .reg .pred %p<2>; mov.b32 %r1, 1; mov.b32 %r2, 1; L: add.s32 %r1, %r1, 1; \
             setp.eq.s32 %p1, %r1, 9; mov.b32 %r3, 4; @%p1 mov.b32 %r2, %r3; @%p1 bra L; M: st.global.b32 [g], %r2; \
             ret; bra M;",
        )
    }

    fn verdict(built: &Built, set: &LiveSet) -> Verdict {
        verify(&built.function(), &built.forms, set, &mut Scratch::default())
    }

    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&Built, &mut LiveSet)) {
        let built = built();
        let mut set = solved(&built);
        damage(&built, &mut set);
        let found = verdict(&built, &set).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn the_unbroken_sets_pass() {
        let built = built();
        let set = solved(&built);
        assert!(
            set.is_live_out(BlockId(0), built.vreg("%r", 2))
                && set.is_live_in(BlockId(1), built.vreg("%r", 1))
        );
        assert_eq!(verdict(&built, &set), Ok(()));
    }

    #[test]
    fn a_missing_or_surplus_register_is_seen() {
        reports("bix1: live in has", |built, set| {
            let vreg = built.vreg("%r", 2);
            // Everywhere at once, so that only the block that reads it can tell.
            for block in 0..2 {
                set.damage(true, BlockId(block), vreg, false);
            }
            set.damage(false, BlockId(0), vreg, false);
        });
        reports("bix0: live out has", |built, set| {
            set.damage(false, BlockId(0), built.vreg("%r", 2), false);
        });
        reports("bix0: live in has", |built, set| {
            set.damage(true, BlockId(0), built.vreg("%r", 1), true);
        });
    }

    #[test]
    fn a_guarded_write_kills_nothing() {
        // What a solver that takes the guarded `mov` for a kill would make.
        reports("bix1: live in has Some", |built, set| {
            set.damage(true, BlockId(1), built.vreg("%r", 2), false);
            set.damage(false, BlockId(0), built.vreg("%r", 2), false);
        });
    }

    #[test]
    fn sets_are_those_of_the_function() {
        reports("its sets have 1 blocks, not 3", |_, set| *set = solved(&analyzed("ret;")));
    }

    #[test]
    fn results_and_module_registers_are_read_by_what_is_outside() {
        let mut built = module(
            ".version 3.0\n.target sm_20\n.reg .u32 m;\n.func (.reg .u32 rv) f () { .reg .pred p; mov.u32 rv, 1; \
             mov.u32 m, 1; @p bra L; mov.u32 rv, 2; L: ret; }"
                .to_owned(),
        );
        built.analyze();
        let set = solved(&built);
        assert!(set.globals().len() >= 2, "both live into the last block");
        assert_eq!(verdict(&built, &set), Ok(()));
    }

    #[test]
    fn a_call_and_a_guarded_return_read_what_is_outside() {
        for leaves in ["call g;", "@p ret;"] {
            let mut built = module(format!(
                ".version 3.0\n.target sm_20\n.reg .u32 m;\n.func g;\n.func f () {{ .reg .pred p; mov.u32 m, 1; \
                 @p bra L; L: {leaves} mov.u32 m, 2; ret; }}"
            ));
            built.analyze();
            let mut set = solved(&built);
            assert_eq!(verdict(&built, &set), Ok(()), "{leaves}");
            let is_m = |vreg: &VRegId| built.function().vregs[vreg.index()].flags.contains(VRegFlags::MODULE);
            let m = built.function().vreg_ids().find(is_m).expect("the function uses it");
            assert!(set.is_live_in(BlockId(1), m));
            set.damage(true, BlockId(1), m, false);
            assert!(verdict(&built, &set).is_err(), "{leaves}");
        }
    }

    #[test]
    fn the_register_is_named_in_any_strip() {
        let count = 3 * STRIP_BITS;
        let each = |line: &str| (0..count).map(|n| line.replace('#', &n.to_string())).collect::<String>();
        let (writes, reads) = (each("mov.b32 %r#, #; "), each("st.global.b32 [g], %r#; "));
        let built = analyzed(&format!(
            ".reg .b32 %r<{count}>; .reg .pred %p<2>; {writes} @%p1 bra L; L: {reads} ret; bra L;"
        ));
        for number in (0..count as u32).step_by(97) {
            let (mut set, vreg) = (solved(&built), built.vreg("%r", number));
            set.damage(false, BlockId(0), vreg, false);
            let found = verdict(&built, &set).expect_err("nothing was found");
            assert!(found.contains(&format!("live out has Some({vreg:?}): false")), "{found}");
        }
    }
}
