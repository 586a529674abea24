//! Descriptions: what a mnemonic says, without its text.
//!
//! [`Description::parse`] takes a mnemonic apart and [`Description::write`] puts it together again, both by the syntax of
//! the operation. A mnemonic whose qualifiers stand in another order than the ISA's has the same description; it is
//! written in the ISA's order.

use crate::operation::{Operation, SyntaxPart};
use crate::qualifiers::vocabulary::{Meaning, meanings};
use crate::qualifiers::{Extent, Modifiers, Qualifiers};
use crate::types::PtxType;
use std::hash::{Hash, Hasher};

/// The most types that an instruction names: `mma` with scales.
pub const TYPES_MAX: usize = 5;

/// What stands elsewhere and changes the meaning of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Dialect {
    /// Plain `f32` arithmetic flushes denormals (`.target sm_1x`).
    pub flushes: bool,
    /// Conversions from and to types of 64 bits do not, unless they say so (`.version 1.4` and older; to such types by the ISA's text,
    /// from them too by `ptxas`).
    pub wide_conversions_keep: bool,
    /// A call of a function that never returns (`.noreturn`).
    pub never_returns: bool,
}

/// What an instruction computes and how, its operands excepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Description {
    /// What it computes. Of [`Operation::Unknown`] the other fields say nothing.
    pub operation: Operation,
    /// Its types in textual order: that of the result first, where there are several. The rest is `None`.
    pub types: [Option<PtxType>; TYPES_MAX],
    /// How it computes.
    pub qualifiers: Qualifiers,
    /// What stands elsewhere.
    pub dialect: Dialect,
}

/// What tells nearly all descriptions apart: to hash the other qualifiers costs more than to compare two now and then.
impl Hash for Description {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let byte_of = |ty: Option<PtxType>| ty.map_or(0, |ty| ty as u64 + 1);
        let types = self.types.iter().fold(0, |types, &ty| types << 8 | byte_of(ty));
        state.write_u64(types << 8 | self.operation as u64);
        let Qualifiers { part, comparison, rounding, space, cache, combiner, modifiers, .. } =
            self.qualifiers;
        let some = [
            part.map_or(0, |part| part as u8 + 1),
            comparison.map_or(0, |comparison| comparison as u8 + 1),
            rounding.map_or(0, |rounding| rounding as u8 + 1),
            space.map_or(0, |space| space as u8 + 1),
            cache.map_or(0, |cache| cache as u8 + 1),
            combiner.map_or(0, |combiner| combiner as u8 + 1),
            0,
            0,
        ];
        state.write_u64(u64::from_le_bytes(some) ^ modifiers.bits());
    }
}

impl Description {
    /// An instruction of the usual dialect.
    ///
    /// # Panics
    /// With more types than any instruction has.
    #[must_use]
    pub fn new(operation: Operation, qualifiers: Qualifiers, types: &[PtxType]) -> Self {
        let mut all = [None; TYPES_MAX];
        for (slot, &ty) in all[..types.len()].iter_mut().zip(types) {
            *slot = Some(ty);
        }
        Self { operation, types: all, qualifiers, dialect: Dialect::default() }
    }

    /// What a mnemonic says, given as its root and its qualifiers. `None` where the operation is not known, where one of
    /// its qualifiers has no place in its syntax, or where something is missing: what is not understood whole is not
    /// understood.
    #[must_use]
    pub fn parse(root: &[u8], words: &[&[u8]], dialect: Dialect) -> Option<Self> {
        let (operation, named) = Operation::find(root, words)?;
        let mut description = Self { operation, dialect, ..Self::default() };
        let syntax = operation.syntax();
        let (mut taken, mut type_count) = (0u32, 0);
        for word in &words[named..] {
            let meanings = meanings(word);
            let mut free = syntax.parts.iter().enumerate().filter(|(at, _)| taken & 1 << at == 0);
            let fits = |part: SyntaxPart| meanings.iter().copied().find(|&meaning| part.takes(meaning));
            let qualifiers = &mut description.qualifiers;
            let found = free.clone().find_map(|(at, &part)| Some((at, fits(part)?)));
            if let Some((at, meaning)) = found {
                taken |= 1 << at;
                match meaning {
                    Meaning::Field { field, value } => {
                        (Qualifiers::FIELDS[usize::from(field)].put)(qualifiers, usize::from(value));
                    }
                    Meaning::Modifier(bit) => qualifiers.modifiers |= bit,
                    Meaning::Type(ty) => {
                        description.types[type_count] = Some(ty);
                        type_count += 1;
                    }
                }
            } else {
                let (at, _) = free.find(|(_, part)| **part == SyntaxPart::Extent)?;
                taken |= 1 << at;
                qualifiers.extent = Some(Extent::parse(word)?);
            }
        }
        (taken & syntax.required == syntax.required).then_some(description)
    }

    /// Appends the mnemonic that says this, in the ISA's order. Says whether there is one; if not, what was appended has
    /// no meaning.
    #[must_use]
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        if self.operation == Operation::Unknown {
            return false;
        }
        let syntax = self.operation.syntax();
        let mut types = self.types.iter().map_while(|ty| *ty);
        let (mut taken, mut written) = (0u32, 0);
        out.extend_from_slice(self.operation.name().as_bytes());
        let mut write = |at: usize, word: &str| {
            out.push(b'.');
            out.extend_from_slice(word.as_bytes());
            taken |= 1 << at;
        };
        for (at, &part) in syntax.parts.iter().enumerate() {
            let word = match part {
                SyntaxPart::Field(field) => (Qualifiers::FIELDS[usize::from(field)].get)(&self.qualifiers),
                SyntaxPart::Modifier(bit) => {
                    let mut words = Modifiers::WORDS.iter().filter(|_| self.qualifiers.has(bit));
                    words.find(|(known, _)| *known == bit).map(|&(_, word)| word)
                }
                SyntaxPart::Type => {
                    types.next().into_iter().for_each(|ty| write(at, ty.name()));
                    continue;
                }
                SyntaxPart::Extent => {
                    self.qualifiers.extent.into_iter().for_each(|extent| write(at, &extent.to_string()));
                    written += usize::from(self.qualifiers.extent.is_some());
                    continue;
                }
            };
            word.into_iter().for_each(|word| write(at, word));
            written += usize::from(word.is_some());
        }
        // What the syntax has no place for is left over; types without a gap are the only ones with a meaning.
        let is_whole = types.next().is_none() && self.types.is_sorted_by_key(Option::is_none);
        is_whole && written == self.qualifiers.count() && taken & syntax.required == syntax.required
    }

    /// The type of the result, or the only one.
    #[inline]
    #[must_use]
    pub const fn ty(&self) -> Option<PtxType> {
        self.types[0]
    }

    /// Whether denormals become 0 in sources and results: by `.ftz`, or of `.f32` by the target.
    #[must_use]
    pub fn flushes(&self) -> bool {
        self.qualifiers.has(Modifiers::FTZ)
            || self.dialect.flushes
                && self.types.contains(&Some(PtxType::F32))
                && self.operation.may_have(Modifiers::FTZ)
                && !(self.dialect.wide_conversions_keep && self.is_wide_conversion())
    }

    fn is_wide_conversion(&self) -> bool {
        self.operation == Operation::Cvt && self.types.iter().flatten().any(|ty| ty.bits() == 64)
    }

    /// Number of values that one access moves.
    #[inline]
    #[must_use]
    pub fn lanes(&self) -> u8 {
        self.qualifiers.vector.map_or(1, crate::qualifiers::Vector::lanes)
    }
}

impl std::fmt::Display for Description {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        let is_whole = self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))?;
        f.write_str(if is_whole { "" } else { "?" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qualifiers::{Comparison, Ordering, Reduction, Rounding, Scope, Space};

    fn parse(mnemonic: &str) -> Option<Description> {
        let mut words = mnemonic.split('.').map(str::as_bytes);
        let root = words.next().unwrap();
        Description::parse(root, &words.collect::<Vec<_>>(), Dialect::default())
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for mnemonic in [
            "add.s32",
            "add.cc.u32",
            "add.rn.ftz.sat.f32",
            "add.rz.sat.f32.f16",
            "mad.hi.sat.s32",
            "mul.wide.u16",
            "fma.rn.oob.relu.bf16x2",
            "min.ftz.NaN.xorsign.abs.f16x2",
            "setp.lt.and.ftz.f32",
            "set.neu.xor.f16.f16",
            "cvt.rn.relu.satfinite.tf32.f32",
            "cvt.pack.sat.s4.s32.b32",
            "prmt.b32.rc16",
            "shf.r.wrap.b32",
            "ld.acquire.gpu.global.L1::evict_last.L2::cache_hint.L2::64B.v2.u32",
            "ld.param::entry.u32",
            "atom.relaxed.sys.global.cas.b32",
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
            "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64",
            "bar.cta.red.popc.u32",
            "barrier.sync.aligned",
            "bra.uni",
            "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
            "tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.abs.NaN.f32",
            "vshl.s32.u32.u32.sat.clamp.add",
            "vset.s32.u32.lt.add",
            "exit",
        ] {
            let description = parse(mnemonic).unwrap_or_else(|| panic!("{mnemonic}"));
            assert_eq!(description.to_string(), mnemonic);
        }
    }

    #[test]
    fn qualifiers_are_found_wherever_they_stand() {
        for (one, other) in [
            ("max.NaN.ftz.f32", "max.ftz.NaN.f32"),
            ("cvt.rn.satfinite.relu.e4m3x2.f32", "cvt.rn.relu.satfinite.e4m3x2.f32"),
            ("red.global.v4.bf16x2.add.noftz", "red.global.add.noftz.v4.bf16x2"),
            ("sured.b.1d.add.s32.clamp", "sured.b.add.1d.s32.clamp"),
        ] {
            assert_eq!(parse(one), parse(other));
            assert_eq!(parse(one).unwrap().to_string(), other);
        }
    }

    #[test]
    fn what_is_not_understood_whole_is_not_understood() {
        for mnemonic in [
            "frobnicate.s32",
            "add.frobnicate.s32",
            "add.s32.s32.s32",
            "add.rn.rz.f32",
            "add.sat.sat.s32",
            "add.lt.s32",
            "ld.global.shared.u32",
            "mma.sync.aligned.m16n8k16.m16n8k16.row.col.f32.f16.f16.f32",
            "exit.uni",
            // Something is missing.
            "add",
            "setp.s32",
            "cvt.u32",
            "shf.l.b32",
            "bar",
        ] {
            assert_eq!(parse(mnemonic), None, "{mnemonic}");
        }
    }

    #[test]
    fn fields_hold_what_the_words_say() {
        let atom = parse("atom.acq_rel.cluster.shared::cta.add.noftz.f16x2").unwrap();
        assert_eq!(atom.operation, Operation::Atom);
        assert_eq!(atom.ty(), Some(PtxType::F16x2));
        let expected = Qualifiers {
            ordering: Some(Ordering::AcquireRelease),
            scope: Some(Scope::Cluster),
            space: Some(Space::SharedCta),
            reduction: Some(Reduction::Add),
            modifiers: Modifiers::NOFTZ,
            ..Qualifiers::default()
        };
        assert_eq!(atom.qualifiers, expected);
        assert_eq!(atom.qualifiers.count(), 5);
        let copy = parse("cp.async.bulk.global.shared::cta.bulk_group").unwrap().qualifiers;
        assert_eq!((copy.space, copy.source_space), (Some(Space::Global), Some(Space::SharedCta)));
        let rounded = parse("cvt.rni.s32.f32").unwrap().qualifiers.rounding;
        assert_eq!((rounded, Rounding::Nearest.is_to_integer()), (Some(Rounding::IntegerNearest), false));
        assert_eq!(parse("ld.global.v4.f32").unwrap().lanes(), 4);
    }

    #[test]
    fn what_no_instruction_says_is_not_written() {
        let writes = |description: Description| description.write(&mut Vec::new());
        let add = Description::new(Operation::Add, Qualifiers::default(), &[PtxType::S32]);
        assert!(writes(add));
        let compared = Qualifiers { comparison: Some(Comparison::Less), ..Qualifiers::default() };
        assert!(!writes(Description { qualifiers: compared, ..add }));
        assert!(!writes(Description { qualifiers: Qualifiers::of(Modifiers::UNIFORM), ..add }));
        assert!(!writes(Description::new(Operation::Add, Qualifiers::default(), &[PtxType::S32; 3])));
        assert!(!writes(Description { types: [None; 5], ..add }));
        assert!(!writes(Description { operation: Operation::Setp, ..add }));
        assert!(!writes(Description { types: [None, Some(PtxType::S32), None, None, None], ..add }));
        assert!(!writes(Description::default()));
        assert_eq!(Description::default().to_string(), "?");
    }

    #[test]
    fn the_target_flushes_what_could_be_flushed() {
        let plain = parse("add.f32").unwrap();
        let old = Dialect { flushes: true, ..Dialect::default() };
        assert!(!plain.flushes() && Description { dialect: old, ..plain }.flushes());
        assert!(parse("add.ftz.f32").unwrap().flushes());
        for mnemonic in ["add.f64", "mov.f32", "ld.global.f32", "add.s32"] {
            assert!(!Description { dialect: old, ..parse(mnemonic).unwrap() }.flushes(), "{mnemonic}");
        }
        let older = Dialect { wide_conversions_keep: true, ..old };
        for (mnemonic, flushes) in [
            ("cvt.f64.f32", false),
            ("cvt.rn.f32.f64", false),
            ("cvt.rzi.s64.f32", false),
            ("cvt.ftz.rzi.s64.f32", true),
            ("cvt.rzi.s32.f32", true),
            ("cvt.rpi.f32.f32", true),
            ("add.f32", true),
        ] {
            let description = parse(mnemonic).unwrap();
            assert!(Description { dialect: old, ..description }.flushes(), "{mnemonic}");
            assert_eq!(Description { dialect: older, ..description }.flushes(), flushes, "{mnemonic}");
        }
    }

    /// A form has one: no more than a cache line and a half.
    #[test]
    fn descriptions_are_small() {
        assert!(size_of::<Description>() <= 80, "{}", size_of::<Description>());
    }
}
