//! Verdicts as text.
//!
//! ```text
//! uniformity of kernel: 3 of 9 registers, 1 of 2 branches uniform
//! uniform: %r1 %rd2
//! divergent: %r3 %p1
//! bix0: line 14, bra, divergent
//! bix2: line 20, bra, uniform
//! bix1 is executed by some
//! ```
//! Registers stand in the order of their first use. Branches are those with several ways: guarded ways out of the straight
//! line, and branches through tables. A block that is executed by some is one that living threads of the warp may pass by
//! while others execute it; where nothing is said, all of them do.

use super::Uniformity;
use crate::dataflow::print::{Lines, register};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use std::fmt::{self, Display, Formatter, Write};

/// How much of a function is uniform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Registers that are named, the uniform ones among them.
    pub registers: [usize; 2],
    /// Branches with several ways, the uniform ones among them.
    pub branches: [usize; 2],
    /// Whether an irreducible region, or joins too many to list or to find, made everything that merges divergent.
    pub is_tangled: bool,
}

impl Display for Counts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ([registers, uniform], [branches, alike]) = (self.registers, self.branches);
        write!(f, "{uniform} of {registers} registers, {alike} of {branches} branches uniform")?;
        if self.is_tangled { f.write_str(", tangled control flow") } else { Ok(()) }
    }
}

/// The branches of a function that have several ways.
pub fn branches<'a>(
    function: &FunctionView<'a>,
    forms: &'a FormTable,
) -> impl Iterator<Item = InstId> + use<'a> {
    let heads = function.heads;
    let has_ways = move |inst: &InstId| {
        let head = heads[inst.index()];
        head.is_live()
            && head.marks.contains(Marks::CONTROL)
            && (head.opcode.is_guarded() || forms.get(head.form).effects.contains(Effects::BRANCH_INDEXED))
    };
    (0..heads.len()).map(InstId::new).filter(has_ways)
}

/// Counts what is uniform in a function.
#[must_use]
pub fn count(function: &FunctionView<'_>, forms: &FormTable, verdicts: &Uniformity) -> Counts {
    let is_uniform = |vreg: &VRegId| verdicts.is_uniform(*vreg);
    let goes_alike = |inst: &InstId| verdicts.branch_is_uniform(function, *inst);
    Counts {
        registers: [function.vregs.len(), function.vreg_ids().filter(is_uniform).count()],
        branches: [branches(function, forms).count(), branches(function, forms).filter(goes_alike).count()],
        is_tangled: verdicts.is_tangled,
    }
}

/// Writes the verdicts of a function whose module is `text`.
pub fn write(
    function: &FunctionView<'_>,
    forms: &FormTable,
    (text, lines): (&[u8], &Lines),
    verdicts: &Uniformity,
    out: &mut String,
) {
    let name = String::from_utf8_lossy(&text[function.text.name.range()]);
    let counts = count(function, forms, verdicts);
    say(out, format_args!("uniformity of {name}: {counts}\n"));
    for (title, is_uniform) in [("uniform", true), ("divergent", false)] {
        out.push_str(title);
        out.push(':');
        for vreg in function.vreg_ids().filter(|&vreg| verdicts.is_uniform(vreg) == is_uniform) {
            say(out, format_args!(" {}", register(function, text, vreg)));
        }
        out.push('\n');
    }
    for inst in branches(function, forms) {
        let head = function.heads[inst.index()];
        let mnemonic = String::from_utf8_lossy(forms.mnemonic_text(head.form));
        let verdict = if verdicts.branch_is_uniform(function, inst) { "uniform" } else { "divergent" };
        say(
            out,
            format_args!("{:?}: line {}, {mnemonic}, {verdict}\n", head.block, lines.line(function, inst)),
        );
    }
    for block in function.block_ids().filter(|&block| !verdicts.is_executed_by_all(block)) {
        say(out, format_args!("{block:?} is executed by some\n"));
    }
}

fn say(out: &mut String, what: fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}
