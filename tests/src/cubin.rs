//! The machine code in what the assembler makes, an ELF file of 64 bits.

use std::collections::BTreeMap;

/// The bytes of each code section, `.text.NAME`, by name; none when the file is not what it should be.
#[must_use]
pub fn code_sections(file: &[u8]) -> Option<BTreeMap<String, &[u8]>> {
    sections(file, ".text.")
}

/// What the module's `.global` variables hold at the start, those that hold more than zeros; none when there is none.
#[must_use]
pub fn initial_values(file: &[u8]) -> Option<&[u8]> {
    sections(file, ".nv.global.init")?.remove(".nv.global.init")
}

/// The bytes of the sections whose names start with `prefix`.
fn sections<'f>(file: &'f [u8], prefix: &str) -> Option<BTreeMap<String, &'f [u8]>> {
    const HEADER_SIZE: usize = 64;
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let sections = number(file, 40, 8)?;
    let count = number(file, 60, 2)?;
    let names = number(file, 62, 2)?;
    let header = |index: usize| file.get(sections + index * HEADER_SIZE..)?.get(..HEADER_SIZE);
    let content = |index: usize| {
        let header = header(index)?;
        file.get(number(header, 24, 8)?..)?.get(..number(header, 32, 8)?)
    };
    let names = content(names)?;
    let mut code = BTreeMap::new();
    for index in 0..count {
        let name = names.get(number(header(index)?, 0, 4)?..)?;
        let name = String::from_utf8_lossy(name.split(|&byte| byte == 0).next()?).into_owned();
        if name.starts_with(prefix) {
            code.insert(name, content(index)?);
        }
    }
    Some(code)
}

/// A number of `size` bytes, the lowest first.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + size)?;
    Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)))
}
