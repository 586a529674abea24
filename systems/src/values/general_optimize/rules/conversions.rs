//! Conversions: what converts nothing.

use super::{Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, TypeKind};

pub(super) const RULES: &[Rule] = &[Rule {
    name: "convert-to-the-same",
    operations: &[Operation::Cvt],
    pattern: "cvt.T.U y -> y, where T and U are integers of one width",
    reason: "it converts nothing",
    guards: &[
        Guard { needs: "no .sat", without: "cvt.sat.u32.s32 %r2, %r1 is 0 where %r1 is negative" },
        Guard {
            needs: "registers as wide as the types",
            without: "cvt.u8.u8 %r2, %r1 clears the upper bits of %r1",
        },
    ],
    apply: convert_to_the_same,
}];

fn convert_to_the_same(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let description = walk.f.description_of(inst);
    let [Some(to), Some(from), ..] = description.types else { return None };
    let is_integer = |ty: PtxType| ty.kind() == TypeKind::Integer;
    let converts = to.bits() != from.bits() || !is_integer(to) || !is_integer(from);
    if converts || description.qualifiers != Qualifiers::default() {
        return None;
    }
    let &[_, source] = walk.f.operands_of(inst) else { return None };
    let result = walk.only_result(inst)?;
    let is_whole = |vreg: VRegId| walk.width(vreg) == to.bits();
    let is_copy = is_whole(result) && source == plain(source) && source.vreg().is_some_and(is_whole);
    is_copy.then(|| walk.move_of(inst, result, source))?
}
