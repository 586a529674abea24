//! Explicit rounding: `mul.f32` becomes `mul.rn.f32`, which no assembler fuses with a sum.
//!
//! `ptxas` is told not to contract; the driver's assembler cannot be told: its option for that is for link-time
//! optimization only. A rounding modifier forbids it to both, and means what its absence means otherwise.

/// Words that stand between the root and the type of a sum or product of floats.
const MODIFIERS: &[&str] = &["ftz", "sat"];

/// Types whose sums and products round.
const TYPES: &[&str] = &["f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"];

/// The text with `.rn` on every sum, difference and product of floats that has no rounding modifier.
#[must_use]
pub fn explicit(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 64);
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'%');
        let length = rest.iter().take_while(|byte| is_word(byte)).count();
        if length == 0 {
            // A comment or a string holds no instruction.
            let skipped = match first {
                b'"' => rest[1..].iter().position(|&byte| byte == b'"').map_or(rest.len(), |at| at + 2),
                b'/' if rest.starts_with(b"//") => {
                    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
                }
                b'/' if rest.starts_with(b"/*") => {
                    rest.windows(2).position(|two| two == b"*/").map_or(rest.len(), |at| at + 2)
                }
                _ => 1,
            };
            out.extend(&rest[..skipped]);
            rest = &rest[skipped..];
            continue;
        }
        let (word, others) = rest.split_at(length);
        match rounded(word) {
            Some((root, tail)) => {
                out.extend(root);
                out.extend(b".rn");
                out.extend(tail);
            }
            None => out.extend(word),
        }
        rest = others;
    }
    out
}

/// Root and modifiers of a mnemonic that wants `.rn` between them.
fn rounded(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = std::str::from_utf8(word).ok()?;
    let (root, tail) = text.split_once('.')?;
    if !matches!(root, "add" | "sub" | "mul") {
        return None;
    }
    let (ty, modifiers) = match tail.rsplit_once('.') {
        Some((modifiers, ty)) => (ty, modifiers),
        None => (tail, ""),
    };
    let is_plain = modifiers.split('.').all(|word| word.is_empty() || MODIFIERS.contains(&word));
    (TYPES.contains(&ty) && is_plain).then(|| word.split_at(root.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_of_floats_get_a_rounding() {
        for (before, after) in [
            ("mul.f32 %f1, %f2, %f3;", "mul.rn.f32 %f1, %f2, %f3;"),
            ("@%p1 add.ftz.f32 a, b, c;", "@%p1 add.rn.ftz.f32 a, b, c;"),
            ("{sub.sat.f16x2 a,b,c;}", "{sub.rn.sat.f16x2 a,b,c;}"),
            ("add.f64\ta, b, c;", "add.rn.f64\ta, b, c;"),
        ] {
            assert_eq!(String::from_utf8(explicit(before.as_bytes())).unwrap(), after);
        }
    }

    #[test]
    fn nothing_else_changes() {
        for text in [
            "mul.rz.f32 a, b, c; add.rn.ftz.f32 a, b, c;",
            "add.s32 a, b, c; mul.wide.u32 a, b, c; add.cc.u32 a, b, c; add.noftz.f16 a, b, c;",
            "fma.rn.f32 a, b, c, d; min.f32 a, b, c; atom.global.add.f32 a, [b], c;",
            "// mul.f32\n/* add.f64 */ .file 1 \"sub.f32\"\n",
            "\"unfinished mul.f32",
        ] {
            assert_eq!(String::from_utf8(explicit(text.as_bytes())).unwrap(), text);
        }
    }
}
