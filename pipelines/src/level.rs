//! The optimization levels.

use std::fmt;
use std::str::FromStr;

/// How much work to put into the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptLevel {
    /// Changes layout only: every instruction stays as it is.
    O0,
    /// What is cheap and always pays.
    O1,
    /// What pays for most code.
    #[default]
    O2,
    /// Everything.
    O3,
}

impl OptLevel {
    /// Every level, lowest first.
    pub const ALL: [OptLevel; 4] = [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3];

    /// The number of the level.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The level of a number. Users of the assembler write 4 and 5, too: they mean 3.
    pub const fn from_number(number: i64) -> Option<OptLevel> {
        match number {
            0 => Some(OptLevel::O0),
            1 => Some(OptLevel::O1),
            2 => Some(OptLevel::O2),
            3..=5 => Some(OptLevel::O3),
            _ => None,
        }
    }
}

impl fmt::Display for OptLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("O{}", self.number()))
    }
}

impl FromStr for OptLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<OptLevel, UnknownLevel> {
        let number = text.parse().ok().and_then(OptLevel::from_number);
        number.ok_or_else(|| UnknownLevel { text: text.to_owned() })
    }
}

/// There is no such level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel {
    /// What was typed.
    pub text: String,
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no optimization level; expected 0 to 5", self.text)
    }
}

impl std::error::Error for UnknownLevel {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_above_three_are_three() {
        let level = |text: &str| text.parse::<OptLevel>();
        assert_eq!(level("0"), Ok(OptLevel::O0));
        assert_eq!(level("3"), level("5"));
        for wrong in ["6", "-1", "", "s"] {
            assert_eq!(level(wrong), Err(UnknownLevel { text: wrong.to_owned() }));
        }
    }
}
