//! Variables that a body declares: `.local`, `.shared`, `.param` and the rest.

use super::Reader;
use super::scopes::Binding;
use crate::diagnostics::{Diagnostic, Problem};
use crate::ptx::cursor::Cursor;
use crate::ptx::numbered::digits_of;
use ptxopt_components::anchor::Decl;
use ptxopt_components::ids::{NameId, Span};
use ptxopt_components::operand::OPERAND_ID_MAX;
use ptxopt_components::types::{PtxType, StateSpace};

/// The most members of a family of an inner scope that are declared one by one.
const SPREAD_MAX: u32 = 64;

/// A variable as it is declared.
struct Declared<'s> {
    directives: Span,
    name: NameId,
    spelled: &'s [u8],
    /// Where the name, or that of its family, stands.
    at: (usize, usize),
    /// The name of the family and the number, where it is a member.
    member: Option<(NameId, u32)>,
    /// What follows the name: dimensions and an initialiser.
    rest: Span,
}

/// The words of the directives in front of a name.
fn words(directives: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut cursor = Cursor::new(directives, 0);
    std::iter::from_fn(move || {
        cursor.skip_blank().ok()?;
        while !cursor.is_at_end() && !Cursor::continues_name(cursor.peek()) {
            cursor.pos += 1;
            cursor.skip_blank().ok()?;
        }
        let first = cursor.name();
        (first < cursor.pos).then(|| &directives[first..cursor.pos])
    })
}

/// The state space that the directives in front of a name give it.
fn space_of(directives: &[u8]) -> StateSpace {
    words(directives).find_map(StateSpace::parse).unwrap_or_default()
}

/// Whether the directives in front of a name say a type.
fn has_type(directives: &[u8]) -> bool {
    words(directives).any(|word| PtxType::parse(word).is_some())
}

/// Bytes that a variable takes, 0 where that is not said in plain numbers, and bytes of which its address is a multiple.
fn layout(directives: &[u8], rest: &[u8]) -> (u32, u32) {
    let mut words = words(directives);
    let (mut element, mut lanes, mut align) = (0, 1, None);
    while let Some(word) = words.next() {
        match word {
            b"align" => align = words.next().and_then(plain_number),
            b"v2" => lanes = 2,
            b"v4" => lanes = 4,
            _ => element = PtxType::parse(word).map_or(element, |ty| ty.bits() / 8),
        }
    }
    let element = element * lanes;
    let natural = element.max(1);
    (elements(rest).and_then(|count| count.checked_mul(element)).unwrap_or(0), align.unwrap_or(natural))
}

/// Number of elements that the dimensions in `rest` make: 1 without any.
fn elements(rest: &[u8]) -> Option<u32> {
    let mut rest = rest.trim_ascii();
    let mut count = 1u32;
    while let Some(dimension) = rest.strip_prefix(b"[") {
        let end = dimension.iter().position(|&byte| byte == b']')?;
        count = count.checked_mul(plain_number(dimension[..end].trim_ascii())?)?;
        rest = dimension[end + 1..].trim_ascii_start();
    }
    rest.is_empty().then_some(count)
}

/// The decimal number that `text` is.
fn plain_number(text: &[u8]) -> Option<u32> {
    // A leading zero makes an octal number.
    let is_plain = text.iter().all(u8::is_ascii_digit) && !matches!(text, [b'0', _, ..]);
    std::str::from_utf8(text).ok().filter(|_| is_plain)?.parse().ok()
}

impl Reader<'_, '_> {
    /// The variables of one declaration, from its first directive at `first`.
    pub(super) fn variables(&mut self, first: usize) -> Result<(), Diagnostic> {
        let directives = Span::between(first, self.directives_end()?);
        // The assembler takes a type without a name.
        if self.cursor.peek() == b';' && has_type(&self.cursor.text[directives.range()]) {
            self.cursor.pos += 1;
            return Ok(());
        }
        loop {
            let name = self.variable_name()?;
            let count = self.cursor.family_count()?;
            // What follows a name without a count begins after it: a comment there is no part of the declaration.
            if count.is_none() {
                self.cursor.pos = name.1;
            }
            let after_count = self.cursor.pos;
            let end = self.skip_to_end_of_declarator()?;
            match count {
                None => self.declare_variable(directives, name, end)?,
                Some(count) => {
                    let rest = Span::between(after_count, end);
                    if self.may_spread(name, count, rest) {
                        self.spread_family(directives, name, count, rest)?;
                    } else {
                        self.declare_variables(directives, name, count, end)?;
                    }
                }
            }
            let is_last = self.cursor.peek() == b';';
            self.cursor.pos += 1;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Declares `name<count>`, which stands for `count` variables.
    fn declare_variables(
        &mut self,
        directives: Span,
        (first, end): (usize, usize),
        count: u32,
        rest_end: usize,
    ) -> Result<(), Diagnostic> {
        if count as usize > OPERAND_ID_MAX {
            return Err(Diagnostic::new(first, 1, Problem::TooMany("names")));
        }
        let name = self.out.pools.names.intern(self.cursor.text, first, end);
        self.declare_family(name, count);
        let rest = Span::between(end, rest_end);
        if self.cursor.text[rest.range()].contains(&b'=') {
            self.initialiser(rest);
        }
        let space = space_of(&self.cursor.text[directives.range()]);
        let decl = Decl {
            directives,
            name,
            rest,
            space,
            is_family: true,
            is_named_outside: true,
            size: 0,
            align: 1,
        };
        self.out.pools.decls.push(decl);
        Ok(())
    }

    /// Whether the members of a family are declared one by one, so that they can be renamed where scopes are flattened: few of
    /// an inner scope, with names that end in no other number.
    fn may_spread(&self, (first, end): (usize, usize), count: u32, rest: Span) -> bool {
        let text = self.cursor.text;
        self.scopes.depth() > Self::BODY_DEPTH
            && count <= SPREAD_MAX
            && digits_of(&text[first..end]) == end - first
            && !text[rest.range()].contains(&b'=')
    }

    /// Declares the members of a family of an inner scope. `rest` follows the count.
    fn spread_family(
        &mut self,
        directives: Span,
        (first, end): (usize, usize),
        count: u32,
        rest: Span,
    ) -> Result<(), Diagnostic> {
        let source = self.cursor.text;
        let prefix = self.out.pools.names.intern(source, first, end);
        self.note_spread(prefix, count);
        for number in 0..count {
            let spelled = [&source[first..end], number.to_string().as_bytes()].concat();
            let name = self.out.pools.names.intern_fresh(source, &spelled);
            if name.0 as usize > OPERAND_ID_MAX {
                return Err(Diagnostic::new(first, 1, Problem::TooMany("names")));
            }
            let member = Some((prefix, number));
            self.declare_named(Declared {
                directives,
                name,
                spelled: &spelled,
                at: (first, end),
                member,
                rest,
            })?;
        }
        Ok(())
    }

    /// Declares the variable called `first..end`, whose dimensions and initialiser reach up to `rest_end`.
    fn declare_variable(
        &mut self,
        directives: Span,
        (first, end): (usize, usize),
        rest_end: usize,
    ) -> Result<(), Diagnostic> {
        let source = self.cursor.text;
        let rest = Span::between(end, rest_end);
        let name = self.out.pools.names.intern(source, first, end);
        let spelled = &source[first..end];
        self.declare_named(Declared { directives, name, spelled, at: (first, end), member: None, rest })
    }

    fn declare_named(&mut self, declared: Declared<'_>) -> Result<(), Diagnostic> {
        let Declared { directives, name, spelled, at: (first, end), member, rest } = declared;
        let source = self.cursor.text;
        if self.scopes.is_bound_here(name) || self.is_in_range_here(spelled) {
            return Err(self.duplicate(first, end));
        }
        // Call sequences declare the same parameters over and over, each in its own scope; one declaration serves.
        let is_param = source[directives.range()].starts_with(b".param");
        if is_param && self.scopes.binding(name) == Binding::Unbound {
            let is_same = self.scopes.params.get(&name).is_some_and(|declared| {
                source[declared.directives.range()] == source[directives.range()]
                    && source[declared.rest.range()] == source[rest.range()]
            });
            if is_same {
                self.scopes.bind(name, Binding::Symbol(name));
                return Ok(());
            }
        }
        match member {
            Some((stem, _)) => self.note_numbered_of(stem, name),
            None => self.note_numbered(name, first, end),
        }
        let written = if self.must_rename_value(name, spelled) { self.fresh_name(name) } else { name };
        match member {
            _ if written != name => {}
            Some((stem, number)) => self.note_single_of(stem, number),
            None => self.note_single(first, end),
        }
        if source[rest.range()].contains(&b'=') {
            self.initialiser(rest);
        }
        let space = space_of(&source[directives.range()]);
        let (size, align) = layout(&source[directives.range()], &source[rest.range()]);
        // Nothing outside means one that has another name here.
        let is_named_outside = written == name && self.module.mentions(spelled);
        let decl =
            Decl { directives, name: written, rest, space, is_family: false, is_named_outside, size, align };
        if is_param && written == name {
            self.scopes.params.insert(name, decl);
        }
        self.out.pools.decls.push(decl);
        self.scopes.bind(name, Binding::Symbol(written));
        Ok(())
    }

    /// Looks at the names of an initialiser, which is copied: it cannot follow a new name.
    fn initialiser(&mut self, text: Span) {
        let mut cursor = Cursor::new(&self.cursor.text[..text.end()], text.first as usize);
        while !cursor.is_at_end() {
            if Cursor::starts_name(cursor.peek()) {
                let first = cursor.name();
                let reason = self.why_not_copied(first, cursor.pos);
                self.leave_if(reason);
            } else {
                cursor.pos += 1;
            }
        }
    }

    /// Where the directives in front of a name end, with their numbers and parentheses; the cursor is left at what follows them.
    fn directives_end(&mut self) -> Result<usize, Diagnostic> {
        let mut end = self.cursor.pos;
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b'.' => {
                    self.cursor.pos += 1;
                    self.cursor.name();
                }
                b'(' => {
                    self.skip_to_closing();
                    self.cursor.expect(b')', "`)`")?;
                }
                byte if Cursor::is_digit(byte) => {
                    self.cursor.name();
                }
                _ => return Ok(end),
            }
            end = self.cursor.pos;
        }
    }

    /// Moves from an opening parenthesis to the one that closes it, or to where there is none.
    fn skip_to_closing(&mut self) {
        let mut depth = 0_usize;
        while !self.cursor.is_at_end() {
            match self.cursor.peek() {
                b'(' => depth += 1,
                b')' if depth > 1 => depth -= 1,
                b')' | b';' => return,
                _ => {}
            }
            self.cursor.pos += 1;
        }
    }

    /// Where the name of a variable stands, past directives of its own: a prototype has some.
    fn variable_name(&mut self) -> Result<(usize, usize), Diagnostic> {
        self.directives_end()?;
        if !Cursor::starts_name(self.cursor.peek()) {
            return Err(self.cursor.unexpected("a variable's name"));
        }
        let first = self.cursor.name();
        Ok((first, self.cursor.pos))
    }
}

#[cfg(test)]
mod tests {
    use super::layout;

    #[test]
    fn declarations_say_how_much_they_take() {
        for (directives, rest, expected) in [
            (".local .align 8 .b8 ", "[72]", (72, 8)),
            (".local .b64", "", (8, 8)),
            (".local .align 16 .f32", "[ 4 ] [3]", (48, 16)),
            (".local .v4 .u32", "[2]", (32, 16)),
            (".local .v2 .u32", "[3]", (24, 8)),
            (".local .align\t4 .b8", "[]", (0, 4)),
            (".local .b32", "[2*3]", (0, 4)),
            (".local .b32", "[010]", (0, 4)),
            (".local .b32", " = 1", (0, 4)),
            (".local .b64", "[4294967295]", (0, 8)),
            (".local /* .v4 */ .align /* 8 */ 4 .b16 // .b64", "[2]", (4, 4)),
        ] {
            assert_eq!(layout(directives.as_bytes(), rest.as_bytes()), expected, "{directives}{rest}");
        }
    }
}
