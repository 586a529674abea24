//! Operand types: the assembler takes each register and literal in its slot.
//!
//! Fast. One pass over the live instructions of modelled forms.
//!
//! The rules are those of the ISA's chapter on operand types, as `ptxas` applies them:
//!
//! - Integers agree with integers, whatever their sign; a float with its own type alone; bits with everything. Types
//!   without registers of their own (`bf16`, packed ones) take bits.
//! - A register is as wide as its slot. Loads, stores, texture and surface accesses, and conversions take wider ones
//!   as well, of integers and bits for integers, and of bits alone for floats. Conversions and accesses take `f16x2` for
//!   integers, and vectors of accesses integers for floats.
//! - The elements of a vector agree with one another in kind and width, literals included. No literal stands beside a component.
//! - A literal has the kind of its slot: a float takes no integer, an integer no float, bits both, if a float is as wide.
//! - Special registers stand in `mov` and `cvt` alone, and in predicate slots; a symbol's address where the form takes one.
//! - At least one result of several is no sink.
//!
//! Slots without a type, addresses and calls are not checked. `ptxas` takes `f16x2` for integers in `mapa` and `bar.red`, too, which
//! fails here, and takes no wider registers in `st.async`, `multimem` and vectors of texels, which passes here.

use super::{Verdict, each_function, each_inst};
use bevy_ecs::prelude::*;
use ptxopt_components::form::{Accepts, Form, FormFlags, Role, Slot, shape};
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{LiteralKind, Operand, OperandKind};
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use std::fmt;

/// The verifier of operand types.
pub const CHECK: Check = Check { name: "operand_types", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, forms: Res<FormTable>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| verify(function, &forms));
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    each_inst(function, |inst| {
        let id = function.heads[inst.index()].form;
        let form = forms.get(id);
        if !form.flags.contains(FormFlags::MODELLED) || form.effects.contains(Effects::CALL) {
            return Ok(());
        }
        let name = |what| format!("`{}`: {what}", String::from_utf8_lossy(forms.mnemonic_text(id)));
        verify_inst(function, forms, inst).map_err(name)
    })
}

fn verify_inst(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> Verdict {
    let id = function.heads[inst.index()].form;
    let (form, slots, operands) = (forms.get(id), forms.slots(id), function.operands_of(inst));
    let (mut results, mut sinks, mut has_vector) = (0, 0, false);
    for (at, (operand, slot)) in operands.iter().zip(slots).enumerate() {
        if matches!(slot.role, Role::Address | Role::Target | Role::Name) {
            continue;
        }
        has_vector |= slot.in_vector;
        results += usize::from(slot.role == Role::Def);
        sinks += usize::from(matches!(operand.kind(), OperandKind::Sink));
        let actual = Actual::of(function, *operand);
        if !stands(form, slot, actual) {
            let ty = slot.ty.map_or("none", PtxType::name);
            return Err(format!("operand {at}, {operand}, is {actual} where the type is {ty}"));
        }
    }
    if results > 1 && sinks == results {
        return Err("all its results are sinks".to_owned());
    }
    if has_vector { verify_vectors(function, forms.shape(id), operands) } else { Ok(()) }
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Actual {
    Register(PtxType),
    Integer,
    /// A float literal of so many bits.
    Float(u32),
    Special,
    Symbol,
    /// Whatever has no type: sinks, vectors as one register, components, text.
    Other,
}

impl fmt::Display for Actual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(ty) => write!(f, "of type {}", ty.name()),
            Self::Integer => f.write_str("an integer"),
            Self::Float(bits) => write!(f, "a float of {bits} bits"),
            Self::Special => f.write_str("a special register"),
            Self::Symbol => f.write_str("a symbol"),
            Self::Other => f.write_str("of no type"),
        }
    }
}

impl Actual {
    fn of(function: &FunctionView<'_>, operand: Operand) -> Self {
        match operand.kind() {
            OperandKind::Register { vreg, .. } => {
                let ty = function.vregs[vreg.index()].ty;
                let is_whole = ty.lanes == 1 && operand.selector().is_none();
                if is_whole { Self::Register(ty.element()) } else { Self::Other }
            }
            OperandKind::Int(_) => Self::Integer,
            OperandKind::F32(_) => Self::Float(32),
            OperandKind::Literal(literal) => match function.pools.literals[literal.index()].kind() {
                LiteralKind::F64 => Self::Float(64),
                LiteralKind::Signed | LiteralKind::Unsigned => Self::Integer,
                LiteralKind::Text => Self::Other,
            },
            OperandKind::Special(_) => Self::Special,
            OperandKind::Symbol(_) => Self::Symbol,
            _ => Self::Other,
        }
    }
}

/// Whether a slot of `form` takes the operand.
fn stands(form: &Form, slot: &Slot, actual: Actual) -> bool {
    match actual {
        Actual::Special => {
            let is_predicate = slot.ty == Some(PtxType::Pred);
            // Fragments of a matrix have no type here.
            return is_predicate
                || slot.ty.is_none()
                || form.flags.contains(FormFlags::CONVERTS)
                || slot.accepts.contains(Accepts::SYMBOL);
        }
        Actual::Symbol => return slot.accepts.contains(Accepts::SYMBOL),
        Actual::Other => return true,
        _ => {}
    }
    let Some(wanted) = slot.ty else { return true };
    if actual == Actual::Register(wanted) {
        return true;
    }
    // A vector that is packed or unpacked has elements of another width than its slot.
    let is_split = slot.in_vector && form.lanes == 1;
    match actual {
        Actual::Register(ty) => is_split || register_stands(form, slot, wanted, ty),
        Actual::Integer => wanted.kind() != TypeKind::Float,
        Actual::Float(bits) => match wanted.kind() {
            TypeKind::Float => true,
            TypeKind::Bits => is_split || bits == wanted.bits(),
            _ => false,
        },
        _ => true,
    }
}

/// Whether a register of type `ty` stands in a slot of type `wanted`.
fn register_stands(form: &Form, slot: &Slot, wanted: PtxType, ty: PtxType) -> bool {
    let accesses = form.effects.intersects(Effects::READ.union(Effects::WRITE));
    let converts = form.flags.contains(FormFlags::CONVERTS);
    let is_of_surface = form.effects.contains(Effects::TEXTURE);
    let may_be_wider = converts || accesses && (is_of_surface || !form.effects.contains(Effects::ATOMIC));
    let is_bits = |ty: PtxType| ty.kind() == TypeKind::Bits;
    let is_pair = ty == PtxType::F16x2 && (converts || accesses);
    let is_of_memory_vector = slot.in_vector && accesses && wanted.kind() == TypeKind::Float;
    let agrees = is_bits(wanted)
        || is_bits(ty)
        || wanted.is_same_kind(ty)
        || is_pair && wanted.is_of_integers()
        || is_of_memory_vector && ty.is_of_integers();
    let is_wider = ty.bits() > wanted.bits();
    let wide_floats = (wanted.kind(), ty.kind()) == (TypeKind::Float, TypeKind::Float);
    agrees && (ty.bits() == wanted.bits() || is_wider && may_be_wider && !wide_floats)
}

/// Verifies that the elements of each vector agree with one another.
fn verify_vectors(function: &FunctionView<'_>, codes: &[u8], operands: &[Operand]) -> Verdict {
    let mut operands = operands.iter();
    let (mut known, mut is_inside): (Option<Actual>, bool) = (None, false);
    let (mut has_component, mut has_literal) = (false, false);
    for &code in codes {
        match code {
            shape::BRACE_OPEN => {
                (known, is_inside) = (None, true);
                (has_component, has_literal) = (false, false);
            }
            shape::BRACE_CLOSE => is_inside = false,
            shape::OPERAND | shape::INDEXED => {
                let Some(&operand) = operands.next() else { break };
                if !is_inside {
                    continue;
                }
                let actual = Actual::of(function, operand);
                if let Some(known) = known
                    && !agree(known, actual)
                {
                    return Err(format!("{operand} is {actual} beside {known} in its vector"));
                }
                has_component |= operand.selector().is_some();
                has_literal |= matches!(actual, Actual::Integer | Actual::Float(_));
                if has_component && has_literal {
                    return Err(format!("{operand} is beside a component or a literal in its vector"));
                }
                // Bits agree with all, so whatever says more is compared with.
                let is_vague = |actual| matches!(actual, Actual::Register(ty) if ty.kind() == TypeKind::Bits);
                if !matches!(actual, Actual::Other) && known.is_none_or(is_vague) {
                    known = Some(actual);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether two elements of a vector agree.
fn agree(one: Actual, other: Actual) -> bool {
    match (one, other) {
        (Actual::Register(one), Actual::Register(other)) => one.stands_beside(other),
        (Actual::Register(ty), literal) | (literal, Actual::Register(ty)) => !matches!(
            (ty.kind(), literal),
            (TypeKind::Float, Actual::Integer) | (TypeKind::Integer, Actual::Float(_))
        ),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::kernel;

    const HEAD: &str = ".reg .b16 %h<4>; .reg .u16 %uh<4>; .reg .f16 %fh<4>; .reg .f16x2 %ff<4>; .reg .b32 %b<4>; \
                        .reg .u32 %u<4>; .reg .s32 %s<4>; .reg .f32 %f<4>; .reg .b64 %d<4>; .reg .u64 %ud<4>; \
                        .reg .f64 %fd<4>; \
                        .reg .pred %p<4>;";

    fn verdict(inst: &str) -> Verdict {
        let built = kernel(&format!("{HEAD} {inst} ret;"));
        verify(&built.function(), &built.forms)
    }

    /// ISA, operand types: signed and unsigned agree, bits agree with all of their size, floats with themselves.
    #[test]
    fn what_agrees_passes() {
        for inst in [
            "add.u32 %u1, %s2, %b3;",
            "add.f32 %f1, %b2, %f3;",
            "mov.b32 %f1, %u1;",
            "and.b32 %f1, %u2, %f3;",
            "add.f16 %fh1, %h1, %h1;",
            "add.f16x2 %ff1, %b1, %b1;",
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%b1, %b2}, {1, 2, 3, %b3}, {5, %laneid}, {7, %b3};",
            "fma.rn.bf16 %h1, %h1, %h1, %h1;",
            "add.u16x2 %b1, %b1, %b1;",
            "popc.b64 %u1, %fd1;",
            "mul.wide.u32 %d1, %u1, %u2;",
            "atom.global.add.f32 %b1, [g], %b2;",
            "atom.global.add.noftz.v2.f16 {%uh1, %uh2}, [g], {%uh1, %uh2};",
            "red.global.add.v2.f32 [g], {%u1, %s2};",
            "ld.global.v2.f32 {%u1, %s2}, [g];",
            "st.global.v2.f64 [g], {%ud1, %ud1};",
            "st.global.u32 [g], %ff1;",
            "st.global.L2::cache_hint.v2.u32 [g], {%ff1, %b1}, %d1;",
            "ld.global.nc.s32 %ff1, [g];",
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [g], %ff1, [g];",
            "red.global.min.s32 [g], %ff1;",
            "sured.b.min.1d.s32.trap [g, {%u1}], %ff1;",
            "mov.b64 %d1, {%f1, %b2};",
            "ld.global.v2.u32 {%d1, %d2}, [g];",
            "st.global.v2.f32 [g], {%f1, 0f00000000};",
            "cvt.u64.u32 %d1, %tid.x;",
            "mov.u32 %u1, g;",
            "add.f32 %f1, %f1, 0d3ff0000000000000;",
            "mov.b32 %b1, 0f3f800000;",
            "setp.eq.u32 _|%p1, %u1, 0;",
            "selp.f32 %f1, %b1, %f1, %p1;",
        ] {
            assert_eq!(verdict(inst), Ok(()), "{inst}");
        }
    }

    /// ISA, operand size exceeding instruction-type size: loads, stores and conversions.
    #[test]
    fn wider_registers_pass_where_the_isa_says_so() {
        for inst in [
            "ld.global.u32 %d1, [g];",
            "ld.global.f32 %d1, [g];",
            "ld.global.b16 %f1, [g];",
            "st.global.u8 [g], %d1;",
            "st.global.u16 [g], %ff1;",
            "sured.b.add.1d.u32.trap [g, {%u1}], %ud1;",
            "sured.b.and.1d.b32.trap [g, {%u1}], %fd1;",
            "cvt.u32.u16 %d1, %h1;",
            "cvt.rn.f16.f32 %b1, %f1;",
            "cvt.u32.u64 %ff1, %d1;",
            "cvt.u16.u64 %ff1, %d1;",
            "cvt.u64.u32 %d1, %ff1;",
            "cvt.rn.f32.u32 %f1, %ff1;",
        ] {
            assert_eq!(verdict(inst), Ok(()), "{inst}");
        }
        for inst in [
            "ld.global.u32 %fd1, [g];",
            "ld.global.f32 %fd1, [g];",
            "ld.global.u32 %h1, [g];",
            "add.u32 %u1, %d2, %b3;",
            "shl.b32 %b1, %b1, %d1;",
            "atom.global.add.u32 %d1, [g], %b2;",
            "sured.b.add.1d.u32.trap [g, {%u1}], %fd1;",
            "cvt.u32.u16 %f1, %h1;",
            "cvt.u32.u16 %u1, %fh1;",
            "cvt.f32.f16 %ff1, %fh1;",
            "add.u32 %ff1, %u1, %u1;",
        ] {
            assert!(verdict(inst).is_err(), "{inst}");
        }
    }

    #[test]
    fn what_disagrees_is_seen() {
        for inst in [
            "add.u32 %u1, %f2, %b3;",
            "add.f32 %f1, %u2, %f3;",
            "mov.f32 %f1, %u1;",
            "selp.u32 %f1, %u1, %u2, %p1;",
            "add.f16 %uh1, %h1, %h1;",
            "add.f16x2 %f1, %b1, %b1;",
            "fma.rn.bf16 %h1, %fh1, %h1, %h1;",
            "fma.rn.bf16x2 %b1, %u1, %b1, %b1;",
            "mad.wide.u32 %d1, %b1, %b1, %fd1;",
            "setp.lt.f32 %p1, %u1, %f1;",
            "st.global.u32 [g], %f1;",
            "st.global.v2.u32 [g], {%f1, %f1};",
            "st.global.f32 [g], %u1;",
            "st.global.f32 [g], %ff1;",
            "st.global.v2.f32 [g], {%ff1, %ff1};",
            "red.global.add.f32 [g], %u1;",
            "red.global.add.v2.f32 [g], {%uh1, %uh2};",
            "atom.global.add.noftz.v2.bf16 {%uh1, %uh2}, [g], {%uh1, %uh2};",
        ] {
            assert!(verdict(inst).is_err(), "{inst}");
        }
    }

    #[test]
    fn literals_have_the_kind_of_their_slot() {
        for inst in [
            "add.f32 %f1, %f1, 1;",
            "add.u32 %u1, %u1, 0f3f800000;",
            "mov.b64 %d1, 0f3f800000;",
            "mov.b32 %b1, 0d3ff0000000000000;",
            "st.global.v2.b32 [g], {%f1, 7};",
        ] {
            assert!(verdict(inst).is_err(), "{inst}");
        }
    }

    #[test]
    fn elements_of_a_vector_agree() {
        for inst in [
            "mov.b64 %d1, {%f1, %u2};",
            "mov.b32 %b1, {%fh1, %uh2};",
            "ld.global.v2.b32 {%f1, %u1}, [g];",
            "ld.global.v2.u32 {%d1, %u1}, [g];",
            "ld.global.v4.b32 {%b1, %f1, %b2, %u1}, [g];",
        ] {
            assert!(verdict(inst).is_err(), "{inst}");
        }
    }

    #[test]
    fn special_registers_symbols_and_sinks_have_their_places() {
        for inst in [
            "add.u32 %u1, %tid.x, 1;",
            "st.global.u32 [g], %tid.x;",
            "add.u64 %d1, %d1, g;",
            "ld.global.v4.u32 {_, _, _, _}, [g];",
        ] {
            assert!(verdict(inst).is_err(), "{inst}");
        }
    }
}
