//! Fundamental types and state spaces of PTX (ISA 9.5, sections 5.1 and 5.2).

use bytemuck::{Pod, Zeroable};

/// Declares [`PtxType`] from rows `Variant "name" bits`; one list feeds the enum, its names and its widths.
macro_rules! ptx_types {
    ($($variant:ident $name:literal $bits:literal,)*) => {
        /// A fundamental type, or a packed one that instructions name (`f16x2`, `e4m3x2`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum PtxType {
            $(#[doc = concat!("`.", $name, "`")] $variant,)*
        }

        impl PtxType {
            const ALL: &[(PtxType, &str, u16)] = &[$((PtxType::$variant, $name, $bits),)*];

            /// Width of one value in bits.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> u32 {
                match self { $(PtxType::$variant => $bits,)* }
            }

            /// The name without its dot.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(PtxType::$variant => $name,)* }
            }
        }
    };
}

ptx_types! {
    Pred "pred" 1,
    B8 "b8" 8, B16 "b16" 16, B32 "b32" 32, B64 "b64" 64, B128 "b128" 128,
    U8 "u8" 8, U16 "u16" 16, U32 "u32" 32, U64 "u64" 64,
    S8 "s8" 8, S16 "s16" 16, S32 "s32" 32, S64 "s64" 64,
    F16 "f16" 16, F32 "f32" 32, F64 "f64" 64,
    F16x2 "f16x2" 32, F32x2 "f32x2" 64, Bf16 "bf16" 16, Bf16x2 "bf16x2" 32, Tf32 "tf32" 32,
    U16x2 "u16x2" 32, S16x2 "s16x2" 32, U8x4 "u8x4" 32, S8x4 "s8x4" 32,
    E4m3 "e4m3" 8, E5m2 "e5m2" 8, E4m3x2 "e4m3x2" 16, E5m2x2 "e5m2x2" 16, E2m1x2 "e2m1x2" 8,
    E2m3x2 "e2m3x2" 16, E3m2x2 "e3m2x2" 16, Ue8m0x2 "ue8m0x2" 16,
    Ue5m3x2 "ue5m3x2" 16, S2f6x2 "s2f6x2" 16, Ue8m0x4 "ue8m0x4" 32, E2m1p4x4 "e2m1p4x4" 32,
    E4m3x4 "e4m3x4" 32, E5m2x4 "e5m2x4" 32, E2m1x4 "e2m1x4" 16, E2m3x4 "e2m3x4" 32, E3m2x4 "e3m2x4" 32,
    U4 "u4" 4, S4 "s4" 4, B1 "b1" 1, B4x16 "b4x16" 64, B2 "b2" 2, U2 "u2" 2, S2 "s2" 2,
    TexRef "texref" 64, SamplerRef "samplerref" 64, SurfRef "surfref" 64,
    E2m1 "e2m1" 4, E2m3 "e2m3" 6, E3m2 "e3m2" 6, Ue8m0 "ue8m0" 8, Ue4m3 "ue4m3" 8, B1024 "b1024" 1024,
}

impl PtxType {
    /// Every type, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().map(|&(ty, _, _)| ty)
    }

    /// The type called `name` (without its dot).
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().find(|(_, text, _)| text.as_bytes() == name).map(|&(ty, _, _)| ty)
    }

    /// The type with number `raw`, as stored in packed rows.
    ///
    /// # Panics
    /// When `raw` is no type's number.
    #[must_use]
    pub fn from_raw(raw: u8) -> Self {
        Self::ALL[raw as usize].0
    }

    /// What it agrees with.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> TypeKind {
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::S8 | Self::S16 | Self::S32 | Self::S64 => {
                TypeKind::Integer
            }
            Self::F16 | Self::F16x2 | Self::F32 | Self::F64 => TypeKind::Float,
            Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::B128 => TypeKind::Bits,
            Self::Pred => TypeKind::Predicate,
            _ => TypeKind::Packed,
        }
    }

    /// Whether it is an integer with a sign.
    #[inline]
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether its values are integers, signed or not, or bits.
    #[inline]
    #[must_use]
    pub const fn is_of_integers(self) -> bool {
        matches!(self.kind(), TypeKind::Integer | TypeKind::Bits)
    }

    /// Whether its values are one number each, and not two or more that are packed.
    #[inline]
    #[must_use]
    pub const fn is_one_number(self) -> bool {
        self.is_of_integers() || matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Whether the assembler takes registers of both types as elements of one vector: of one width, integers beside integers, a float
    /// beside its own type alone, bits beside everything.
    #[must_use]
    pub fn stands_beside(self, other: Self) -> bool {
        let is_vague = self.kind() == TypeKind::Bits || other.kind() == TypeKind::Bits;
        self.bits() == other.bits() && (is_vague || self.is_same_kind(other))
    }

    /// Whether both are of one kind that agrees with itself: of floats, each with its own type alone.
    #[must_use]
    pub fn is_same_kind(self, other: Self) -> bool {
        self.kind() == other.kind() && (self.kind() != TypeKind::Float || self == other)
    }

    /// The type of twice the width and the same kind: what `.wide` and `"w"` in the opcode table mean.
    #[must_use]
    pub fn doubled(self) -> Self {
        match self {
            Self::U8 => Self::U16,
            Self::U16 => Self::U32,
            Self::U32 => Self::U64,
            Self::S8 => Self::S16,
            Self::S16 => Self::S32,
            Self::S32 => Self::S64,
            Self::B8 => Self::B16,
            Self::B16 => Self::B32,
            Self::B32 => Self::B64,
            Self::B64 => Self::B128,
            other => other,
        }
    }
}

/// The lowest `width` bits.
#[inline]
#[must_use]
pub const fn truncate(bits: u64, width: u32) -> u64 {
    if width >= 64 { bits } else { bits & ((1 << width) - 1) }
}

/// A value of `width` bits, 1 to 64, with its sign, in 64 bits.
#[inline]
#[must_use]
pub const fn extend(bits: u64, width: u32) -> i64 {
    let unused = 64 - width;
    ((bits << unused) as i64) >> unused
}

/// What types have in common that registers and literals must agree in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Signed and unsigned ones, which agree.
    Integer,
    /// Each agrees with itself alone.
    Float,
    /// They agree with all of their width.
    Bits,
    /// No register is declared with them.
    Packed,
    /// `.pred`.
    Predicate,
}

/// Where a memory operand points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum StateSpace {
    /// No state space is named: a generic address where the instruction accesses memory.
    #[default]
    Generic,
    /// `.global`
    Global,
    /// `.shared`, `.shared::cta`
    Shared,
    /// `.shared::cluster`
    SharedCluster,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param`, `.param::entry`, `.param::func`
    Param,
}

impl StateSpace {
    /// The space that a mnemonic qualifier names.
    #[must_use]
    pub fn parse(qualifier: &[u8]) -> Option<Self> {
        Some(match qualifier {
            b"global" => Self::Global,
            b"shared" | b"shared::cta" => Self::Shared,
            b"shared::cluster" => Self::SharedCluster,
            b"local" => Self::Local,
            b"const" => Self::Const,
            b"param" | b"param::entry" | b"param::func" => Self::Param,
            _ => return None,
        })
    }
}

/// Register class of a virtual register: which file the assembler would allocate it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RegClass {
    /// General registers.
    R,
    /// Uniform general registers.
    Ur,
    /// Predicates.
    P,
    /// Uniform predicates.
    Up,
    /// Barriers; PTX declares none.
    B,
}

/// A type in a packed row, with its vector length (1, 2, 4, 8).
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PackedType {
    raw: u8,
    /// Number of elements.
    pub lanes: u8,
}

impl PackedType {
    /// Packs `lanes` values of type `ty`.
    #[must_use]
    pub const fn new(ty: PtxType, lanes: u8) -> Self {
        Self { raw: ty as u8, lanes }
    }

    /// The element type.
    #[must_use]
    pub fn element(self) -> PtxType {
        PtxType::from_raw(self.raw)
    }
}

impl std::fmt::Debug for PackedType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.element().name(), self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_numbers_name_their_own_type() {
        for &(ty, name, bits) in PtxType::ALL {
            assert_eq!(PtxType::from_raw(ty as u8), ty);
            assert_eq!(PtxType::parse(name.as_bytes()), Some(ty));
            assert_eq!(ty.bits(), u32::from(bits));
        }
    }
}
