//! Virtual-register rows.

use crate::ids::NameId;
use crate::types::{PackedType, PtxType, RegClass};
use bevy_ecs::component::Component;
use bitflags::bitflags;
use bytemuck::{Pod, Zeroable};

bitflags! {
    /// Facts about a virtual register. Bits 8 to 14 are free: a phase that needs a documented one (chains and splits of
    /// live ranges, propagation) brings it along.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
    #[repr(transparent)]
    pub struct VRegFlags: u16 {
        /// Declared in the function's header: its declaration is not written again.
        const FORMAL = 1 << 0;
        /// An input of the function (`.reg` formal).
        const INPUT = 1 << 1;
        /// A result of the function (`.reg` return parameter): live at every return.
        const OUTPUT = 1 << 2;
        /// Declared at module scope: live at calls, returns and exits.
        const MODULE = 1 << 3;
        /// In flight after some instruction, named by an unknown one, or written twice by one: never copied, split or removed.
        const PINNED = 1 << 4;
        /// The carry register of the function, which PTX does not name.
        const CARRY = 1 << 5;
        /// Holds a value before its first definition.
        const INITIALISED = 1 << 6;
        /// In SSA form: keeps several definitions, or partial or guarded ones. It is no value, and no phi names it.
        const VARIABLE = 1 << 7;
        /// In SSA form: some instruction names it that did not when the form was built, or the phi that defines it takes
        /// other values.
        const REUSED = 1 << 8;
        /// The threads of a warp read the same from it, where the fact of uniformity holds.
        const UNIFORM = 1 << 15;
    }
}

/// Class, type and facts of a register.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct VRegHead {
    class: u16,
    /// Declared type and vector length.
    pub ty: PackedType,
    /// Facts.
    pub flags: VRegFlags,
    padding: u16,
}

/// Sets of flags that say which registers a phase must leave alone.
impl VRegFlags {
    /// Registers that something beside the instructions that name them reads.
    pub const READ_ELSEWHERE: VRegFlags = VRegFlags::PINNED.union(VRegFlags::MODULE).union(VRegFlags::OUTPUT);

    /// Registers that something beside the instructions that name them writes.
    pub const WRITTEN_ELSEWHERE: VRegFlags =
        VRegFlags::PINNED.union(VRegFlags::MODULE).union(VRegFlags::CARRY);

    /// Registers that hold, before their first definition or after a call, what the function does not know.
    pub const UNKNOWN_AT_START: VRegFlags = VRegFlags::PINNED
        .union(VRegFlags::MODULE)
        .union(VRegFlags::INPUT)
        .union(VRegFlags::OUTPUT)
        .union(VRegFlags::INITIALISED);

    /// Registers that are more than the function's own: others see them, or instructions share them without naming them.
    pub const SHARED: VRegFlags =
        VRegFlags::READ_ELSEWHERE.union(VRegFlags::WRITTEN_ELSEWHERE).union(VRegFlags::FORMAL);

    /// Registers that are no values in SSA form: they may have any definitions, and no phi names them.
    pub const NO_VALUE: VRegFlags = VRegFlags::SHARED.union(VRegFlags::VARIABLE);
}

impl VRegHead {
    /// Whether the register is a value where its function is in SSA form: it has one definition, which dominates what reads it.
    #[must_use]
    pub const fn is_value(&self) -> bool {
        !self.flags.intersects(VRegFlags::NO_VALUE)
    }

    /// A register declared with type `ty`.
    #[must_use]
    pub fn new(ty: PackedType, flags: VRegFlags) -> Self {
        let class = if ty.element() == PtxType::Pred { RegClass::P } else { RegClass::R };
        Self { class: class as u16, ty, flags, padding: 0 }
    }

    /// Slots of 32 bits that the register takes, whatever its class.
    #[must_use]
    pub fn slots(&self) -> u32 {
        (self.ty.element().bits() * u32::from(self.ty.lanes)).div_ceil(32)
    }

    /// Whether the register holds one value that only the function's own instructions read and write.
    #[must_use]
    pub const fn is_own_scalar(&self) -> bool {
        self.ty.lanes == 1 && !self.flags.intersects(VRegFlags::SHARED)
    }

    /// Register class.
    #[must_use]
    pub const fn class(&self) -> RegClass {
        match self.class {
            0 => RegClass::R,
            1 => RegClass::Ur,
            2 => RegClass::P,
            3 => RegClass::Up,
            _ => RegClass::B,
        }
    }
}

/// How a register is spelled: `%rd` and 17, or a name without a number.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct VRegName {
    /// The name, or the prefix of a declared range.
    pub prefix: NameId,
    /// Number within the range, or [`VRegName::WHOLE`].
    pub number: u32,
}

impl VRegName {
    /// The prefix is the whole name.
    pub const WHOLE: u32 = u32::MAX;
}
