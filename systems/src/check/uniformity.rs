//! Uniformity: verdicts follow from those of operands, and stand on the rows.
//!
//! Fast, where [`Fact::Uniformity`] holds. One pass over the instructions.
//!
//! - A register that some reachable instruction writes with a divergent value is divergent, wherever the instruction
//!   stands: what joins and loops add is left to `uniformity_full`. So is one that something outside writes.
//! - A guarded way out of the straight line, or a branch through a table, is divergent where its predicate or index is.
//! - The flags of registers and the marks of instructions say the same as the verdicts.

use super::{Verdict, each_function, wrong_at};
use bevy_ecs::prelude::*;
use ptxopt_components::ids::Id;
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::uniformity::natures::{Natures, Private, Situation, results};
use ptxopt_engine::dataflow::uniformity::{Uniformities, Uniformity};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;

/// The verifier of verdicts.
pub const CHECK: Check = Check {
    name: "uniformity",
    from: Verify::Fast,
    install: |slot| {
        slot.init_resource::<Uniformities>();
        slot.add(run);
    },
};

/// Verifies every function of the batch for which the fact holds.
pub fn run(
    code: Code,
    codes: CodeObjects,
    forms: Res<FormTable>,
    verdicts: Res<Uniformities>,
    mut natures: Local<Natures>,
    mut violations: ResMut<Violations>,
) {
    let (_, facts, ..) = codes.columns();
    natures.bring_up_to_date(&forms);
    each_function(&code, CHECK.name, &mut violations, |function| {
        if !facts[function.code.index()].holds(Fact::Uniformity, &function.state) {
            return Ok(());
        }
        match verdicts.get(function.code) {
            Some(verdicts) => {
                verify(function, &forms, &natures, verdicts)?;
                verify_rows(function, verdicts)
            }
            None => Err("it has no verdicts".to_owned()),
        }
    });
}

/// Verifies that the verdicts of a function follow from one another.
pub fn verify(
    function: &FunctionView<'_>,
    forms: &FormTable,
    natures: &Natures,
    verdicts: &Uniformity,
) -> Verdict {
    let mut private = Private::default();
    private.compute(function, natures);
    let best = Situation { is_together: true, meets_in_order: true, meets_unguarded: true };
    for vreg in function.vreg_ids().filter(|&vreg| verdicts.is_uniform(vreg)) {
        if function.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START) {
            return Err(format!("{vreg:?} is written outside, and is called uniform"));
        }
    }
    let reachable = function.block_ids().filter(|block| function.orders[block.index()].is_reachable());
    for inst in reachable.flat_map(|block| function.insts_of(block)) {
        let head = function.heads[inst.index()];
        let operands = function.operands_of(inst);
        if head.marks.contains(Marks::CONTROL) {
            let mut named = operands.iter().filter_map(|operand| operand.vreg());
            if verdicts.branch_is_uniform(function, inst) && named.any(|vreg| !verdicts.is_uniform(vreg)) {
                return wrong_at(
                    head.block,
                    inst.index(),
                    "it asks a divergent register, and is called uniform",
                );
            }
            continue;
        }
        let diverges = |vreg| !verdicts.is_uniform(vreg);
        let found = results(function, forms, natures.of(function, inst), &private, best, inst, diverges);
        for (at, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_definition()) {
            if let Some(vreg) = operand.vreg().filter(|&vreg| found.of(at) && verdicts.is_uniform(vreg)) {
                return wrong_at(
                    head.block,
                    inst.index(),
                    format_args!("{vreg:?} gets a divergent value, and is called uniform"),
                );
            }
        }
    }
    Ok(())
}

/// Verifies that rows say what the verdicts say.
fn verify_rows(function: &FunctionView<'_>, verdicts: &Uniformity) -> Verdict {
    for vreg in function.vreg_ids() {
        let is_uniform = function.vregs[vreg.index()].flags.contains(VRegFlags::UNIFORM);
        if is_uniform != verdicts.is_uniform(vreg) {
            return Err(format!("{vreg:?}: UNIFORM is {is_uniform}, against the verdict"));
        }
    }
    let is_control = |head: &InstHead| head.marks.contains(Marks::CONTROL);
    for (at, head) in function.heads.iter().enumerate().filter(|(_, head)| head.is_live() && is_control(head))
    {
        let is_uniform = head.marks.contains(Marks::UNIFORM);
        if is_uniform != verdicts.block_goes_alike(head.block) {
            return wrong_at(
                head.block,
                at,
                format_args!("Marks(UNIFORM) is {is_uniform}, against the verdict"),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, labelled, verdicts};
    use crate::check::uniformity_full;

    const LOOP: &str = ".reg .b32 %r<9>; .reg .pred %p<9>; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; \
        L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; setp.lt.u32 %p2, %r2, %r1; @%p1 bra L; M: \
        st.global.u32 [g], %r2; ret;";

    fn natures(built: &Built) -> Natures {
        let mut natures = Natures::default();
        natures.bring_up_to_date(&built.forms);
        natures
    }

    #[test]
    fn the_unbroken_verdicts_pass() {
        let built = labelled(LOOP);
        let (nest, set, verdicts) = verdicts(&built);
        assert!(verdicts.is_uniform(built.vreg("%r", 2)) && !verdicts.is_uniform(built.vreg("%p", 2)));
        let natures = natures(&built);
        assert_eq!(verify(&built.function(), &built.forms, &natures, &verdicts), Ok(()));
        let full = uniformity_full::verify(&built.function(), &built.forms, &natures, &nest, &set, &verdicts);
        assert_eq!(full, Ok(()));
    }

    #[test]
    fn a_source_and_what_follows_from_it_are_divergent() {
        let built = labelled(LOOP);
        for (prefix, number) in [("%r", 1), ("%p", 2)] {
            let (.., mut verdicts) = verdicts(&built);
            verdicts.damage(built.vreg(prefix, number), true);
            let found = verify(&built.function(), &built.forms, &natures(&built), &verdicts).unwrap_err();
            assert!(found.contains("gets a divergent value"), "{found}");
        }
    }

    #[test]
    fn caution_is_no_mistake() {
        let built = labelled(LOOP);
        let (nest, set, mut verdicts) = verdicts(&built);
        verdicts.damage(built.vreg("%p", 2), false);
        let natures = natures(&built);
        let full = uniformity_full::verify(&built.function(), &built.forms, &natures, &nest, &set, &verdicts);
        assert_eq!((full, verify(&built.function(), &built.forms, &natures, &verdicts)), (Ok(()), Ok(())));
    }

    #[test]
    fn what_joins_and_loops_make_divergent_is_seen_by_the_full_verifier() {
        // %r2 is chosen by %p1; %r4 is as old as the round in which a thread leaves.
        let built = labelled(
            ".reg .b32 %r<9>; .reg .pred %p<9>; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; mov.u32 %r2, 1; \
             @%p1 bra J; A: mov.u32 %r2, 2; J: st.global.u32 [g], %r2; mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; \
             setp.lt.u32 %p2, %r4, %r1; @%p2 bra L; X: st.global.u32 [g], %r4; ret;",
        );
        for number in [2, 4] {
            let (nest, set, mut verdicts) = verdicts(&built);
            let vreg = built.vreg("%r", number);
            assert!(!verdicts.is_uniform(vreg));
            verdicts.damage(vreg, true);
            let natures = natures(&built);
            assert_eq!(verify(&built.function(), &built.forms, &natures, &verdicts), Ok(()));
            let full =
                uniformity_full::verify(&built.function(), &built.forms, &natures, &nest, &set, &verdicts);
            assert_eq!(full, Err(format!("{vreg:?} is divergent, and is called uniform")));
        }
    }
}
