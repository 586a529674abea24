//! The doors to the columns of a shard.
//!
//! Phases never see entities: each parameter here gives the columns of one archetype as slices, cut at the rows in
//! use. A system's parameters are exactly what it reads and writes. Change ticks are bypassed; epochs serve instead.
//!
//! Code is changed by the editor, which keeps epochs and marks true. A system that takes the columns of blocks,
//! instructions or registers to write them itself is noted ([`InUse::is_written`]): what verifiers know of rows that nobody
//! has edited is worth nothing from then on.

use crate::edit::CodeColumns;
use crate::run::facts::{CodeFacts, Fact};
use crate::store::tables::Pools;
use crate::store::view::CodeView;
use bevy_ecs::change_detection::ContiguousMut;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use ptxopt_components::block::{BlockEdges, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeSpans, CodeState, CodeText};
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands, InstPlace};
use ptxopt_components::vreg::{VRegHead, VRegName};
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows in use of each archetype, the room of functions included. Rows above belong to the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveRows {
    /// Code objects.
    pub codes: usize,
    /// Blocks.
    pub blocks: usize,
    /// Instructions.
    pub insts: usize,
    /// Virtual registers.
    pub vregs: usize,
}

/// What of the columns is in use.
#[derive(Resource, Default)]
pub struct InUse {
    live: LiveRows,
    /// Atomic, so that systems that write columns need no more than to read this.
    is_written: AtomicBool,
}

impl InUse {
    /// Of a batch that was just loaded.
    pub(crate) fn new(live: LiveRows) -> Self {
        Self { live, is_written: AtomicBool::new(false) }
    }

    /// Rows in use.
    pub(crate) fn live(&self) -> LiveRows {
        self.live
    }

    /// Whether a system has taken columns of code to write them past the editor, since the batch was loaded.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.is_written.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.is_written.store(true, Ordering::Relaxed);
    }
}

/// The pools of the batch as a resource.
#[derive(Resource, Default)]
pub struct PoolsResource(pub Pools);

/// Declares a reading and a writing parameter for one archetype: struct names, the field of [`LiveRows`], and the
/// columns, those that never change after loading after the semicolon. `code` or `facts` says whether writing is noted.
/// Expands to two `SystemParam`s.
macro_rules! columns {
    (@code $note:expr) => { $note };
    (@facts $note:expr) => {};
    ($(#[$doc:meta])* $holds:ident $read:ident, $write:ident, $live:ident, $($column:ident: $ty:ty),+ ; $($kept:ident: $kept_ty:ty),*) => {
        $(#[$doc])*
        #[derive(SystemParam)]
        pub struct $read<'w, 's> {
            rows: Query<'w, 's, ($(&'static $ty,)+ $(&'static $kept_ty,)*)>,
            live: Res<'w, InUse>,
        }

        impl $read<'_, '_> {
            /// All columns, cut at the rows in use.
            #[must_use]
            pub fn columns(&self) -> ($(&[$ty],)+ $(&[$kept_ty],)*) {
                let live = self.live.live.$live;
                match self.rows.contiguous_iter().ok().and_then(|mut rows| rows.next()) {
                    Some(($($column,)+ $($kept,)*)) => ($(&$column[..live],)+ $(&$kept[..live],)*),
                    None => {
                        assert_eq!(live, 0, "rows in use without a table");
                        ($(<&[$ty]>::default(),)+ $(<&[$kept_ty]>::default(),)*)
                    }
                }
            }
        }

        $(#[$doc])*
        ///
        /// To be written.
        #[derive(SystemParam)]
        pub struct $write<'w, 's> {
            rows: Query<'w, 's, ($(&'static mut $ty,)+ $(&'static mut $kept_ty,)*)>,
            live: Res<'w, InUse>,
        }

        impl $write<'_, '_> {
            /// All columns, cut at the rows in use.
            #[must_use]
            pub fn columns(&mut self) -> ($(&mut [$ty],)+ $(&[$kept_ty],)*) {
                columns!(@$holds self.live.note());
                self.columns_for_facts()
            }

            /// All columns, cut at the rows in use, for an analysis: it writes what it finds out, and no code.
            #[must_use]
            pub fn columns_for_facts(&mut self) -> ($(&mut [$ty],)+ $(&[$kept_ty],)*) {
                let live = self.live.live.$live;
                match self.rows.contiguous_iter_mut().ok().and_then(|mut rows| rows.next()) {
                    Some(($($column,)+ $($kept,)*)) => (
                        $(&mut ContiguousMut::bypass_change_detection_split($column).0[..live],)+
                        $(&ContiguousMut::bypass_change_detection_split($kept).0[..live],)*
                    ),
                    None => {
                        assert_eq!(live, 0, "rows in use without a table");
                        ($(<&mut [$ty]>::default(),)+ $(<&[$kept_ty]>::default(),)*)
                    }
                }
            }

            /// All columns, cut at the rows in use, those too that only loading writes.
            pub(crate) fn columns_to_load(&mut self) -> ($(&mut [$ty],)+ $(&mut [$kept_ty],)*) {
                let live = self.live.live.$live;
                match self.rows.contiguous_iter_mut().ok().and_then(|mut rows| rows.next()) {
                    Some(($($column,)+ $($kept,)*)) => (
                        $(&mut ContiguousMut::bypass_change_detection_split($column).0[..live],)+
                        $(&mut ContiguousMut::bypass_change_detection_split($kept).0[..live],)*
                    ),
                    None => {
                        assert_eq!(live, 0, "rows in use without a table");
                        ($(<&mut [$ty]>::default(),)+ $(<&mut [$kept_ty]>::default(),)*)
                    }
                }
            }
        }
    };
}

columns! {
    /// Code objects.
    facts CodeObjects, CodeObjectsMut, codes, states: CodeState, facts: CodeFacts; spans: CodeSpans, texts: CodeText
}
columns! {
    /// Blocks.
    code Blocks, BlocksMut, blocks, heads: BlockHead, edges: BlockEdges, orders: BlockOrder; labels: BlockLabel
}
columns! {
    /// Instructions.
    code Insts, InstsMut, insts, heads: InstHead, operands: InstOperands, links: InstLinks; places: InstPlace
}
columns! {
    /// Virtual registers.
    code VRegs, VRegsMut, vregs, heads: VRegHead; names: VRegName
}

/// Everything, to be read: what analyses, verifiers and dumps take.
#[derive(SystemParam)]
pub struct Code<'w, 's> {
    codes: CodeObjects<'w, 's>,
    blocks: Blocks<'w, 's>,
    insts: Insts<'w, 's>,
    vregs: VRegs<'w, 's>,
    pools: Res<'w, PoolsResource>,
}

impl Code<'_, '_> {
    /// Whether `fact` holds for a function.
    #[must_use]
    pub fn fact_holds(&self, code: CodeId, fact: Fact) -> bool {
        let (states, facts, ..) = self.codes.columns();
        facts[code.index()].holds(fact, &states[code.index()])
    }

    /// Whether a system has written code of the batch past the editor.
    #[must_use]
    pub fn is_written_past_the_editor(&self) -> bool {
        self.codes.live.is_written()
    }

    /// The facts of the functions.
    #[must_use]
    pub fn facts(&self) -> &[CodeFacts] {
        self.codes.columns().1
    }

    /// Every column of the batch.
    #[must_use]
    pub fn view(&self) -> CodeView<'_> {
        let (code_states, _, code_spans, code_texts) = self.codes.columns();
        let (block_heads, block_edges, block_orders, block_labels) = self.blocks.columns();
        let (inst_heads, inst_operands, inst_links, inst_places) = self.insts.columns();
        let (vreg_heads, vreg_names) = self.vregs.columns();
        CodeView {
            code_spans,
            code_states,
            code_texts,
            block_heads,
            block_edges,
            block_orders,
            block_labels,
            inst_heads,
            inst_operands,
            inst_places,
            inst_links,
            vreg_heads,
            vreg_names,
            pools: &self.pools.0,
        }
    }
}

/// Everything, to be written: what the editor and the undoing of steps work on.
#[derive(SystemParam)]
pub(crate) struct CodeMut<'w, 's> {
    codes: CodeObjectsMut<'w, 's>,
    blocks: BlocksMut<'w, 's>,
    insts: InstsMut<'w, 's>,
    vregs: VRegsMut<'w, 's>,
    pools: ResMut<'w, PoolsResource>,
}

impl CodeMut<'_, '_> {
    /// State and epochs of the functions.
    pub(crate) fn states(&mut self) -> &mut [CodeState] {
        self.codes.columns().0
    }

    /// Every column of the batch.
    pub(crate) fn columns(&mut self) -> CodeColumns<'_> {
        let (code_states, code_facts, code_spans, code_texts) = self.codes.columns_to_load();
        let (block_heads, block_edges, block_orders, block_labels) = self.blocks.columns_to_load();
        let (inst_heads, inst_operands, inst_links, inst_places) = self.insts.columns_to_load();
        let (vreg_heads, vreg_names) = self.vregs.columns_to_load();
        CodeColumns {
            code_spans,
            code_states,
            code_facts,
            code_texts,
            block_heads,
            block_edges,
            block_orders,
            block_labels,
            inst_heads,
            inst_operands,
            inst_places,
            inst_links,
            vreg_heads,
            vreg_names,
            pools: &mut self.pools.0,
        }
    }
}
