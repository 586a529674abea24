//! Sweep: makes rows dense again, without tombstones.
//!
//! Source phase  76, 125, 128, 132, 150, 154 (UpdateAfter...)
//! Reads         CodeObjects, Blocks
//! Writes        rows
//! Needs         nothing
//! Leaves        no tombstone and no chained block in any function
//! Breaks        instruction ids: def-use, definitions
//! Cost          nothing for functions without tombstones and chains, otherwise one pass over their rows
//! Checked by    check/rows.rs
//!
//! The removal itself is the engine's ([`ptxopt_engine::edit::compact`]). Between sweeps a deleted instruction is a row
//! that everyone skips, which costs half a nanosecond where moving the rows costs six; the engine sweeps by itself where a
//! quarter of a function's rows is dead.

use bevy_ecs::prelude::*;
use ptxopt_engine::edit::Editor;
use ptxopt_engine::edit::compact::CompactScratch;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;

/// The sweep.
pub const PHASE: Phase = Phase {
    name: "sweep",
    breaks: &[Fact::DefUse, Fact::Definitions],
    layout_only: true,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Sweeps every function.
pub fn run(mut editor: Editor, mut scratch: Local<CompactScratch>) {
    editor.compact(|_| true, &mut scratch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::run;
    use ptxopt_components::code_object::CodeFlags;
    use ptxopt_components::ids::InstId;
    use ptxopt_engine::run::log::Dumps;
    use ptxopt_engine::store::columns::Code;

    /// Deletes the first instruction of each function, and moves the third before the second.
    static CHANGES: Phase = Phase {
        name: "changes",
        breaks: &Fact::ALL,
        room_percent: 100,
        install: |slot| slot.add(change),
        ..Phase::NOTHING
    };

    fn change(mut editor: Editor) {
        editor.each(CodeFlags::empty(), |mut f| {
            let mut change = f.change(InstId(0), "changed").expect("there is fuel");
            change.delete(InstId(0));
            change.move_before(InstId(2), InstId(1));
        });
    }

    /// Dumps which rows hold live instructions, and then whether they may be out of order.
    static LOOKS: Phase = Phase { name: "looks", install: |slot| slot.add(look), ..Phase::NOTHING };

    fn look(code: Code, mut dumps: ResMut<Dumps>) {
        for function in code.view().functions() {
            dumps.text.extend(function.heads.iter().map(|head| u8::from(head.is_live())));
            dumps.text.push(if function.state.flags.contains(CodeFlags::OUT_OF_ORDER) { b'?' } else { b'.' });
        }
    }

    #[test]
    fn rows_are_dense_and_in_order_after_it() {
        let text = b".version 8.0\n.target sm_90\n.global .u32 g;\n.entry k() { .reg .b32 %r<3>; \
            mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r1, 3; ret; }\n";
        let output = run(text, &[&CHANGES, &LOOKS, &PHASE, &LOOKS]);
        assert_eq!(output.functions[0].undone, []);
        let (before, after) = output.dumps.split_at(output.dumps.len() - 4);
        assert!(before.contains(&0) && before.ends_with(b"?"), "{before:?}");
        assert_eq!(after, [1, 1, 1, b'.']);
    }
}
