//! Why a function keeps its text: something in it cannot be said by rows, or no assembler takes it.

use std::fmt;

/// What makes the reader leave a function as it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftReason {
    /// Text that is copied (an unknown instruction, an index, an initialiser) names a variable or table that flattening
    /// scopes has given another name.
    CopiedTextNamesRenamed,
    /// Something that is no indexed branch names a branch table. Tables are written before the branch that names them.
    TableNamedByNoBranch,
    /// A word of a copied statement means nothing where it stands, and would mean something once scopes are flattened.
    WordCaptured,
    /// A large family of variables, `name<count>`, in an inner scope, or one that meets another name: its members cannot be
    /// renamed one by one. Or a member of a small one, spelled with zeros before its number.
    FamilyMeetsName,
    /// Registers of repeated ranges get the next numbers of a fresh prefix, and there are no more.
    NumbersExhausted,
    /// The fresh prefix of a renamed register and a number spell a name of the source.
    FreshNameTaken,
    /// A branch, return or exit whose operands are none that the table knows: it is not known where control goes.
    UnknownControlFlow,
    /// An operand is of a kind that its place does not take: a data register where a predicate must stand, a number as a
    /// result. Phases trust the kinds of operands.
    OperandNotTaken,
    /// More edges than tables hold: many branches through one long table.
    TooManyEdges,
    /// `.target` in the body, which the assembler takes, and which may be another one than that of the module.
    TargetInBody,
    /// A directive that is not known and goes on past its line: what follows may be a statement of its own.
    UnknownDirective,
}

impl fmt::Display for LeftReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CopiedTextNamesRenamed => "copied text names a variable or table that needs another name",
            Self::TableNamedByNoBranch => "a branch table is named by an instruction that is no branch",
            Self::WordCaptured => "a word of a copied statement would get a meaning",
            Self::FamilyMeetsName => "a family of variables is large, or meets another name",
            Self::NumbersExhausted => "no register numbers are left",
            Self::FreshNameTaken => "the name of a renamed register is taken",
            Self::UnknownControlFlow => "a branch, return or exit has operands that the table does not know",
            Self::OperandNotTaken => "an operand is of a kind that its instruction does not take",
            Self::TooManyEdges => "too many edges through branch tables",
            Self::TargetInBody => "a target is named in the body",
            Self::UnknownDirective => "a directive is not known",
        })
    }
}
