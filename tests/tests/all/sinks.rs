//! Where the sink `_` may stand: the opcode table says what the assembler says.
//!
//! Dead-code elimination puts sinks where a slot takes them, under two rules that no slot can say: a vector keeps one
//! register, and so do the results of an instruction.

use ptxopt_components::form::{Accepts, Role};
use ptxopt_components::operand::OperandKind;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_tests::modules::{expect_none, in_parallel};
use ptxopt_tests::ptxas::{Flags, Mode, Ptxas};
use ptxopt_tests::say::say;

/// Statements with sinks, in the place of one result or of several.
const STATEMENTS: &[&str] = &[
    "ld.global.u32 _, [g];",
    "ld.global.v2.u32 {_, %r2}, [g];",
    "ld.global.v4.u32 {%r1, _, _, %r2}, [g];",
    "ld.global.v4.u32 {_, _, _, _}, [g];",
    "ld.shared.v4.f32 {_, %f1, _, _}, [%r1];",
    "ld.global.nc.v2.u64 {%rd2, _}, [g];",
    "ldu.global.v2.u32 {%r1, _}, [g];",
    "setp.lt.s32 %p1|_, %r1, %r2;",
    "setp.lt.s32 _|%p1, %r1, %r2;",
    "setp.lt.s32 _|_, %r1, %r2;",
    "setp.lt.and.s32 %p1|_, %r1, %r2, %p2;",
    "setp.lt.f16x2 %p1|_, %r1, %r2;",
    "shfl.sync.up.b32 %r1|_, %r2, 1, 0, -1;",
    "shfl.sync.up.b32 _|%p1, %r2, 1, 0, -1;",
    "match.all.sync.b32 %r1|_, %r2, -1;",
    "match.all.sync.b32 _|%p1, %r2, -1;",
    "match.all.sync.b32 _|_, %r2, -1;",
    "elect.sync _|%p1, -1;",
    "elect.sync %r1|_, -1;",
    "vote.sync.ballot.b32 _, %p1, -1;",
    "add.cc.u32 _, %r1, %r2;",
    "add.u32 _, %r1, %r2;",
    "bar.red.and.pred _, 0, %p1;",
    "bar.red.popc.u32 _, 0, %p1;",
    "atom.global.add.u32 _, [g], %r1;",
    "atom.global.v4.f32.add {%f1, _, _, _}, [g], {%f3, %f4, %f3, %f4};",
    "mov.b64 {%r1, _}, %rd1;",
    "mov.b64 {_, _}, %rd1;",
    "tex.2d.v4.f32.f32 {%f1, _, _, %f2}, [texture, {%f3, %f4}];",
    "tex.2d.v4.f32.f32 {_, _, _, %f2}|%p1, [texture, {%f3, %f4}];",
    "tex.2d.v4.f32.f32 {_, _, _, _}|%p1, [texture, {%f3, %f4}];",
    "tex.2d.v4.f32.f32 {%f1, _, _, _}|_, [texture, {%f3, %f4}];",
    "tex.2d.v2.f16x2.f32 {%r1, %r2}, [texture, {%f3, %f4}];",
    "tex.2d.v2.f16x2.f32 {%r1, _}, [texture, {%f3, %f4}];",
    "tex.level.2d.v2.f16x2.f32 {_, %r1}, [texture, {%f3, %f4}], %f5;",
    "tex.grad.2d.v2.f16x2.f32 {_, %r1}, [texture, {%f3, %f4}], {%f5, %f5}, {%f5, %f5};",
    "tex.2d.v4.f16.f32 {%h1, _, %h2, _}, [texture, {%f3, %f4}];",
    "tld4.r.2d.v4.f32.f32 {%f1, _, _, %f2}, [texture, {%f3, %f4}];",
    "suld.b.2d.v2.b32.trap {%r1, _}, [surface, {%r5, %r6}];",
    "multimem.ld_reduce.global.add.v4.f32 {%f1, _, _, %f2}, [%rd1];",
];

fn module(statement: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 16 .b8 g[256];\n.global .texref texture;\n\
         .global .surfref surface;\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<9>; .reg .b64 %rd<3>; \
         .reg .f32 %f<9>; .reg .b16 %h<3>; .reg .pred %p<5>;\nld.param.u64 %rd1, [p];\n{statement}\nret;\n}}\n"
    )
}

/// Whether slots and the two rules allow the sinks of the second instruction.
fn table_allows(text: &str) -> bool {
    let scanned = Module::scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    let (mut forms, mut tables) = (FormTable::default(), CodeTables::default());
    read(&scanned, &scanned.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
        .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let function = tables.view().functions().next().expect("there is a function");
    let inst = function.insts_of(ptxopt_components::ids::BlockId(0)).nth(1).expect("there is a statement");
    let slots = forms.slots(function.heads[1].form);
    let results = || {
        let pairs = slots.iter().zip(function.operands_of(inst));
        pairs.filter(|(slot, _)| slot.role == Role::Def)
    };
    let is_sink = |operand: &ptxopt_components::operand::Operand| operand.kind() == OperandKind::Sink;
    let is_accepted = results().filter(|(_, operand)| is_sink(operand)).all(|(slot, _)| {
        slot.accepts.contains(if slot.in_vector { Accepts::SINK_ELEMENT } else { Accepts::SINK })
    });
    let has_vector = results().any(|(slot, _)| slot.in_vector);
    let keeps_element = results().any(|(slot, operand)| slot.in_vector && !is_sink(operand));
    let is_pair = results().filter(|(slot, _)| !slot.in_vector).count() > 1;
    let keeps_one = results().any(|(_, operand)| !is_sink(operand));
    is_accepted && (!has_vector || keeps_element) && (!is_pair || keeps_one)
}

#[test]
fn the_table_takes_sinks_where_the_assembler_does() {
    let Some(ptxas) = Ptxas::find() else { return };
    let verdicts = in_parallel(STATEMENTS, |statement| {
        let text = module(statement);
        let said = ptxas.accepts(text.as_bytes(), &Flags::of(text.as_bytes()), Mode::Assemble);
        match (table_allows(&text), said) {
            (true, Err(said)) => Err(format!("{statement}: the table allows it, the assembler says {said}")),
            (false, Ok(())) => Err(format!("{statement}: the assembler takes it, the table does not")),
            _ => Ok(()),
        }
    });
    say(&format!("sinks: {} statements, as the assembler has them", STATEMENTS.len()));
    expect_none("statements differ", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}
