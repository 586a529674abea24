//! Broken and half-broken modules, made from good ones.
//!
//! A mutant starts as a module of corpus or forms, cut into tokens, each with the blanks after it. A few changes to
//! the tokens, then perhaps some to the bytes, give text that often still has a meaning and sometimes one that no one
//! had in mind. Some mutants are nothing but words of the language, or random bytes.

use crate::plain::tokens;

/// Gives a number below its argument, which is not 0.
pub type Dice<'d> = &'d mut dyn FnMut(usize) -> usize;

/// Modules to start from are at most this large: a mutant then costs a few hundred microseconds.
const SEED_SIZE_MAX: usize = 24 << 10;

/// Changes to one mutant.
const CHANGE_COUNT_MAX: usize = 6;

/// Words that matter somewhere in the reader.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "{", "}", "(", ")", "[", "]", "<", ">", ",", ";", ":", "|", "!", "@", "@!", "+", "-", "~", "?", "=", ".", "_", "%",
    "$", "\"", "\\", "/*", "*/", "//", "#", "@@DWARF", "::", ".reg", ".reg .b32", ".reg .pred", ".reg .v4 .f32",
    ".local .align 16 .b8", ".shared", ".param .b32", ".const", ".global", ".extern .shared", ".weak", ".entry",
    ".func", ".visible", ".alias", ".loc 1 2 3\n", ".loc 1 2 3, function_name", ", inlined_at 1 2 3", ".file 1 \"x\"",
    ".section .debug_x {", ".pragma \"nounroll\";", ".pragma \"used_bytes_mask 0x1\";", ".branchtargets",
    ".calltargets", ".callprototype", ".version 8.0", ".target sm_90, debug", ".address_size 64", ".maxntid 1", ".attribute(.managed)",
    ".b32", ".pred", ".v2", ".v4", ".f32x2", ".cc", ".sync", ".aligned", ".uni", ".x", ".h0", ".b3210", "mov.u32", "add.cc.u32",
    "addc.u32", "madc.hi.cc.u64", "setp.eq.and.u32", "ld.global.v4.u32", "st.shared.v2.f32", "bra", "bra.uni", "brx.idx",
    "call", "call.uni", "ret", "exit", "trap", "bar.sync", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
    "tcgen05.mma.cta_group::1.kind::f16", "cp.async.bulk.shared::cta.global", "tex.2d.v4.f32.f32", "frobnicate.x",
    "%tid.x", "%laneid", "tid", "WARP_SZ", "%r", "%r1", "%p1", "%rd1", "%r<9>", "%r<20000000>", "<0>", "<1>",
    "<4294967295>", "<99999999999>", "%r4294967295", "%r01", "L", "L:", "L: L:", "x", "x[3]", "[x]", "[x+4]",
    "[x+-8]", "+2147483648", "+9223372036854775807", "-9223372036854775808", "[3]", "[]", "= {1, 2}", "= \"s\"",
    "mask(x)", "generic(x)", "0", "-1", "1.5", ".5", "1e999", "1e", "0x", "0xFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF",
    "0b1", "0b2", "017", "08", "7U", "0f3F800000", "0fF", "0d3FF0000000000000", "2147483647", "-2147483649",
    "18446744073709551615", "18446744073709551616", "(1+2)", "((((1))))", "1/0", "1%0", "1<<64", "-(-1)", "!0", "~0",
    "1?2:3", "1?2", "(.s64)1", "(.u64)-1", "1&&2", "\u{0}", "\r\n", "\t", "\u{b}", "é", "\u{feff}",
];

/// A module to start from, cut into tokens with the blanks after them.
struct Seed {
    pieces: Vec<Vec<u8>>,
    /// Where statements start: after semicolons and braces.
    starts: Vec<usize>,
}

/// Modules to start from.
pub struct Seeds {
    seeds: Vec<Seed>,
}

/// A mutant of `text`: some of its tokens changed, then perhaps some bytes.
pub fn changed(text: &[u8], dice: Dice<'_>) -> Vec<u8> {
    let seeds = Seeds { seeds: vec![Seed::of(text)] };
    if seeds.seeds[0].pieces.is_empty() { Vec::new() } else { seeds.changed(dice) }
}

impl Seeds {
    /// Those of `texts` that are not too large.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn new(texts: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let seeds: Vec<Seed> = texts
            .into_iter()
            .filter(|text| text.len() <= SEED_SIZE_MAX)
            .map(|text| Seed::of(&text))
            .collect();
        assert!(!seeds.is_empty(), "no module is small enough");
        Self { seeds }
    }

    /// A mutant.
    pub fn mutant(&self, dice: Dice<'_>) -> Vec<u8> {
        match dice(24) {
            0 => bytes(512, dice),
            1 => soup(dice),
            _ => self.changed(dice),
        }
    }

    fn seed(&self, dice: Dice<'_>) -> &Seed {
        &self.seeds[dice(self.seeds.len())]
    }

    fn changed(&self, dice: Dice<'_>) -> Vec<u8> {
        let seed = self.seed(dice);
        let mut pieces = seed.pieces.clone();
        // Mostly few: each change halves the chance that the module is still accepted.
        for _ in 0..=dice(CHANGE_COUNT_MAX).min(dice(CHANGE_COUNT_MAX)) {
            if pieces.is_empty() {
                break;
            }
            self.change(seed, &mut pieces, dice);
        }
        let mut text = pieces.concat();
        if dice(8) == 0 && !text.is_empty() {
            change_bytes(&mut text, dice);
        }
        text
    }

    /// One change to the tokens. Statement places are those of the seed, which is near enough.
    fn change(&self, seed: &Seed, pieces: &mut Vec<Vec<u8>>, dice: Dice<'_>) {
        let count = pieces.len();
        let at = dice(count);
        let end = (at + 1 + dice(8)).min(count);
        match dice(14) {
            0 => drop(pieces.drain(at..end)),
            1 => {
                let copy = pieces[at..end].to_vec();
                let place = dice(count + 1);
                pieces.splice(place..place, copy);
            }
            2 => pieces.swap(at, (at + 1 + dice(8)) % count),
            3 | 4 => {
                // A token of the same kind from the same module: registers for registers, numbers for numbers.
                let kind = kind(&pieces[at]);
                let first = dice(count);
                let others = (first..count).chain(0..first);
                if let Some(other) =
                    others.take(4096).find(|&other| kind == self::kind(&pieces[other]) && other != at)
                {
                    pieces[at] = pieces[other].clone();
                }
            }
            5 => {
                let other = self.seed(dice);
                pieces[at] = other.pieces[dice(other.pieces.len())].clone();
            }
            6 | 7 => {
                let word = format!(" {} ", WORDS[dice(WORDS.len())]).into_bytes();
                if dice(2) == 0 { pieces[at] = word } else { pieces.insert(at, word) }
            }
            8 | 9 => {
                let other = self.seed(dice);
                let statement = other.statements(1 + dice(3), dice);
                let place = seed.start(dice).min(count);
                pieces.splice(place..place, statement);
            }
            10 => {
                let statement = seed.statements(1 + dice(3), dice);
                let place = seed.start(dice).min(count);
                pieces.splice(place..place, statement);
            }
            11 => {
                let start = seed.start(dice).min(count);
                let length = pieces[start..].iter().position(|piece| piece.starts_with(b";"));
                pieces.drain(start..(start + length.map_or(1, |length| length + 1)).min(count));
            }
            12 => {
                let (one, other) = (seed.start(dice).min(count), seed.start(dice).min(count));
                pieces.insert(one.max(other), b"} ".to_vec());
                pieces.insert(one.min(other), b"{ ".to_vec());
            }
            _ => {
                // One word becomes another everywhere: a register a label, a label a variable.
                let (old, new) = (word_of(&pieces[at]).to_vec(), word_of(&pieces[dice(count)]).to_vec());
                for piece in pieces.iter_mut().filter(|piece| word_of(piece) == old) {
                    let blanks = piece.split_off(old.len());
                    *piece = [new.clone(), blanks].concat();
                }
            }
        }
    }
}

impl Seed {
    fn of(text: &[u8]) -> Self {
        let tokens = tokens(text);
        let ends = tokens.iter().skip(1).map(|token| token.first).chain([text.len()]);
        let pieces: Vec<Vec<u8>> =
            tokens.iter().zip(ends).map(|(token, end)| text[token.first..end].to_vec()).collect();
        let ends_statement = |piece: &Vec<u8>| matches!(piece[0], b';' | b'{' | b'}' | b':');
        let starts = (1..pieces.len()).filter(|&at| ends_statement(&pieces[at - 1])).chain([0]).collect();
        Self { pieces, starts }
    }

    fn start(&self, dice: Dice<'_>) -> usize {
        self.starts[dice(self.starts.len())]
    }

    /// Some statements that follow one another.
    fn statements(&self, count: usize, dice: Dice<'_>) -> Vec<Vec<u8>> {
        let first = self.start(dice);
        let semicolons = (first..self.pieces.len()).filter(|&at| self.pieces[at].starts_with(b";"));
        let end = semicolons.take(count).last().unwrap_or(first);
        self.pieces[first..=end.min(self.pieces.len() - 1)].to_vec()
    }
}

/// What a token looks like: registers, other words, numbers, each punctuation.
fn kind(piece: &[u8]) -> u8 {
    match piece[0] {
        b'0'..=b'9' => b'0',
        byte if byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$') => b'a',
        byte => byte,
    }
}

/// The token of a piece, without the blanks after it.
fn word_of(piece: &[u8]) -> &[u8] {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%');
    let length = piece.iter().take_while(|byte| is_word(byte)).count();
    &piece[..length.max(1)]
}

fn bytes(size_max: usize, dice: Dice<'_>) -> Vec<u8> {
    (0..dice(size_max)).map(|_| dice(256) as u8).collect()
}

/// Words of the language after a good start.
fn soup(dice: Dice<'_>) -> Vec<u8> {
    let heads = [
        "",
        ".version 8.0\n.target sm_90\n",
        ".version 8.0\n.target sm_90\n.entry k(.param .u64 p)\n{\n",
        ".version 8.0\n.target sm_90\n.entry k(.param .u64 p)\n{ .reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %rd<3>;\n",
    ];
    let mut text = heads[dice(heads.len())].to_owned();
    for _ in 0..dice(60) {
        text.push_str(WORDS[dice(WORDS.len())]);
        text.push_str([" ", "", ";\n", ", "][dice(4)]);
    }
    if dice(2) == 0 {
        text.push_str("; ret; }\n");
    }
    text.into_bytes()
}

fn change_bytes(text: &mut Vec<u8>, dice: Dice<'_>) {
    let at = dice(text.len());
    match dice(5) {
        0 => text[at] ^= 1 << dice(8),
        1 => text[at] = dice(256) as u8,
        2 => text.truncate(at),
        3 => drop(text.splice(at..at, bytes(16, dice))),
        _ => drop(text.drain(at..(at + 1 + dice(16)).min(text.len()))),
    }
}
