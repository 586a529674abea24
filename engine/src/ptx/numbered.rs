//! Names that end in a number: `%r12` is register 12 of `%r<20>`.

/// Digits of the largest number that a name can end in.
const DIGITS_MAX: usize = 10;

/// Digits that no number of 32 bits is too small for.
const DIGITS_SAFE: usize = 9;

/// One past the largest number that a name can end in: that of the last register of the largest range.
const NUMBER_END: u32 = u32::MAX;

/// Where the digits start in which `name` ends.
pub(super) fn digits_of(name: &[u8]) -> usize {
    name.len() - name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Where the number starts in which the name at `text[first..end]` ends, and the number. One walk from the end, for what
/// every operand is asked.
#[inline]
pub(super) fn number_after(text: &[u8], first: usize, end: usize) -> (usize, Option<u32>) {
    let (mut split, mut number, mut place) = (end, 0u32, 1u32);
    while split > first {
        let digit = text[split - 1].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_add(place.wrapping_mul(u32::from(digit)));
        place = place.wrapping_mul(10);
        split -= 1;
    }
    match end - split {
        0 => (split, None),
        1..=DIGITS_SAFE => (split, Some(number)),
        _ => (split, number_of(&text[split..end])),
    }
}

/// The number that `digits` spell. Zeros before it do not count: `%r01` is `%r1` to the assembler.
#[inline]
pub(super) fn number_of(digits: &[u8]) -> Option<u32> {
    let digits = if let [b'0', _, ..] = digits { without_zeros(digits) } else { digits };
    if !(1..=DIGITS_MAX).contains(&digits.len()) {
        return None;
    }
    let value = digits.iter().fold(0u64, |number, &digit| number * 10 + u64::from(digit - b'0'));
    u32::try_from(value).ok().filter(|&number| number < NUMBER_END)
}

#[cold]
fn without_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    &digits[zeros.min(digits.len() - 1)..]
}

/// The ways to take `name` apart: where its number starts, and the number. All digits come first, and mostly alone; a
/// prefix may end in a digit itself, `%p1<5>`, and then holds at most [`DIGITS_MAX`] digits less than the name.
pub(super) fn splits(name: &[u8]) -> impl Iterator<Item = (usize, u32)> {
    let digits = digits_of(name);
    let others = (digits + 1).max(name.len().saturating_sub(DIGITS_MAX))..name.len();
    let all = (digits < name.len()).then_some(digits);
    all.into_iter().chain(others).filter_map(|split| Some((split, number_of(&name[split..])?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_walk_gives_what_splitting_gives() {
        for name in [
            "%r",
            "%r7",
            "p104",
            "x012",
            "007",
            "",
            "r999999999",
            "r1000000000",
            "r4294967295",
            "r00000000000012",
        ] {
            let digits = digits_of(name.as_bytes());
            let text = format!("12{name}34");
            let expected = (2 + digits, number_of(&name.as_bytes()[digits..]));
            assert_eq!(number_after(text.as_bytes(), 2, 2 + name.len()), expected, "{name}");
        }
    }

    fn splits_of(name: &str) -> Vec<(&str, u32)> {
        splits(name.as_bytes()).map(|(split, number)| (&name[..split], number)).collect()
    }

    #[test]
    fn every_digit_may_belong_to_the_prefix() {
        assert_eq!(splits_of("%r"), []);
        assert_eq!(splits_of("%r7"), [("%r", 7)]);
        assert_eq!(splits_of("p104"), [("p", 104), ("p1", 4), ("p10", 4)]);
    }

    #[test]
    fn zeros_do_not_count() {
        assert_eq!(number_of(b"0000000000012"), Some(12));
        assert_eq!(number_of(b"000"), Some(0));
        assert_eq!(splits_of("x012").first(), Some(&("x", 12)));
    }

    #[test]
    fn long_numbers_are_none_and_cost_no_more() {
        assert_eq!(number_of(b"4294967294"), Some(NUMBER_END - 1));
        assert_eq!(number_of(b"4294967295"), None);
        assert_eq!(number_of(b"10000000000"), None);
        assert_eq!(number_of(b""), None);
        // Ten sevens are more than 32 bits hold.
        let long = "x".to_owned() + &"7".repeat(1000);
        assert_eq!(splits_of(&long).len(), DIGITS_SAFE);
    }
}
