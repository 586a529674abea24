//! From a word after a dot to what it may mean.
//!
//! One word means several things in several instructions: `.and` combines predicates, is the operation of an atomic
//! access, and reduces. The syntax of the operation says which meaning is meant.

use super::{Extent, Modifiers, Qualifiers};
use crate::operation::Operation;
use crate::types::PtxType;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A value of the field with a number, by its own number.
    Field { field: u8, value: u8 },
    /// A bit.
    Modifier(Modifiers),
    /// A type.
    Type(PtxType),
}

/// Words of PTX ISA 9.1 to 9.5 that no operation's syntax has. The opcode table knows operands and effects of the instructions that
/// they qualify; of the results no phase knows anything.
const OPAQUE: &[&str] = &[
    // Arithmetic and conversions.
    "2pi",
    "pzo",
    "scaled::n1::ue8m0",
    "scaled::n2::ue8m0",
    // Memory and caches.
    "proxy::readonly",
    "valid_addr",
    "L1::32B",
    "fabric",
    // Asynchronous copies and barriers in memory.
    "ignore_oob",
    "multicast::cluster::16b",
    "multicast::cluster::32b",
    "override::global_address",
    "override::global_dim",
    "override::global_dim_stride",
    "im2col_no_offs::w",
    "im2col_no_offs::w::128",
    "phase_type::primary",
    "phase_type::conditional",
    "alloc_large",
    "alloc_small",
    "alloc_same",
    // Fences and waits.
    "async::fabric",
    "fabric::async",
    "fabric::fabric",
    "fabric::generic",
    "generic::fabric",
    "sync_restrict::proxy::async",
    "sync_restrict::shared::cluster::read",
    "sync_restrict::shared::read::mma::a",
    "sync_restrict::shared::read::mma::b",
    // Tensor cores.
    "exclusive",
    "kind::ti16",
    "decompress::lut::b",
    "collector::b::discard",
    "collector::b::fill",
    "collector::b::lastuse",
    "collector::b::use",
];

/// What of a copy is reported to its barrier, with a number after it (ISA 9.4).
const REPORT_OF_VALIDITY: &[u8] = b"mbarrier::report::validity::";

/// Looked up once for each word of a new mnemonic, and never gone through.
static MEANINGS: LazyLock<HashMap<&'static [u8], Vec<Meaning>>> = LazyLock::new(index);

fn index() -> HashMap<&'static [u8], Vec<Meaning>> {
    let mut meanings: HashMap<&'static [u8], Vec<Meaning>> = HashMap::new();
    for (number, field) in Qualifiers::FIELDS.iter().enumerate() {
        for (value, word) in field.words.iter().enumerate() {
            let meaning = Meaning::Field { field: number as u8, value: value as u8 };
            meanings.entry(word.as_bytes()).or_default().push(meaning);
        }
    }
    for &(bit, word) in Modifiers::WORDS {
        meanings.entry(word.as_bytes()).or_default().push(Meaning::Modifier(bit));
    }
    for ty in PtxType::all() {
        meanings.entry(ty.name().as_bytes()).or_default().push(Meaning::Type(ty));
    }
    // What belongs to the name of an operation means nothing by itself.
    let names = Operation::ALL.iter().flat_map(|operation| operation.name().split('.').skip(1));
    for word in names.chain(OPAQUE.iter().copied()) {
        meanings.entry(word.as_bytes()).or_default();
    }
    meanings
}

/// What `word` may mean as a qualifier.
pub(crate) fn meanings(word: &[u8]) -> &'static [Meaning] {
    MEANINGS.get(word).map_or(&[], Vec::as_slice)
}

/// Whether the ISA has the word, as a qualifier of some instruction. A word that it does not have may mean anything, so a
/// mnemonic with one is kept like an instruction that is not known.
#[must_use]
pub fn is_known(word: &[u8]) -> bool {
    MEANINGS.contains_key(word) || Extent::parse(word).is_some() || word.starts_with(REPORT_OF_VALIDITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcodes::Opcodes;

    #[test]
    fn words_of_the_isa_are_known_and_others_are_not() {
        for word in [
            "volatile",
            "f32",
            "L2::128B",
            "m16n8k16",
            "m64n256k8",
            "16x32bx2",
            "2d",
            "e4m3x2",
            "commit_group",
        ] {
            assert!(is_known(word.as_bytes()), "{word}");
        }
        for word in ["newthing", "", "m", "x", "d2", "m16n8z4", "L2::1B", "Volatile"] {
            assert!(!is_known(word.as_bytes()), "{word}");
        }
    }

    /// The table's patterns name qualifiers too.
    #[test]
    fn every_word_of_the_table_is_known() {
        for row in Opcodes::rows() {
            for word in row.pattern.split(['.', '*']).skip(1).filter(|word| !word.is_empty()) {
                assert!(is_known(word.as_bytes()), "{}", row.pattern);
            }
        }
    }

    #[test]
    fn a_word_may_mean_several_things() {
        assert!(meanings(b"and").len() > 1);
        assert_eq!(meanings(b"f32"), [Meaning::Type(PtxType::F32)]);
        assert!(meanings(b"commit_group").is_empty());
    }
}
