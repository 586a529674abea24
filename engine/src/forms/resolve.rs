//! What the text of a mnemonic says, worked out once.

use ptxopt_components::description::{Description, Dialect};
use ptxopt_components::form::{Form, FormFlags};
use ptxopt_components::ids::{FormId, Maybe, Span};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::{Effects, InFlight, Opcodes, Row};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{self, Modifiers, Qualifiers, Space};
use ptxopt_components::types::{PtxType, StateSpace};

/// How the reader takes the operands of a mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Registers, literals, symbols, addresses, vectors.
    General,
    /// The first operand is a label.
    Branch,
    /// Parenthesised parameter lists.
    Call,
    /// The root is unknown: taken as general where that fits, else copied through.
    Unknown,
}

/// An interned mnemonic with everything that its text alone says.
pub(super) struct Mnemonic {
    pub(super) text: Span,
    pub(super) dialect: Dialect,
    /// None too where a qualifier is not known: it may say anything about the operands.
    pub(super) row: Option<&'static Row>,
    pub(super) operands: Operands,
    /// The form that its qualifiers make; shape and slots are filled in for each shape.
    pub(super) pattern: Form,
    /// What it computes; unknown where it is not understood whole.
    pub(super) description: Description,
    /// The forms seen so far, as a list through the table's `next`.
    pub(super) first_form: Maybe<FormId>,
}

impl Mnemonic {
    pub(super) fn resolve(text: &[u8], span: Span, dialect: Dialect) -> Self {
        let mut parts = text.split(|&byte| byte == b'.').map(<[u8]>::trim_ascii);
        let root = parts.next().unwrap_or_default();
        let words: Vec<&[u8]> = parts.collect();
        let found = Opcodes::get().find(root, &words);
        let description = Description::parse(root, &words, dialect).unwrap_or_default();
        // What is understood whole has known words only.
        let is_understood = description.operation != Operation::Unknown;
        // What adds and subtracts alone sets the carry, and is understood whole.
        let is_known =
            || is_understood || words.iter().all(|word| qualifiers::is_known(word) && *word != b"cc");
        let row = found.map(|(_, row)| row).filter(|_| is_known());
        let mut effects = found.map_or(Effects::UNKNOWN | Effects::PINNED, |(_, row)| row.effects);
        effects.set(Effects::EXIT, effects.contains(Effects::EXIT) || dialect.never_returns);
        // Words have their effects even where the whole is not understood.
        for &qualifier in &words {
            match qualifier {
                b"volatile" | b"relaxed" | b"acquire" | b"release" | b"acq_rel" | b"mmio"
                    if effects.intersects(Effects::READ | Effects::WRITE) =>
                {
                    effects |= Effects::ORDER | Effects::PINNED;
                }
                // The carry register changes: not where it did not change before.
                b"cc" => effects = (effects - Effects::SPECULATABLE) | Effects::CARRY_OUT,
                _ => {}
            }
        }
        let (types, space, lanes) = if is_understood {
            let space = description.qualifiers.space.map_or_else(StateSpace::default, Space::state_space);
            (std::array::from_fn(|at| description.types[at]), space, description.lanes())
        } else {
            let mut types = words.iter().filter_map(|word| PtxType::parse(word));
            let space = words.iter().find_map(|word| StateSpace::parse(word));
            let lanes = words.iter().find_map(|word| match *word {
                b"v2" => Some(2),
                b"v4" => Some(4),
                b"v8" => Some(8),
                _ => None,
            });
            (std::array::from_fn(|_| types.next()), space.unwrap_or_default(), lanes.unwrap_or(1))
        };
        effects.set(Effects::COMMUTES, effects.contains(Effects::COMMUTES) || commutes(&description));
        let mut flags = FormFlags::empty();
        flags.set(FormFlags::UNIFORM, description.qualifiers.has(Modifiers::UNIFORM));
        let part = description.qualifiers.part;
        flags.set(FormFlags::PLAIN, description.qualifiers == Qualifiers { part, ..Qualifiers::default() });
        flags.set(FormFlags::CONVERTS, root == Opcodes::CONVERSION.as_bytes());
        let operands = match found {
            None => Operands::Unknown,
            Some((_, row)) if row.effects.contains(Effects::CALL) => Operands::Call,
            Some((_, row)) if row.effects.contains(Effects::BRANCH) => Operands::Branch,
            Some(_) => Operands::General,
        };
        let pattern = Form {
            root: found.map_or(Opcodes::UNKNOWN_ROOT, |(root, _)| root),
            operation: description.operation,
            first_source: 0,
            effects,
            marks: Marks::empty(),
            in_flight: found.map_or(InFlight::No, |(_, row)| row.in_flight),
            flags,
            space,
            types,
            lanes,
            mnemonic: span,
            shape: Span::default(),
            slots: Span::default(),
        };
        Self { text: span, dialect, row, operands, pattern, description, first_form: Maybe::NONE }
    }
}

/// Whether the first two sources may change places where the row of the opcode table does not say so, because that
/// depends on qualifiers or types.
fn commutes(description: &Description) -> bool {
    match description.operation {
        Operation::Setp | Operation::Set => {
            description.qualifiers.comparison.is_some_and(|comparison| comparison.is_symmetric())
        }
        Operation::Dp4a => description.types[0] == description.types[1],
        _ => false,
    }
}
