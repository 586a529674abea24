//! What a batch held when it was read: some verifiers compare with it.
//!
//! Kept only where verifiers run after the steps: it is a copy of the rows. Registers and names keep their numbers from
//! the reader to the writer, and an instruction its place in the text, so both sides can be told apart and matched.

use crate::store::tables::CodeTables;
use crate::store::view::FunctionView;
use ahash::AHashMap;
use bevy_ecs::resource::Resource;
use ptxopt_components::anchor::AnchorKind;
use ptxopt_components::ids::{CodeId, Id};

/// Where a `.loc` points: file, line, column.
pub type SourcePlace = [u32; 3];

/// A `.loc` as its text says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loc {
    /// Where it points.
    pub place: SourcePlace,
    /// Where the function that it belongs to was inlined.
    pub inlined_at: Option<SourcePlace>,
}

/// The rows of the batch as the reader made them, without their names.
#[derive(Resource, Default)]
pub struct AsRead {
    tables: CodeTables,
    locs: AHashMap<u32, Loc>,
}

impl AsRead {
    /// Keeps a copy of what was read from the module `text`.
    pub fn keep(&mut self, read: &CodeTables, text: &[u8]) {
        let AsRead { tables, locs } = self;
        tables.code_spans.clone_from(&read.code_spans);
        tables.code_states.clone_from(&read.code_states);
        tables.code_texts.clone_from(&read.code_texts);
        tables.block_heads.clone_from(&read.block_heads);
        tables.block_edges.clone_from(&read.block_edges);
        tables.block_orders.clone_from(&read.block_orders);
        tables.block_labels.clone_from(&read.block_labels);
        tables.inst_heads.clone_from(&read.inst_heads);
        tables.inst_operands.clone_from(&read.inst_operands);
        tables.inst_places.clone_from(&read.inst_places);
        tables.vreg_heads.clone_from(&read.vreg_heads);
        tables.vreg_names.clone_from(&read.vreg_names);
        let (to, from) = (&mut tables.pools, &read.pools);
        to.operands.clone_from(&from.operands);
        to.literals.clone_from(&from.literals);
        to.edges.clone_from(&from.edges);
        to.targets.clone_from(&from.targets);
        to.anchors.clone_from(&from.anchors);
        to.decls.clone_from(&from.decls);
        to.tables.clone_from(&from.tables);
        locs.clear();
        for anchor in from.anchors.iter().filter(|anchor| anchor.kind == AnchorKind::Loc) {
            if let Some(loc) = parse_loc(&text[anchor.text.range()]) {
                locs.insert(anchor.text.first, loc);
            }
        }
    }

    /// A function as it was read; nothing where no copy is kept.
    #[must_use]
    pub fn function(&self, code: CodeId) -> Option<FunctionView<'_>> {
        (code.index() < self.tables.code_spans.len()).then(|| self.tables.view().function(code))
    }

    /// What the `.loc` says whose text starts at byte `first` of the module.
    #[must_use]
    pub fn loc(&self, first: u32) -> Option<Loc> {
        self.locs.get(&first).copied()
    }
}

/// `.loc file line column [, function_name label [+ n], inlined_at file line column]`.
fn parse_loc(text: &[u8]) -> Option<Loc> {
    let words = |text: &[u8]| -> Option<SourcePlace> {
        let text = std::str::from_utf8(text).ok()?;
        let mut numbers = text.split([' ', '\t', '\n', '\r', ',']).filter(|word| !word.is_empty());
        let mut next = || numbers.next()?.parse().ok();
        Some([next()?, next()?, next()?])
    };
    let rest = text.strip_prefix(b".loc")?;
    let at = memchr::memmem::find(rest, b"inlined_at");
    let inlined_at = at.and_then(|at| words(&rest[at + b"inlined_at".len()..]));
    Some(Loc { place: words(rest)?, inlined_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loc_is_taken_apart() {
        let plain = Loc { place: [1, 20, 3], inlined_at: None };
        assert_eq!(parse_loc(b".loc 1 20 3"), Some(plain));
        assert_eq!(parse_loc(b".loc\t1\t20 3"), Some(plain));
        let inlined = Loc { place: [2, 7, 0], inlined_at: Some([1, 20, 3]) };
        let text = b".loc 2 7 0, function_name $L__info_string0 + 16, inlined_at 1 20 3";
        assert_eq!(parse_loc(text), Some(inlined));
        assert_eq!(parse_loc(b".loc 1"), None);
    }
}
