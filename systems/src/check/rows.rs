//! Rows: the tables of a function are dense, in order, and name nothing that does not exist.
//!
//! Fast. One pass over blocks, instruction heads and anchors, and one over operands where the [first look](super::first_look)
//! does not settle them.
//!
//! - The functions of a batch follow one another in every column and pool, with their room between them.
//! - Each live row lies in one block, and names it; a row that lies in none is a tombstone. Chains are rings of as many rows
//!   as their block says. Where the rows are not in program order, OUT_OF_ORDER is set.
//! - A block that is DEAD holds only tombstones; where there are tombstones, HAS_TOMBSTONES is set, so that the next
//!   sweep does not pass the function by. As many instructions are alive as the function's state says.
//! - The entry is alive and has no predecessor.
//! - Operands of live instructions name registers, blocks, literals, names, tables and special registers that exist,
//!   and say "predicate" where the register is one.
//! - A branch leads to a block that is alive and has a label.
//! - Anchors are sorted by block and place, and lie in their block.
//! - No two labels, tables or variables of a function are written with one name.
//!
//! Tombstones are not looked at: nothing reads them, and commits do not keep their block ids.

use super::first_look::{FirstLook, Passed};
use super::{Verdict, each_function, each_inst, wrong_at, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::anchor::Anchor;
use ptxopt_components::block::{BlockFlags, BlockHead};
use ptxopt_components::code_object::{CodeFlags, CodeSpans};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, NameId, Span, VRegId};
use ptxopt_components::instruction::{InstOperands, OPERANDS_INLINE};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::special_registers::SPECIAL_REGISTERS;
use ptxopt_components::types::RegClass;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::{CodeView, FunctionView};

/// The verifier of rows.
pub const CHECK: Check = Check {
    name: "rows",
    from: Verify::Fast,
    install: |slot| {
        slot.init_resource::<Passed>();
        slot.add(run);
    },
};

/// Verifies every function of the batch. Where the spans of the batch are wrong, every function is.
pub fn run(
    code: Code,
    forms: Res<FormTable>,
    mut passed: ResMut<Passed>,
    mut scratch: Local<(SeenNames, FirstLook)>,
    mut violations: ResMut<Violations>,
) {
    let view = code.view();
    passed.start(view.code_spans.len());
    if let Err(what) = verify_spans(&view) {
        let codes = (0..view.code_spans.len()).map(CodeId::new);
        violations.all.extend(codes.map(|code| (code, CHECK.name, what.clone())));
        return;
    }
    let (seen, first_look) = &mut *scratch;
    first_look.bring_up_to_date(&forms);
    each_function(&code, CHECK.name, &mut violations, |function| {
        verify_blocks(function)?;
        if first_look.passes(function, &forms, true) {
            passed.pass(function.code);
        } else {
            verify_all_operands(function)?;
        }
        verify_anchors(function)?;
        verify_names(function, seen)
    });
}

/// Verifies that the functions of a batch tile its columns and pools.
pub fn verify_spans(view: &CodeView<'_>) -> Verdict {
    type Column = (&'static str, fn(&CodeSpans) -> (Span, u32));
    const COLUMNS: [Column; 5] = [
        ("instruction", |spans| (spans.insts, spans.room.insts)),
        ("block", |spans| (spans.blocks, spans.room.blocks)),
        ("register", |spans| (spans.vregs, spans.room.vregs)),
        ("variable", |spans| (spans.decls, 0)),
        ("table", |spans| (spans.tables, 0)),
    ];
    let pools = view.pools;
    let lengths = [
        view.inst_heads.len(),
        view.block_heads.len(),
        view.vreg_heads.len(),
        pools.decls.len(),
        pools.tables.len(),
    ];
    for ((name, span_of), length) in COLUMNS.into_iter().zip(lengths) {
        let mut next = 0;
        for (code, spans) in view.code_spans.iter().enumerate() {
            let (span, room) = span_of(spans);
            if span.first as usize != next {
                return Err(format!("code{code}: its {name} rows start at {}, not at {next}", span.first));
            }
            next = span.end() + room as usize;
        }
        if next != length {
            return Err(format!("{length} {name} rows, and the functions have {next}"));
        }
    }
    // Anchors of blocks that died are gone, and leave a gap.
    let mut next = 0;
    for (code, spans) in view.code_spans.iter().enumerate() {
        if (spans.anchors.first as usize) < next || spans.anchors.end() > pools.anchors.len() {
            return Err(format!("code{code}: its anchors are not its own"));
        }
        next = spans.anchors.end();
    }
    Ok(())
}

/// By name: the function in which it was seen last, counted from 1.
#[derive(Default)]
pub struct SeenNames {
    stamps: Vec<u32>,
    stamp: u32,
}

impl SeenNames {
    fn start_function(&mut self, name_count: usize) {
        self.stamps.resize(self.stamps.len().max(name_count), 0);
        self.stamp += 1;
    }

    fn is_new(&mut self, name: NameId) -> bool {
        std::mem::replace(&mut self.stamps[name.index()], self.stamp) != self.stamp
    }
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, seen: &mut SeenNames) -> Verdict {
    verify_blocks(function)?;
    verify_all_operands(function)?;
    verify_anchors(function)?;
    verify_names(function, seen)
}

/// Verifies what the operands of all instructions name.
pub(super) fn verify_all_operands(function: &FunctionView<'_>) -> Verdict {
    each_inst(function, |inst| verify_operands(function, inst))
}

pub(super) fn verify_blocks(function: &FunctionView<'_>) -> Verdict {
    let entry = BlockId(0);
    let Some(first) = function.blocks.first() else { return Err("no block".to_owned()) };
    if first.flags.contains(BlockFlags::DEAD) {
        return wrong_in(entry, "the entry is dead");
    }
    if !function.edges[0].preds.is_empty() {
        return wrong_in(entry, "the entry has a predecessor");
    }
    let announces_tombstones = function.state.flags.contains(CodeFlags::HAS_TOMBSTONES);
    let may_be_out_of_order = function.state.flags.contains(CodeFlags::OUT_OF_ORDER);
    let (mut next, mut live) = (0, 0);
    for (block, row) in function.block_ids().zip(function.blocks) {
        let is_dead = row.flags.contains(BlockFlags::DEAD);
        if is_dead && !announces_tombstones {
            return wrong_in(block, "it is dead, and HAS_TOMBSTONES is not set");
        }
        let is_chained = row.flags.contains(BlockFlags::CHAINED);
        if is_chained {
            verify_ring(function, block, row)?;
        } else if row.insts.end() > function.heads.len() {
            return wrong_in(block, format_args!("its rows end at i{}, past the last", row.insts.end()));
        }
        let is_in_order = !is_chained && (row.insts.is_empty() || row.insts.first as usize >= next);
        if !is_in_order && !may_be_out_of_order {
            return wrong_in(block, "its rows are not in program order, and OUT_OF_ORDER is not set");
        }
        next = next.max(row.insts.end());
        for inst in function.all_rows_of(block) {
            verify_row(function, block, inst, is_dead, announces_tombstones)
                .or_else(|what| wrong_at(block, inst.index(), what))?;
            live += usize::from(function.heads[inst.index()].is_live());
        }
    }
    // Each live row was seen in the block that it names, so it was seen once.
    let alive = function.live_inst_count();
    if live != alive {
        return Err(format!("{alive} instruction rows are live, and the blocks have {live}"));
    }
    if alive != function.state.live_insts as usize {
        return Err(format!("{alive} instruction rows are live, not {}", function.state.live_insts));
    }
    Ok(())
}

/// Verifies that a row of a block may be there as it is.
fn verify_row(
    function: &FunctionView<'_>,
    block: BlockId,
    inst: InstId,
    is_dead: bool,
    announces_tombstones: bool,
) -> Verdict {
    let head = &function.heads[inst.index()];
    if head.block != block {
        Err(format!("its row says that it lies in {:?}", head.block))
    } else if is_dead && head.is_live() {
        Err("it is live in a dead block".to_owned())
    } else if !head.is_live() && !announces_tombstones {
        Err("it is a tombstone, and HAS_TOMBSTONES is not set".to_owned())
    } else if head.is_live() && !has_operands(function, inst) {
        Err(format!("its {} operands are not in the operand pool", head.operand_count))
    } else {
        Ok(())
    }
}

/// Verifies the ring of a chained block.
fn verify_ring(function: &FunctionView<'_>, block: BlockId, row: &BlockHead) -> Verdict {
    let mut at = row.insts.first as usize;
    for _ in 0..row.insts.len() {
        let Some(links) = function.links.get(at) else {
            return wrong_at(block, at, "its chain leads past the rows");
        };
        let back = function.links.get(links.next.index()).map(|next| next.prev.index());
        if back != Some(at) {
            return wrong_at(block, at, "its chain is not the same backward");
        }
        at = links.next.index();
    }
    if !row.insts.is_empty() && at != row.insts.first as usize {
        return wrong_in(block, format_args!("its chain has more than {} rows", row.insts.len()));
    }
    Ok(())
}

/// The span in the operand pool of a row whose operands do not fit it.
fn pool_span(operands: &InstOperands) -> Option<Span> {
    let [first, ..] = operands.get(OPERANDS_INLINE as u16, &[]) else { return None };
    let span = Span { first: first.word(), count: first.modifiers() };
    // A row that holds operands instead is not what the span makes.
    (InstOperands::pooled(span) == *operands).then_some(span)
}

/// Whether the operands of an instruction lie in its row or in the operand pool.
#[inline]
fn has_operands(function: &FunctionView<'_>, inst: InstId) -> bool {
    let count = function.heads[inst.index()].operand_count as usize;
    let is_in_pool = |span: Span| span.len() == count && span.end() <= function.pools.operands.len();
    count <= OPERANDS_INLINE || pool_span(&function.operands[inst.index()]).is_some_and(is_in_pool)
}

/// Verifies what the operands of an instruction name, which are known to exist.
pub(super) fn verify_operands(function: &FunctionView<'_>, inst: InstId) -> Verdict {
    let is_phi = function.heads[inst.index()].is_phi();
    for operand in function.operands_of(inst) {
        verify_ids(function, *operand)?;
        if let Some(block) = operand.as_block().filter(|_| !is_phi) {
            verify_target(function, block)?;
        }
    }
    Ok(())
}

fn verify_ids(function: &FunctionView<'_>, operand: Operand) -> Verdict {
    let pools = function.pools;
    let in_range = |id: usize, length: usize| {
        if id < length { Ok(()) } else { Err(format!("{operand:?} does not exist: there are {length}")) }
    };
    match operand.kind() {
        OperandKind::Register { vreg, .. } => verify_vreg(function, operand, vreg, false)?,
        OperandKind::Predicate { vreg, .. } => verify_vreg(function, operand, vreg, true)?,
        OperandKind::Block(block) => in_range(block.index(), function.blocks.len())?,
        OperandKind::Literal(literal) | OperandKind::Text(literal) => {
            in_range(literal.index(), pools.literals.len())?;
        }
        OperandKind::Symbol(name) => in_range(name.index(), pools.names.len())?,
        OperandKind::Special(row) => in_range(row as usize, SPECIAL_REGISTERS.len())?,
        OperandKind::Table(table) => in_range(table.index(), function.tables.len())?,
        OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Sink => {}
    }
    operand.wide_offset().map_or(Ok(()), |literal| in_range(literal.index(), pools.literals.len()))
}

/// Verifies that the register of an operand exists, and is a predicate where the operand says so.
fn verify_vreg(function: &FunctionView<'_>, operand: Operand, vreg: VRegId, is_predicate: bool) -> Verdict {
    let Some(row) = function.vregs.get(vreg.index()) else {
        return Err(format!("{operand:?} does not exist: there are {}", function.vregs.len()));
    };
    if is_predicate != matches!(row.class(), RegClass::P | RegClass::Up) {
        return Err(format!("{operand:?} is a register of class {:?}", row.class()));
    }
    Ok(())
}

/// Verifies that control may be sent to `block`.
pub(super) fn verify_target(function: &FunctionView<'_>, block: BlockId) -> Verdict {
    if function.blocks[block.index()].flags.contains(BlockFlags::DEAD) {
        return Err(format!("its target {block:?} is dead"));
    }
    if function.labels[block.index()].name.is_none() {
        return Err(format!("its target {block:?} has no label"));
    }
    Ok(())
}

pub(super) fn verify_anchors(function: &FunctionView<'_>) -> Verdict {
    let mut anchors = function.anchors.iter().enumerate().peekable();
    for (block, head) in function.block_ids().zip(function.blocks) {
        if anchors.peek().is_none_or(|(_, anchor)| anchor.block != block) {
            continue;
        }
        while anchors.next_if(|(_, anchor)| anchor.block == block && anchor.is_of_block()).is_some() {}
        let stands = |anchor: &Anchor| anchor.block == block && !anchor.is_of_block();
        for inst in function.all_rows_of(block) {
            while anchors.next_if(|(_, anchor)| stands(anchor) && anchor.before == inst).is_some() {}
        }
        let is_end = |before: InstId| {
            before == Anchor::END
                || (!head.flags.contains(BlockFlags::CHAINED) && before.index() == head.insts.end())
        };
        while anchors.next_if(|(_, anchor)| stands(anchor) && is_end(anchor.before)).is_some() {}
    }
    match anchors.next() {
        None => Ok(()),
        Some((at, anchor)) => {
            let what = format_args!("anchor {at} is out of order, or outside its block");
            wrong_at(anchor.block, anchor.before.index(), what)
        }
    }
}

pub(super) fn verify_names(function: &FunctionView<'_>, seen: &mut SeenNames) -> Verdict {
    seen.start_function(function.pools.names.len());
    for (block, label) in function.block_ids().zip(function.labels) {
        if let Some(name) = label.name.get()
            && !seen.is_new(name)
        {
            return wrong_in(block, format_args!("its label {name:?} is another block's too"));
        }
    }
    for (at, table) in function.tables.iter().enumerate() {
        if !seen.is_new(table.name) {
            return Err(format!("table {at}: its name {:?} is written twice", table.name));
        }
    }
    for (at, decl) in function.decls.iter().enumerate() {
        if !seen.is_new(decl.name) {
            return Err(format!("variable {at}: its name {:?} is written twice", decl.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel};
    use ptxopt_components::anchor::AnchorKind;
    use ptxopt_components::block::BlockLabel;
    use ptxopt_components::ids::{LiteralId, Maybe, TableId};
    use ptxopt_components::instruction::{InstLinks, Marks};

    /// Three blocks: 0 with i0 to i3, 1 (`L`) with i4 and i5, 2 (`M`) with i6.
    fn built() -> Built {
        kernel(
            ".reg .b32 %r<9>; .reg .pred %p<2>; .shared .u32 s; .loc 1 1 1\n mov.u32 %r1, 1; setp.eq.s32 %p1, %r1, 0; \
             mad.lo.s32 %r2, %r1, %r1, %r1; @%p1 bra M; L: add.s32 %r2, %r1, %r1; .loc 1 2 1\n bra L; M: ret;",
        )
    }

    fn verdict(built: &Built) -> Verdict {
        verify_spans(&built.tables.view()).and_then(|()| verify(&built.function(), &mut SeenNames::default()))
    }

    /// Breaks the function with `damage` and sees that the verdict holds `message`.
    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&mut Built)) {
        let mut built = built();
        damage(&mut built);
        let found = verdict(&built).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    /// Replaces an operand of an instruction.
    fn replace(built: &mut Built, inst: usize, slot: usize, operand: Operand) {
        let count = built.tables.inst_heads[inst].operand_count;
        built.tables.inst_operands[inst].get_mut(count, &mut built.tables.pools.operands)[slot] = operand;
    }

    #[test]
    fn the_unbroken_function_passes() {
        assert_eq!(verdict(&built()), Ok(()));
    }

    #[test]
    fn functions_tile_the_batch() {
        reports("instruction rows start at", |built| built.tables.code_spans[0].insts.first = 1);
        reports("block rows, and the functions have", |built| built.tables.code_spans[0].blocks.count -= 1);
        reports("its anchors are not its own", |built| built.tables.code_spans[0].anchors.count += 1);
    }

    #[test]
    fn live_rows_lie_in_the_block_that_they_name() {
        reports("7 instruction rows are live, and the blocks have 6", |built| {
            built.tables.block_heads[1].insts.first = 5;
            built.tables.block_heads[1].insts.count = 1;
        });
        reports("bix1 i3: its row says that it lies in bix0", |built| {
            built.tables.block_heads[1].insts.first = 3;
            built.tables.code_states[0].flags |= CodeFlags::OUT_OF_ORDER;
        });
        reports("bix1: its rows are not in program order", |built| {
            built.tables.block_heads[1].insts.first = 3;
        });
        reports("bix2: its rows end at i9, past the last", |built| {
            built.tables.block_heads[2].insts.count = 3
        });
        reports("bix1 i5: its row says that it lies in bix2", |built| {
            built.tables.inst_heads[5].block = BlockId(2);
        });
        reports("7 instruction rows are live, not 8", |built| built.tables.code_states[0].live_insts = 8);
    }

    /// Chains block 1: i4 and i5.
    fn chained(built: &mut Built) {
        built.tables.make_room(0);
        built.tables.block_heads[1].flags |= BlockFlags::CHAINED;
        for (inst, other) in [(4, 5), (5, 4)] {
            built.tables.inst_links[inst] = InstLinks { prev: InstId(other), next: InstId(other) };
        }
        built.tables.code_states[0].flags |= CodeFlags::OUT_OF_ORDER;
    }

    #[test]
    fn chains_are_rings() {
        let mut whole = built();
        chained(&mut whole);
        assert_eq!(verdict(&whole), Ok(()));
        let breaks = |message: &str, damage: fn(&mut Built)| {
            reports(message, |built| {
                chained(built);
                damage(built);
            });
        };
        breaks("bix1 i5: its chain is not the same backward", |built| {
            built.tables.inst_links[5].next = InstId(6);
        });
        breaks("bix1: its chain has more than 1 rows", |built| built.tables.block_heads[1].insts.count = 1);
        breaks("its chain leads past the rows", |built| built.tables.block_heads[1].insts.first = 99);
        breaks("and OUT_OF_ORDER is not set", |built| {
            built.tables.code_states[0].flags -= CodeFlags::OUT_OF_ORDER;
        });
    }

    #[test]
    fn a_dead_block_holds_tombstones_that_are_announced() {
        reports("bix2 i6: it is live in a dead block", |built| {
            built.tables.block_heads[2].flags |= BlockFlags::DEAD;
            built.tables.code_states[0].flags |= CodeFlags::HAS_TOMBSTONES;
        });
        reports("bix2: it is dead, and HAS_TOMBSTONES is not set", |built| {
            built.tables.block_heads[2].flags |= BlockFlags::DEAD;
        });
        reports("bix0 i2: it is a tombstone", |built| built.tables.inst_heads[2].marks |= Marks::TOMBSTONE);
    }

    #[test]
    fn the_entry_is_alive_and_entered_by_nothing() {
        reports("bix0: the entry is dead", |built| built.tables.block_heads[0].flags |= BlockFlags::DEAD);
        reports("bix0: the entry has a predecessor", |built| {
            built.tables.block_edges[0].preds = built.tables.block_edges[1].preds;
        });
    }

    #[test]
    fn ids_exist() {
        reports("bix1 i4: Register { vreg: v99, minus: false } does not exist", |built| {
            replace(built, 4, 1, Operand::register(VRegId(99)))
        });
        for operand in [
            Operand::block(BlockId(99)),
            Operand::literal(LiteralId(99)),
            Operand::text(LiteralId(99)),
            Operand::symbol(NameId(9999)),
            Operand::special(9999),
            Operand::table(TableId(0)),
        ] {
            reports("does not exist", |built| replace(built, 4, 1, operand));
        }
        reports("does not exist", |built| {
            replace(built, 4, 1, Operand::register(VRegId(0)).with_wide_offset(LiteralId(9)));
        });
        let cut = |built: &mut Built| built.tables.inst_heads[4].operand_count = 9;
        reports("bix1 i4: its 9 operands are not in the operand pool", cut);
    }

    #[test]
    fn a_predicate_is_named_as_one() {
        let predicate = built().vreg("%p", 1);
        reports("is a register of class P", |built| replace(built, 4, 1, Operand::register(predicate)));
        let register = built().vreg("%r", 1);
        reports("is a register of class R", |built| {
            replace(built, 4, 1, Operand::predicate(register, false))
        });
    }

    #[test]
    fn branches_lead_to_labelled_blocks_that_live() {
        reports("bix1 i5: its target bix1 has no label", |built| {
            built.tables.block_labels[1].name = Maybe::NONE;
        });
        reports("bix0 i3: its target bix2 is dead", |built| {
            built.tables.block_heads[2].flags |= BlockFlags::DEAD;
            built.tables.inst_heads[6].marks |= Marks::TOMBSTONE;
            built.tables.code_states[0].live_insts -= 1;
            built.tables.code_states[0].flags |= CodeFlags::HAS_TOMBSTONES;
        });
    }

    #[test]
    fn anchors_are_in_order_and_in_their_block() {
        reports("bix0 i0: anchor 1 is out of order", |built| built.tables.pools.anchors.swap(0, 1));
        reports("bix1 i7: anchor 1 is out of order, or outside its block", |built| {
            built.tables.pools.anchors[1].before = InstId(7);
        });
        reports("outside its block", |built| built.tables.pools.anchors[1].block = BlockId(9));
        let mut at_the_end = built();
        at_the_end.tables.pools.anchors[1].before = Anchor::END;
        assert_eq!(verdict(&at_the_end), Ok(()));
        // A pragma of a block stands before what has a place there, and nowhere itself.
        let of_block = |built: &mut Built, at: usize| {
            let anchor = &mut built.tables.pools.anchors[at];
            (anchor.kind, anchor.before) = (AnchorKind::BlockPragma, InstId(9));
        };
        let mut first = built();
        of_block(&mut first, 0);
        assert_eq!(verdict(&first), Ok(()));
        reports("anchor 1 is out of order", |built| {
            built.tables.pools.anchors[1].block = BlockId(0);
            of_block(built, 1);
        });
    }

    #[test]
    fn names_are_written_once() {
        reports("bix2: its label", |built| {
            let name = built.tables.block_labels[1].name;
            built.tables.block_labels[2] = BlockLabel { name, offset: 0 };
        });
        reports("variable 0: its name", |built| {
            built.tables.pools.decls[0].name = built.tables.block_labels[1].name.get().unwrap();
        });
    }
}
