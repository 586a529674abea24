//! `mov`: copies, and packing and unpacking of brace vectors, the first element lowest.

use super::decoder::Decoder;
use super::lift::{Shaped, lift};
use super::logic::Predicate;
use super::types::{Type, ones};

/// `mov` of all types. A `.b128` register is two cells here, so its moves from and to two `.b64` are copies.
pub(super) fn mov(d: &mut Decoder) -> Option<Shaped> {
    let vector = d.take_known(|word| match word {
        "v2" => Some(2),
        "v4" => Some(4),
        _ => None,
    });
    let kind = d.take_type()?;
    if kind == Type::Pred {
        let a = Predicate::source(d, 0);
        return vector.is_none().then(|| lift(move |[p]| [u64::from(a.holds(p))]));
    }
    let width = match kind {
        Type::B16 | Type::U16 | Type::S16 => 16,
        Type::B32 | Type::U32 | Type::S32 | Type::F32 => 32,
        Type::B64 | Type::U64 | Type::S64 | Type::F64 => 64,
        Type::B128 => 128,
        _ => return None,
    };
    let bits = matches!(kind, Type::B16 | Type::B32 | Type::B64 | Type::B128);
    match (vector, d.results(), d.sources()) {
        (Some(2), 2, 2) if width <= 64 => Some(copy::<2>(width)),
        (Some(4), 4, 4) if width <= 64 => Some(copy::<4>(width)),
        (Some(_), _, _) => None,
        (None, 1, 1) if width <= 64 => Some(copy::<1>(width)),
        (None, 2, 2) if width == 128 => Some(copy::<2>(64)),
        (None, 2, 4) if width == 128 => {
            Some(lift(|[a, b, c, d]| [u64::from(a as u32) | b << 32, u64::from(c as u32) | d << 32]))
        }
        (None, 4, 2) if width == 128 => {
            Some(lift(|[a, b]| [u64::from(a as u32), a >> 32, u64::from(b as u32), b >> 32]))
        }
        (None, 1, 2) if bits && width <= 64 => Some(pack::<2>(width / 2)),
        (None, 1, 4) if bits && (32..=64).contains(&width) => Some(pack::<4>(width / 4)),
        (None, 2, 1) if bits && width <= 64 => Some(unpack::<2>(width / 2)),
        (None, 4, 1) if bits && (32..=64).contains(&width) => Some(unpack::<4>(width / 4)),
        _ => None,
    }
}

/// As many cells as there are, cut to `width`.
fn copy<const N: usize>(width: u32) -> Shaped {
    let mask = ones(width);
    lift(move |cells: [u64; N]| cells.map(|cell| cell & mask))
}

fn pack<const S: usize>(part: u32) -> Shaped {
    lift(move |cells: [u64; S]| [cells.iter().rev().fold(0, |all, cell| all << part | cell & ones(part))])
}

fn unpack<const R: usize>(part: u32) -> Shaped {
    lift(move |[a]| std::array::from_fn::<_, R, _>(|index| a >> (part * index as u32) & ones(part)))
}
