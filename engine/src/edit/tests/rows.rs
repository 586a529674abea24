//! Instructions, operands and registers.

use super::*;
use crate::edit::Change;
use crate::edit::compact::Wear;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::vreg::VRegFlags;

const BODY: &str = "mov.u32 %r1, 1; add.u32 %r2, %r1, %r1; st.global.u32 [%rd1], %r2; ret;";

/// `#,#,#`: three operands.
const THREE: &[u8] = b"#,#,#";

fn add(bench: &mut Bench) -> (FormId, [Operand; 3]) {
    let form = bench.form("add.u32", THREE);
    let (r1, r2) = (bench.vreg("%r", 1), bench.vreg("%r", 2));
    (form, [Operand::register(r2), Operand::register(r1), Operand::int(7)])
}

#[test]
fn an_insertion_is_visible_at_once_and_keeps_ids() {
    let mut bench = Bench::of(BODY);
    let (form, operands) = add(&mut bench);
    bench.analyze();
    let mut f = bench.edit();
    let store = nth(&f.view(), 2);
    let inserted = f.change(store, "test").unwrap().insert_before(store, form, &operands, None);
    let order: Vec<InstId> = f.view().insts_of(BlockId(0)).collect();
    assert_eq!(order, [InstId(0), InstId(1), inserted, InstId(2), InstId(3)]);
    assert!(f.view().operands_of(inserted)[0].is_definition(), "the form says so");
    drop(f);
    bench.assert_is_whole();
    assert_eq!(
        bench.code(),
        [
            "mov.u32 %r1, 1;",
            "add.u32 %r2, %r1, %r1;",
            "add.u32 %r2, %r1, 7;",
            "st.global.u32 [%rd1], %r2;",
            "ret;"
        ]
    );
    bench.compact();
    bench.assert_is_whole();
    assert_eq!(bench.view().insts_of(BlockId(0)).collect::<Vec<_>>(), (0..5).map(InstId).collect::<Vec<_>>());
    assert_eq!(bench.code()[2], "add.u32 %r2, %r1, 7;");
}

#[test]
fn the_first_and_the_last_place_of_a_block_take_instructions() {
    let mut bench = Bench::of("add.u32 %r2, %r1, 1; @%p1 bra L; L: ret;");
    let (form, operands) = add(&mut bench);
    let mut f = bench.edit();
    let first = nth(&f.view(), 0);
    let mut change = f.change(first, "test").unwrap();
    let before = change.insert_before(first, form, &operands, None);
    change.insert_before(before, form, &operands, None);
    change.insert_at_end(BlockId(1), form, &operands, None);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["add.u32 add.u32 add.u32 @bra -> 1 1", "L: ret add.u32 ->"]);
}

#[test]
fn a_moved_instruction_leaves_its_line_where_it_was() {
    let mut bench =
        Bench::of(".loc 1 1 0\nmov.u32 %r1, 1;\n.loc 1 2 0\nadd.u32 %r2, %r1, %r1;\n.loc 1 3 0\nret;");
    let mut f = bench.edit();
    let (mov, add) = (nth(&f.view(), 0), nth(&f.view(), 1));
    f.change(add, "test").unwrap().move_before(add, mov);
    drop(f);
    bench.assert_is_whole();
    let expected =
        ["add.u32 %r2, %r1, %r1;", ".loc 1 1 0", "mov.u32 %r1, 1;", ".loc 1 2 0", ".loc 1 3 0", "ret;"];
    // What stands before the place to which it moves belongs to the instruction there.
    let mut with_line = expected.to_vec();
    with_line.swap(0, 0);
    assert_eq!(bench.code(), with_line);
    bench.compact();
    bench.assert_is_whole();
    assert_eq!(bench.code(), with_line);
}

#[test]
fn an_instruction_moves_into_another_block() {
    let mut bench = Bench::of("mov.u32 %r1, 1; @%p1 bra L; add.u32 %r2, %r1, %r1; L: ret;");
    bench.analyze();
    let mut f = bench.edit();
    let (branch, add) = (nth(&f.view(), 1), nth(&f.view(), 2));
    f.change(add, "hoist").unwrap().move_before(add, branch);
    assert_eq!(f.view().heads[add.index()].block, BlockId(0));
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["mov.u32 add.u32 @bra -> 2 1", "-> 2", "L: ret ->"]);
    let mut f = bench.edit();
    f.change(add, "sink").unwrap().move_to_end(add, BlockId(1));
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.listing(), ["mov.u32 @bra -> 2 1", "add.u32 -> 2", "L: ret ->"]);
}

#[test]
fn operands_change_where_the_slot_takes_them() {
    let mut bench = Bench::of(BODY);
    let r2 = bench.vreg("%r", 2);
    bench.analyze();
    let mut f = bench.edit();
    let add = nth(&f.view(), 1);
    f.change(add, "test").unwrap().set_operand(add, 2, Operand::int(5));
    assert_eq!(f.def_use().uses(r2).count(), 1);
    f.change(add, "test").unwrap().set_operand(add, 1, Operand::register(r2));
    assert_eq!(f.def_use().uses(r2).count(), 2);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.code()[1], "add.u32 %r2, %r2, 5;");
}

#[test]
#[should_panic(expected = "takes no")]
fn an_address_takes_no_sink_for_a_result() {
    let mut bench = Bench::of(BODY);
    let mut f = bench.edit();
    let add = nth(&f.view(), 1);
    f.change(add, "test").unwrap().set_operand(add, 0, Operand::sink());
}

#[test]
fn uses_are_replaced_all_or_none() {
    let mut bench = Bench::of(
        "mov.u32 %r1, 1; add.u32 %r2, %r1, %r1; ld.global.u32 %r3, [%r1+4]; setp.eq.u32 %p1, %r1, 0; @%p1 ret; ret;",
    );
    let (r1, r4) = (bench.vreg("%r", 1), bench.vreg("%r", 3));
    bench.analyze();
    let mut f = bench.edit();
    let mov = nth(&f.view(), 0);
    let mut change = f.change(mov, "test").unwrap();
    assert!(
        !change.replace_uses(r1, Operand::int(9)),
        "an address with an offset takes no literal for its register"
    );
    assert!(change.replace_uses(r1, Operand::register(r4)));
    assert_eq!(f.def_use().use_count(r1), 0);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(
        bench.code()[1..4],
        ["add.u32 %r2, %r3, %r3;", "ld.global.u32 %r3, [%r3+4];", "setp.eq.u32 %p1, %r3, 0;"]
    );
}

#[test]
fn new_registers_are_declared_by_type_and_literals_keep_their_bits() {
    let mut bench = Bench::of(BODY);
    let form = bench.form("mov.f64", b"#,#");
    let wide = bench.form("mov.u64", b"#,#");
    bench.analyze();
    let mut f = bench.edit();
    let store = nth(&f.view(), 2);
    let mut change = f.change(store, "test").unwrap();
    let (a, b) = (change.new_vreg(PtxType::F64), change.new_vreg(PtxType::B64));
    let one = change.constant(1f64.to_bits(), PtxType::F64);
    let big = change.constant(u64::MAX - 1, PtxType::U64);
    let huge = change.constant(1 << 40, PtxType::S64);
    change.insert_before(store, form, &[Operand::register(a), one], None);
    change.insert_before(store, wide, &[Operand::register(b), big], None);
    change.insert_before(store, wide, &[Operand::register(b), huge], None);
    drop(f);
    bench.assert_is_whole();
    let written = bench.written();
    assert!(written.contains(&".reg .f64 %opt0f64_<1>;".to_owned()), "{written:?}");
    assert!(written.contains(&".reg .b64 %opt0b64_<2>;".to_owned()), "{written:?}");
    assert!(written.contains(&"mov.f64 %opt0f64_0, 0d3FF0000000000000;".to_owned()), "{written:?}");
    assert!(written.contains(&"mov.u64 %opt0b64_1, -2;".to_owned()), "{written:?}");
    assert!(written.contains(&"mov.u64 %opt0b64_1, 1099511627776;".to_owned()), "{written:?}");
}

#[test]
fn a_form_changes_with_its_operands_and_keeps_the_guard() {
    let mut bench = Bench::of("@!%p1 add.u32 %r2, %r1, %r1; ret;");
    let mov = bench.form("mov.u32", b"#,#");
    let (r1, r2) = (bench.vreg("%r", 1), bench.vreg("%r", 2));
    bench.analyze();
    let mut f = bench.edit();
    let add = nth(&f.view(), 0);
    f.change(add, "test").unwrap().set_form(add, mov, &[Operand::register(r2), Operand::register(r1)]);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.code()[0], "@!%p1 mov.u32 %r2, %r1;");
}

#[test]
fn fuel_counts_changes_and_not_calls() {
    let mut bench = Bench::of(BODY);
    bench.editor.fuel = Fuel::new(Some(2));
    let (form, operands) = add(&mut bench);
    let mut f = bench.edit();
    let store = nth(&f.view(), 2);
    for _ in 0..2 {
        let mut change = f.change(store, "test").unwrap();
        change.insert_before(store, form, &operands, None);
        change.insert_before(store, form, &operands, None);
    }
    assert!(f.change(store, "test").is_none());
    assert!(f.change_in_place(store, "test").is_none());
    drop(f);
    assert_eq!(bench.editor.fuel.taken(), 2);
    assert_eq!(bench.editor.remarks.all.len(), 2);
}

#[test]
fn what_is_deleted_together_is_counted_one_by_one() {
    let mut bench = Bench::of("mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; ret;");
    bench.editor.fuel = Fuel::new(Some(3));
    let mut f = bench.edit();
    let all: Vec<InstId> = (0..3).map(|number| nth(&f.view(), number)).collect();
    assert_eq!(f.delete_each(&[], "test"), 0);
    assert_eq!(f.delete_each(&all[..2], "test"), 2);
    // What is dead already costs nothing, and with the last fuel goes what is left.
    assert_eq!(f.delete_each(&all, "test"), 1);
    let ret = nth(&f.view(), 0);
    assert_eq!(f.delete_each(&[ret], "test"), 0);
    drop(f);
    bench.assert_is_whole();
    assert_eq!(bench.code(), ["ret;"]);
}

#[test]
fn an_editor_says_of_rows_what_a_view_says() {
    let mut bench =
        Bench::of("@%p1 add.u32 %r2, %r1, 1152921504606846976; ld.global.u32 %r3, [%rd1+4]; ret;");
    let f = bench.edit();
    let (view, forms) = f.view_and_forms();
    for (inst, head, operands) in view.rows() {
        assert_eq!((f.head(inst), f.operands_of(inst)), (*head, operands));
        let (form, slots) = (f.form_of(inst), f.slots_of(inst));
        assert!(std::ptr::eq(form, forms.get(head.form)));
        assert_eq!((f.description_of(inst), slots), (forms.describe(head.form), forms.slots(head.form)));
        assert_eq!(slots.len() + usize::from(head.opcode.is_guarded()), operands.len());
    }
    for vreg in view.vreg_ids() {
        assert_eq!(f.vreg(vreg), view.vregs[vreg.index()]);
    }
    assert_eq!(f.literals(), view.pools.literals);
}

#[test]
fn a_function_without_room_is_not_changed() {
    let mut bench = Bench::of(BODY);
    bench.tables.code_spans[0].room.insts = 7;
    let mut f = bench.edit();
    let store = nth(&f.view(), 2);
    assert!(f.change(store, "test").is_none());
    assert_eq!(f.stats().limits_hit, 1);
    assert!(f.change_in_place(store, "test").is_some());
    drop(f);
    assert_eq!(bench.editor.fuel.taken(), 1);
}

#[test]
fn undoing_brings_everything_back() {
    let mut bench = Bench::of(
        ".loc 1 1 0\nmov.u32 %r1, 1; @%p1 bra L; .loc 1 2 0\nadd.u32 %r2, %r1, %r1; \
         st.global.v4.u32 [%rd1], {%r1, %r2, %r1, %r2}; .loc 1 3 0\nL: @%p2 bra M; add.u32 %r3, %r2, 1; M: ret;",
    );
    bench.analyze();
    let before = (bench.written(), bench.listing());
    let epochs = bench.tables.code_states[0];
    let mut f = bench.edit();
    let (mov, add, store) = (nth(&f.view(), 0), nth(&f.view(), 2), nth(&f.view(), 3));
    let mut change = f.change(add, "test").unwrap();
    change.move_before(add, mov);
    change.set_operand(store, 2, Operand::int(3));
    change.delete(mov);
    change.new_vreg(PtxType::B32);
    let split = change.split_after(store);
    change.insert_block_before(split);
    let last = nth(&f.view(), 3);
    f.change(last, "test").unwrap().redirect(last, split);
    drop(f);
    bench.assert_is_whole();
    assert_ne!((bench.written(), bench.listing()), before);
    assert!(bench.undo());
    assert_eq!((bench.written(), bench.listing()), before);
    bench.assert_is_whole();
    let after = bench.tables.code_states[0];
    assert!(after.inst_epoch > epochs.inst_epoch && after.cfg_epoch > epochs.cfg_epoch, "epochs never fall");
    assert!(!bench.undo(), "there is nothing more to undo");
}

#[test]
fn undoing_takes_back_every_edit_of_the_step() {
    let mut bench = Bench::of(BODY);
    let (form, operands) = add(&mut bench);
    let before = bench.written();
    for place in [2, 1] {
        let mut f = bench.edit();
        let at = nth(&f.view(), place);
        let mut change = f.change(at, "test").unwrap();
        let inserted = change.insert_before(at, form, &operands, None);
        change.move_before(at, inserted);
    }
    assert_eq!(bench.view().live_inst_count(), 6);
    assert!(bench.undo());
    bench.assert_is_whole();
    assert_eq!(bench.written(), before);
    assert!(!bench.undo(), "nothing is left to be undone");
}

#[test]
fn rows_move_both_ways_when_they_are_made_dense() {
    // Most rows are not chained, so whole runs move: towards the end past what was inserted, and back when one is deleted.
    let rest = "add.u32 %r2, %r1, %r1; ".repeat(9);
    let mut bench =
        Bench::of(&format!("mov.u32 %r1, 1; @%p1 bra L; mov.u32 %r3, 2; @%p1 bra L; {rest} L: ret;"));
    let (form, operands) = add(&mut bench);
    for place in [0, 3, 0] {
        let mut f = bench.edit();
        let at = nth(&f.view(), place);
        let mut change = f.change(at, "test").unwrap();
        change.insert_before(at, form, &operands, None);
        drop(f);
        let written = bench.written();
        bench.compact();
        bench.assert_is_whole();
        assert_eq!(bench.written(), written);
    }
    let mut f = bench.edit();
    let at = nth(&f.view(), 0);
    f.change_in_place(at, "test").unwrap().delete(at);
    drop(f);
    let written = bench.written();
    bench.compact();
    assert_eq!(bench.written(), written);
    assert_eq!(bench.view().heads.len(), bench.view().live_inst_count());
}

#[test]
fn rows_are_worn_where_many_and_a_quarter_are_dead() {
    let is_worn = |rows, tombstones| Wear { rows, tombstones, is_out_of_order: false }.is_worn();
    assert!(is_worn(255, 64));
    assert!(!is_worn(256, 64), "a quarter, and no more");
    assert!(!is_worn(100, 63), "too few");
}

/// What changes where registers are defined is told from what changes only what is read.
#[test]
fn the_epoch_of_definitions_counts_what_defines() {
    let body = "mov.u32 %r1, 1; @%p1 add.u32 %r2, %r1, %r1; setp.eq.u32 %p2, %r1, 3; st.global.u32 [%rd1], %r2; ret;";
    let epoch_changes = |change: &dyn Fn(&mut FunctionEditor<'_>)| {
        let mut bench = Bench::of(body);
        bench.form("sub.u32", THREE);
        let mut f = bench.edit();
        let before = f.state().def_epoch;
        change(&mut f);
        f.state().def_epoch != before
    };
    let register = |f: &FunctionEditor<'_>, inst: u32| f.operands_of(InstId(inst))[0].vreg().unwrap();
    let with =
        |f: &mut FunctionEditor<'_>, work: &dyn Fn(&mut Change<'_, '_>)| work(&mut f.required_change());
    let rewritten = |f: &mut FunctionEditor<'_>, result: VRegId| {
        let forms = f.forms();
        let mnemonic = forms.mnemonic(b"sub.u32", Dialect::default());
        let form = forms.form(mnemonic, THREE);
        let one = f.operands_of(InstId(1))[1];
        let operands = [Operand::register(result), one, Operand::int(7)];
        f.required_change().set_form(InstId(1), form, &operands);
    };
    assert!(!epoch_changes(&|f| with(f, &|change| change.set_operand(InstId(1), 2, Operand::int(5)))));
    assert!(!epoch_changes(&|f| rewritten(f, register(f, 1))));
    assert!(!epoch_changes(&|f| with(f, &|change| change.delete(InstId(3)))), "a store defines nothing");
    assert!(!epoch_changes(&|f| with(f, &|change| change.negate_guard(InstId(1)))));

    assert!(epoch_changes(&|f| rewritten(f, register(f, 0))));
    assert!(epoch_changes(&|f| {
        let other = register(f, 1);
        with(f, &|change| change.set_operand(InstId(0), 0, Operand::register(other)));
    }));
    assert!(epoch_changes(&|f| with(f, &|change| change.drop_guard(InstId(1)))), "it ends the value before");
    assert!(epoch_changes(&|f| with(f, &|change| change.delete(InstId(0)))));
    assert!(epoch_changes(&|f| with(f, &|change| change.move_before(InstId(0), InstId(2)))));
    assert!(epoch_changes(&|f| with(f, &|change| change.move_to_end(InstId(0), BlockId(0)))));
    assert!(epoch_changes(&|f| {
        with(f, &|change| {
            change.new_vreg(PtxType::B32);
        });
    }));
    assert!(epoch_changes(&|f| {
        let form = f.head(InstId(0)).form;
        let operands = [Operand::register(register(f, 0)), Operand::int(2)];
        with(f, &|change| {
            change.insert_before(InstId(3), form, &operands, None);
        });
    }));
    // In SSA form nothing reads a value any more that goes.
    assert!(!epoch_changes(&|f| {
        f.set_flags(CodeFlags::SSA, true);
        with(f, &|change| change.delete(InstId(0)));
    }));
    assert!(epoch_changes(&|f| {
        f.set_flags(CodeFlags::SSA, true);
        f.set_variable(register(f, 1), true);
        with(f, &|change| change.delete(InstId(1)));
    }));
}

/// In SSA form a register is marked that something names which did not when the form was built.
#[test]
fn registers_that_are_named_anew_in_ssa_form_are_marked() {
    let body = "mov.u32 %r1, 1; mov.u32 %r2, 2; @%p1 add.u32 %r3, %r1, %r1; st.global.u32 [%rd1], %r3; ret;";
    let marked = |is_in_ssa: bool, change: &dyn Fn(&mut FunctionEditor<'_>, [VRegId; 2])| {
        let mut bench = Bench::of(body);
        let registers = [1, 2].map(|number| bench.vreg("%r", number));
        let mut f = bench.edit();
        f.set_flags(CodeFlags::SSA, is_in_ssa);
        change(&mut f, registers);
        let is_reused = |vreg: &VRegId| f.vreg(*vreg).flags.contains(VRegFlags::REUSED);
        registers.map(|vreg| is_reused(&vreg))
    };
    let reads_r2 = |f: &mut FunctionEditor<'_>, [_, r2]: [VRegId; 2]| {
        f.required_change().set_operand(InstId(2), 2, Operand::register(r2));
    };
    assert_eq!(marked(true, &reads_r2), [false, true]);
    assert_eq!(marked(false, &reads_r2), [false, false], "outside of SSA form names mean nothing");
    assert_eq!(
        marked(true, &|f, [_, r2]| {
            f.required_change().rename_each(std::iter::once((InstId(2), 2, r2)));
        }),
        [false, false]
    );
    let rewritten = |f: &mut FunctionEditor<'_>, other: VRegId| {
        let operands = [f.operands_of(InstId(2))[0], f.operands_of(InstId(2))[1], Operand::register(other)];
        let form = f.head(InstId(2)).form;
        f.required_change().set_form(InstId(2), form, &operands);
    };
    assert_eq!(marked(true, &|f, [_, r2]| rewritten(f, r2)), [false, true]);
    assert_eq!(marked(true, &|f, [r1, _]| rewritten(f, r1)), [false, false], "it was named there");
    assert_eq!(marked(true, &|f, _| f.required_change().move_before(InstId(0), InstId(2))), [true, false]);
    assert_eq!(marked(true, &|f, _| f.required_change().move_to_end(InstId(1), BlockId(0))), [false, true]);
    assert_eq!(
        marked(true, &|f, [r1, r2]| {
            let form = f.head(InstId(0)).form;
            let operands = [Operand::register(r1), Operand::register(r2)];
            f.required_change().insert_before(InstId(3), form, &operands, None);
        }),
        [true, true]
    );
    assert_eq!(marked(true, &|f, _| f.required_change().delete(InstId(2))), [false, false]);
    assert_eq!(
        marked(true, &|f, registers| {
            reads_r2(f, registers);
            f.required_change().ssa_is_built();
        }),
        [false, false]
    );
}

/// A phi that takes another value, or one more, is another one than SSA form was built with.
#[test]
fn phis_that_take_other_values_are_marked() {
    let mut bench = Bench::of(
        "mov.u32 %r1, 1; mov.u32 %r2, 2; @%p1 bra L; mov.u32 %r3, 3; L: st.global.u32 [%rd1], %r1; ret;",
    );
    let [r1, r2] = [1, 2].map(|number| bench.vreg("%r", number));
    let mut f = bench.edit();
    let join = BlockId(2);
    let mut change = f.required_change();
    change.set_ssa(true);
    let to = change.new_vreg(PtxType::B32);
    let pairs = [(BlockId(0), Operand::register(r1)), (BlockId(1), Operand::register(r1))];
    let phi = change.phi(join, to, &pairs);
    change.ssa_is_built();
    let marks =
        |f: &FunctionEditor<'_>| [to, r1, r2].map(|vreg| f.vreg(vreg).flags.contains(VRegFlags::REUSED));
    assert_eq!(marks(&f), [false; 3]);
    f.required_change().set_incoming(phi, &pairs[..1]);
    assert_eq!(marks(&f), [false; 3], "what it takes it took before");
    f.required_change().set_incoming(phi, &pairs);
    assert_eq!(marks(&f), [true, true, false], "it takes one more");
    f.required_change().ssa_is_built();
    f.required_change().set_operand(phi, 2, Operand::register(r2));
    assert_eq!(marks(&f), [true, false, true]);
    // As many pairs with other values, and values that have changed places.
    let [one, other] = [r1, r2].map(Operand::register);
    f.required_change().set_incoming(phi, &[(BlockId(0), one), (BlockId(1), Operand::int(7))]);
    f.required_change().ssa_is_built();
    f.required_change().set_incoming(phi, &[(BlockId(0), one), (BlockId(1), other)]);
    assert_eq!(marks(&f), [true; 3]);
    f.required_change().ssa_is_built();
    f.required_change().set_incoming(phi, &[(BlockId(0), one), (BlockId(1), other)]);
    assert_eq!(marks(&f), [false; 3], "they are the same");
    f.required_change().set_incoming(phi, &[(BlockId(0), other), (BlockId(1), one)]);
    assert_eq!(marks(&f), [true; 3]);
}

/// Undoing left registers marked that nothing names anew, and variables that had become values again.
#[test]
fn undoing_brings_the_flags_of_registers_back() {
    let mut bench = Bench::of("mov.u32 %r1, 1; mov.u32 %r2, 2; st.global.u32 [%rd1], %r1; ret;");
    let [r1, r2] = [1, 2].map(|number| bench.vreg("%r", number));
    let flags =
        |bench: &Bench| -> Vec<VRegFlags> { bench.view().vregs.iter().map(|vreg| vreg.flags).collect() };
    let state = |bench: &Bench| bench.view().state.flags;
    let mut f = bench.edit();
    f.set_flags(CodeFlags::SSA, true);
    f.set_variable(r1, true);
    f.required_change().set_operand(InstId(2), 1, Operand::register(r2));
    drop(f);
    bench.editor.journal.clear();
    let (before, state_before) = (flags(&bench), state(&bench));
    assert!(
        before[r1.index()].contains(VRegFlags::VARIABLE) && before[r2.index()].contains(VRegFlags::REUSED)
    );
    let mut f = bench.edit();
    f.set_flags(CodeFlags::SSA, false);
    f.set_flags(CodeFlags::SSA, true);
    f.set_variable(r1, false);
    f.set_variable(r2, true);
    f.required_change().ssa_is_built();
    f.required_change().set_operand(InstId(2), 1, Operand::register(r1));
    f.set_flags(CodeFlags::SSA, false);
    drop(f);
    assert_ne!(flags(&bench), before);
    assert!(bench.undo());
    assert_eq!((flags(&bench), state(&bench)), (before, state_before));
}
