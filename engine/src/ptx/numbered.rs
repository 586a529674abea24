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

/// Where the number starts in which `name` ends, and the number. There is no other way to take a name for a member: the assembler takes
/// all digits off its end. So a range whose prefix ends in a digit, `%p1<5>`, has members that nothing can name.
pub(super) fn member_of(name: &[u8]) -> Option<(usize, u32)> {
    let (split, number) = number_after(name, 0, name.len());
    Some((split, number?))
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

    #[test]
    fn all_digits_belong_to_the_number() {
        let of =
            |name: &'static str| member_of(name.as_bytes()).map(|(split, number)| (&name[..split], number));
        assert_eq!(of("%r"), None);
        assert_eq!(of("%r7"), Some(("%r", 7)));
        assert_eq!(of("p104"), Some(("p", 104)));
        assert_eq!(of("x012"), Some(("x", 12)));
    }

    #[test]
    fn zeros_do_not_count() {
        assert_eq!(number_of(b"0000000000012"), Some(12));
        assert_eq!(number_of(b"000"), Some(0));
    }

    #[test]
    fn long_numbers_are_none() {
        assert_eq!(number_of(b"4294967294"), Some(NUMBER_END - 1));
        assert_eq!(number_of(b"4294967295"), None);
        assert_eq!(number_of(b"10000000000"), None);
        assert_eq!(number_of(b""), None);
    }
}
