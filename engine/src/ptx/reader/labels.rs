//! Labels of a function: declared anywhere in a scope, referred to from it and from the scopes inside.

use ptxopt_components::ids::{Id, NameId};
use std::ops::Range;

/// A declared label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    /// The name as spelled.
    pub name: NameId,
    /// The name as written.
    pub written: NameId,
    /// The instruction it stands before.
    pub inst: u32,
    /// Byte offset.
    pub offset: u32,
    /// Whether a branch or a table names it.
    pub is_target: bool,
    /// The instruction before which the first pragma of a block stands after it, and before other labels.
    pub pragma: Option<u32>,
}

impl Label {
    /// Whether a block begins at it; `has_control` says of a run of instructions whether control leaves one of them. Without a label of
    /// its own a block that has a pragma would be part of the one before, of which the pragma would speak then.
    pub(super) fn begins_block(&self, has_control: impl Fn(Range<usize>) -> bool) -> bool {
        self.is_target || self.pragma.is_some_and(|at| !has_control(self.inst as usize..at as usize))
    }
}

/// Where a reference stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Operand `slot` of an instruction of this function.
    Operand { inst: u32, slot: u16 },
    /// An entry of the target pool.
    Table { target: u32 },
}

/// A reference from an open scope, or one that has closed since.
#[derive(Clone, Copy, Debug)]
struct Reference {
    name: NameId,
    offset: u32,
    place: Place,
    /// The reference before it to the same name that has no label yet either.
    before: Option<u32>,
    is_resolved: bool,
}

/// A reference and the label that it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolved {
    pub place: Place,
    /// Index among the function's labels.
    pub label: u32,
}

/// Labels and references of a function.
#[derive(Default)]
pub(super) struct Labels {
    /// Every label, in textual order.
    pub all: Vec<Label>,
    /// Every reference whose label is known.
    pub resolved: Vec<Resolved>,
    /// Labels of the open scopes, as indices into `all`.
    open: Vec<u32>,
    /// Every reference, in textual order.
    references: Vec<Reference>,
    by_name: Vec<Named>,
    /// Of the function.
    stamp: u32,
    /// Of the scope that is closing.
    closing: u32,
}

/// What there is of one name. Each field is valid where its stamp is current.
#[derive(Clone, Copy, Default)]
struct Named {
    stamp: u32,
    /// The last reference without a label; those before it are chained.
    last: Option<u32>,
    /// The last scope that had a label of this name.
    declared: u32,
}

impl Labels {
    /// Forgets the function before.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.resolved.clear();
        self.open.clear();
        self.references.clear();
        self.stamp += 1;
    }

    /// How many labels are open, and references are made: what a scope remembers when it opens.
    pub(super) fn marks(&self) -> (usize, usize) {
        (self.open.len(), self.references.len())
    }

    pub(super) fn declare(&mut self, label: Label) {
        self.open.push(self.all.len() as u32);
        self.all.push(label);
    }

    /// Notes that a pragma of a block stands before instruction `inst`.
    pub(super) fn note_pragma(&mut self, inst: u32) {
        if let Some(label) = self.all.last_mut() {
            label.pragma.get_or_insert(inst);
        }
    }

    pub(super) fn refer_from_operand(&mut self, name: NameId, offset: u32, inst: u32, slot: u16) {
        self.refer(name, offset, Place::Operand { inst, slot });
    }

    pub(super) fn refer_from_table(&mut self, name: NameId, offset: u32, target: u32) {
        self.refer(name, offset, Place::Table { target });
    }

    fn refer(&mut self, name: NameId, offset: u32, place: Place) {
        let index = self.references.len() as u32;
        let before = self.named(name).last.replace(index);
        self.references.push(Reference { name, offset, place, before, is_resolved: false });
    }

    fn named(&mut self, name: NameId) -> &mut Named {
        if self.by_name.len() <= name.index() {
            self.by_name.resize(name.index() + 1, Named::default());
        }
        let (named, stamp) = (&mut self.by_name[name.index()], self.stamp);
        if named.stamp != stamp {
            *named = Named { stamp, last: None, declared: named.declared };
        }
        named
    }

    /// Closes the scope that opened at `marks`: its labels take the references that were made since and mean no label
    /// of a scope inside; others wait for a scope around. Each reference is touched once, however deep scopes nest.
    /// Gives the second of two labels with one name, if there are such.
    pub(super) fn close(&mut self, (labels, references): (usize, usize)) -> Result<(), Label> {
        self.closing += 1;
        for place in labels..self.open.len() {
            let index = self.open[place];
            let (label, closing) = (self.all[index as usize], self.closing);
            let named = self.named(label.name);
            if std::mem::replace(&mut named.declared, closing) == closing {
                return Err(label);
            }
            let mut last = named.last;
            while let Some(at) = last.filter(|&at| at as usize >= references) {
                let reference = &mut self.references[at as usize];
                reference.is_resolved = true;
                self.resolved.push(Resolved { place: reference.place, label: index });
                self.all[index as usize].is_target = true;
                last = reference.before;
            }
            self.named(label.name).last = last;
        }
        self.open.truncate(labels);
        Ok(())
    }

    /// Drops the references of the table entries that `is_forgotten` picks.
    pub(super) fn forget_targets(&mut self, is_forgotten: impl Fn(u32) -> bool) {
        let Self { all, resolved, .. } = self;
        resolved
            .retain(|reference| !matches!(reference.place, Place::Table { target } if is_forgotten(target)));
        all.iter_mut().for_each(|label| label.is_target = false);
        for reference in resolved {
            all[reference.label as usize].is_target = true;
        }
    }

    /// The first reference that no scope resolved: its name and byte offset.
    pub(super) fn unresolved(&self) -> Option<(NameId, u32)> {
        let reference = self.references.iter().find(|reference| !reference.is_resolved)?;
        Some((reference.name, reference.offset))
    }
}
