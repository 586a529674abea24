//! Labels of a function: declared anywhere in a scope, referred to from it and from the scopes inside.

use ptxopt_components::ids::NameId;

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
}

/// Where a reference stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Operand `slot` of an instruction of this function.
    Operand { inst: u32, slot: u16 },
    /// An entry of the target pool.
    Table { target: u32 },
}

/// A reference whose label is not known yet.
#[derive(Clone, Copy, Debug)]
struct Reference {
    name: NameId,
    offset: u32,
    place: Place,
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
    pending: Vec<Reference>,
    /// By name: label of the scope that is closing, valid where the stamp is current.
    by_name: Vec<(u32, u32)>,
    stamp: u32,
}

impl Labels {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.resolved.clear();
        self.open.clear();
        self.pending.clear();
    }

    /// How many labels and references are open: what a scope remembers when it opens.
    pub(super) fn marks(&self) -> (usize, usize) {
        (self.open.len(), self.pending.len())
    }

    pub(super) fn declare(&mut self, label: Label) {
        self.open.push(self.all.len() as u32);
        self.all.push(label);
    }

    pub(super) fn refer_from_operand(&mut self, name: NameId, offset: u32, inst: u32, slot: u16) {
        self.pending.push(Reference { name, offset, place: Place::Operand { inst, slot } });
    }

    pub(super) fn refer_from_table(&mut self, name: NameId, offset: u32, target: u32) {
        self.pending.push(Reference { name, offset, place: Place::Table { target } });
    }

    /// Closes the scope that opened at `marks`: its references meet its labels, and the rest is left to the scope
    /// around. Gives the second of two labels with one name, if there are such.
    pub(super) fn close(&mut self, (labels, pending): (usize, usize)) -> Result<(), Label> {
        self.stamp += 1;
        for &index in &self.open[labels..] {
            let label = self.all[index as usize];
            let slot = label.name.0 as usize;
            if self.by_name.len() <= slot {
                self.by_name.resize(slot + 1, (0, 0));
            }
            if self.by_name[slot].0 == self.stamp {
                return Err(label);
            }
            self.by_name[slot] = (self.stamp, index);
        }
        self.open.truncate(labels);
        let Self { all, resolved, by_name, stamp, pending: references, .. } = self;
        let mut kept = pending;
        for at in pending..references.len() {
            let reference = references[at];
            match by_name.get(reference.name.0 as usize) {
                Some(&(seen, label)) if seen == *stamp => {
                    all[label as usize].is_target = true;
                    resolved.push(Resolved { place: reference.place, label });
                }
                _ => {
                    references[kept] = reference;
                    kept += 1;
                }
            }
        }
        references.truncate(kept);
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
        self.pending.first().map(|reference| (reference.name, reference.offset))
    }
}
