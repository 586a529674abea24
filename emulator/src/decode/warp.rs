//! What the lanes of a warp execute together.

use super::{Decoder, Instruction, NotModelled};
use crate::program::{Kind, ReduxMode, ShuffleMode, Target, Together, VoteMode, WarpOp};
use ptxopt_components::types::PtxType;

impl Decoder<'_> {
    /// `shfl`, `vote`, `match`, `redux`, `elect`.
    pub(super) fn warp_op(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let together = together(of).ok_or(NotModelled)?;
        let is_sync = of.has("sync");
        let value_count = match together {
            Together::Shuffle(_) => 3,
            Together::Elect => 0,
            _ => 1,
        };
        if of.items.len() != 1 + value_count + usize::from(is_sync) {
            return Err(NotModelled);
        }
        let mut targets = Vec::new();
        for &operand in of.item(0)? {
            targets.push(self.target(operand)?);
        }
        // A value, and a predicate beside it.
        if targets.len() > 2 {
            return Err(NotModelled);
        }
        let mut sources = Vec::new();
        let mut is_negated = false;
        for at in 1..=value_count {
            let (source, negated) = self.predicate(of.single(at)?)?;
            sources.push(source);
            is_negated |= negated;
        }
        let members = match is_sync {
            true => Some(self.source(of.single(1 + value_count)?, None)?),
            false => None,
        };
        Ok(self.warp_kind(of.mnemonic, together, sources, is_negated, targets, members))
    }

    /// `bar.warp.sync mask`.
    pub(super) fn warp_barrier(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        let members = Some(self.source(of.single(0)?, None)?);
        Ok(self.warp_kind(of.mnemonic, Together::Barrier, Vec::new(), false, Vec::new(), members))
    }

    fn warp_kind(
        &mut self,
        mnemonic: &str,
        together: Together,
        sources: Vec<crate::program::Source>,
        is_negated: bool,
        targets: Vec<Target>,
        members: Option<crate::program::Source>,
    ) -> Kind {
        let next = self.shared.mnemonics.len() as u32;
        let qualifiers = *self.shared.mnemonics.entry(mnemonic.to_owned()).or_insert(next);
        Kind::Warp(Box::new(WarpOp {
            together,
            members,
            qualifiers,
            sources: sources.into(),
            is_negated,
            targets: targets.into(),
        }))
    }
}

/// What the mnemonic says.
fn together(of: &Instruction<'_>) -> Option<Together> {
    let chosen = |choices: &[&str]| choices.iter().position(|word| of.has(word));
    Some(match of.root() {
        "shfl" => Together::Shuffle(match chosen(&["up", "down", "bfly", "idx"])? {
            0 => ShuffleMode::Up,
            1 => ShuffleMode::Down,
            2 => ShuffleMode::Butterfly,
            _ => ShuffleMode::Index,
        }),
        "vote" => Together::Vote(match chosen(&["all", "any", "uni", "ballot"])? {
            0 => VoteMode::All,
            1 => VoteMode::Any,
            2 => VoteMode::Uniform,
            _ => VoteMode::Ballot,
        }),
        "match" => {
            let mask = if of.last_type()?.bits() == 64 { u64::MAX } else { u64::from(u32::MAX) };
            Together::Match { is_all: of.has("all"), mask }
        }
        "redux" => Together::Redux(redux(of)?),
        "elect" => Together::Elect,
        _ => return None,
    })
}

fn redux(of: &Instruction<'_>) -> Option<ReduxMode> {
    let ty = of.last_type()?;
    let is_signed = ty == PtxType::S32;
    let operation = ["add", "min", "max", "and", "or", "xor"].into_iter().find(|word| of.has(word))?;
    Some(match operation {
        "min" | "max" if ty == PtxType::F32 => {
            ReduxMode::Float { is_max: operation == "max", is_abs: of.has("abs"), keeps_nan: of.has("NaN") }
        }
        "add" => ReduxMode::Add,
        "min" if is_signed => ReduxMode::MinSigned,
        "max" if is_signed => ReduxMode::MaxSigned,
        "min" => ReduxMode::MinUnsigned,
        "max" => ReduxMode::MaxUnsigned,
        "and" => ReduxMode::And,
        "or" => ReduxMode::Or,
        _ => ReduxMode::Xor,
    })
}
