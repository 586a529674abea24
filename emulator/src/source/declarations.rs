//! Variables: space, alignment, type, dimensions, initialiser.

use super::expressions::{Address, Value, expression, integer};
use super::tokens::{Token, Tokens};
use crate::load_error::LoadError;
use ptxopt_components::types::{PtxType, StateSpace};

/// A declared variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub space: StateSpace,
    /// Alignment in bytes.
    pub align: u64,
    /// Type of an element.
    pub element: PtxType,
    /// Elements of a vector, else 1.
    pub lanes: u64,
    /// Dimensions, outermost first.
    pub dimensions: Vec<u64>,
    /// Bytes; none where the array is unsized.
    pub size: Option<u64>,
    /// Declared `.extern`.
    pub is_extern: bool,
    /// What it holds at the start, zeros elsewhere.
    pub initial: Vec<Piece>,
    /// Byte offset of the declaration in the text.
    pub offset: usize,
}

/// Bytes of an initialiser.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Byte offset in the variable.
    pub at: u64,
    /// Number of bytes.
    pub size: u64,
    /// What is written.
    pub value: PieceValue,
}

/// What a [`Piece`] holds.
#[derive(Clone, Debug)]
pub enum PieceValue {
    /// Bits, low bytes first.
    Bits(u64),
    /// An address.
    Address(Address),
}

impl Variable {
    /// Bytes of an element, vectors whole.
    #[must_use]
    pub fn element_size(&self) -> u64 {
        bytes_of(self.element) * self.lanes
    }
}

/// Bytes that a value of type `ty` takes in memory.
#[must_use]
pub fn bytes_of(ty: PtxType) -> u64 {
    u64::from(ty.bits().div_ceil(8))
}

/// Elements that one declaration may ask for; beyond is an error and not an allocation.
const SIZE_MAX: u64 = 1 << 40;

/// Dimensions of a variable: each is a level of its initialiser.
const DIMENSIONS_MAX: usize = 64;

/// The variables of one declaration: `tokens` stand at its first directive and end up after the semicolon.
///
/// # Errors
/// What is no declaration of variables.
pub fn variables(tokens: &mut Tokens<'_>) -> Result<Vec<Variable>, LoadError> {
    let mut prefix = Prefix::default();
    let mut found = Vec::new();
    loop {
        match tokens.next()? {
            Token::Directive(word) => prefix.directive(word, tokens)?,
            Token::Word(name) => {
                prefix.declarator(name, tokens, &mut found)?;
                match tokens.next()? {
                    Token::Mark(b',') => {}
                    Token::Mark(b';') | Token::End => return Ok(found),
                    other => return Err(tokens.error(format!("found {other}, expected `,` or `;`"))),
                }
            }
            other => return Err(tokens.error(format!("found {other}, expected a variable"))),
        }
    }
}

/// The directives in front of a name.
#[derive(Default)]
struct Prefix {
    space: StateSpace,
    align: Option<u64>,
    element: Option<PtxType>,
    lanes: u64,
    is_extern: bool,
}

impl Prefix {
    fn directive(&mut self, word: &[u8], tokens: &mut Tokens<'_>) -> Result<(), LoadError> {
        match word {
            b"align" => self.align = Some(integer(tokens)?),
            b"extern" => self.is_extern = true,
            b"visible" | b"weak" | b"common" | b"ptr" => {}
            b"v2" => self.lanes = 2,
            b"v4" => self.lanes = 4,
            b"v8" => self.lanes = 8,
            b"tex" => {
                self.space = StateSpace::Global;
                self.element = Some(PtxType::TexRef);
            }
            b"attribute" => tokens.skip_parentheses()?,
            _ => match (StateSpace::parse(word), PtxType::parse(word)) {
                (Some(space), _) => self.space = space,
                (_, Some(ty)) => self.element = Some(ty),
                _ => {
                    return Err(
                        tokens.error(format!("`.{}` is no type or space", String::from_utf8_lossy(word)))
                    );
                }
            },
        }
        Ok(())
    }

    fn declarator(
        &self,
        name: &[u8],
        tokens: &mut Tokens<'_>,
        found: &mut Vec<Variable>,
    ) -> Result<(), LoadError> {
        let offset = tokens.first;
        let element = self.element.ok_or_else(|| tokens.error("variable without a type"))?;
        let family = family_count(tokens)?;
        let (dimensions, is_unsized) = dimensions(tokens)?;
        let lanes = self.lanes.max(1);
        let natural = bytes_of(element) * lanes;
        let mut variable = Variable {
            name: String::from_utf8_lossy(name).into_owned(),
            space: self.space,
            align: self.align.unwrap_or(natural).max(1),
            element,
            lanes,
            dimensions,
            size: None,
            is_extern: self.is_extern,
            initial: Vec::new(),
            offset,
        };
        if !variable.align.is_power_of_two() {
            return Err(tokens.error("alignment that is no power of two"));
        }
        let mut count = 0;
        let is_handle = matches!(element, PtxType::TexRef | PtxType::SamplerRef | PtxType::SurfRef);
        match tokens.eat(b'=')? {
            true if is_handle => skip_braces(tokens)?,
            true => count = Initialiser { variable: &mut variable, written: 0 }.read(tokens)?,
            false => {}
        }
        if is_unsized && let Some(first) = variable.dimensions.first_mut() {
            *first = count;
        }
        if !is_unsized || count > 0 {
            let size = variable.dimensions.iter().try_fold(natural, |size, &dim| size.checked_mul(dim));
            let size = size.filter(|&size| size <= SIZE_MAX);
            variable.size = Some(size.ok_or_else(|| tokens.error("variable too large"))?);
        }
        match family {
            None => found.push(variable),
            Some(count) if count > 1 << 16 => return Err(tokens.error("too many variables")),
            Some(count) => {
                found.extend((0..count).map(|number| Variable {
                    name: format!("{}{number}", variable.name),
                    ..variable.clone()
                }))
            }
        }
        Ok(())
    }
}

/// `<count>` after the name of a family.
fn family_count(tokens: &mut Tokens<'_>) -> Result<Option<u64>, LoadError> {
    if !tokens.eat(b'<')? {
        return Ok(None);
    }
    // To an expression `>` would be an operator.
    let count = match tokens.next()? {
        Token::Integer(count) | Token::Unsigned(count) => count,
        found => return Err(tokens.error(format!("found {found}, expected a number of variables"))),
    };
    tokens.expect(b'>')?;
    Ok(Some(count))
}

/// `[count]` for each dimension; 0 for one without a count, and whether there is such a one.
fn dimensions(tokens: &mut Tokens<'_>) -> Result<(Vec<u64>, bool), LoadError> {
    let (mut dimensions, mut is_unsized) = (Vec::new(), false);
    while tokens.eat(b'[')? {
        if dimensions.len() == DIMENSIONS_MAX {
            return Err(tokens.error("variable with too many dimensions"));
        }
        if tokens.eat(b']')? {
            is_unsized = true;
            dimensions.push(0);
        } else {
            dimensions.push(integer(tokens)?);
            tokens.expect(b']')?;
        }
    }
    Ok((dimensions, is_unsized))
}

/// Skips the modes of a sampler or texture, which say nothing to a machine without textures.
fn skip_braces(tokens: &mut Tokens<'_>) -> Result<(), LoadError> {
    tokens.expect(b'{')?;
    loop {
        match tokens.next()? {
            Token::Mark(b'}') => return Ok(()),
            Token::End => return Err(tokens.error("expected `}`")),
            _ => {}
        }
    }
}

/// Fills a variable from its braces.
///
/// The assembler (13.0) puts the values one after the other, whatever the braces say: `{{1, 2}, {4}}` in rows of three is 1, 2, 4, 0,
/// 0, 0, and has two rows.
struct Initialiser<'v> {
    variable: &'v mut Variable,
    /// Bytes of the values so far.
    written: u64,
}

impl Initialiser<'_> {
    /// Reads the initialiser after `=`; gives the number of elements of the outermost dimension.
    fn read(&mut self, tokens: &mut Tokens<'_>) -> Result<u64, LoadError> {
        let mut extents = self.variable.dimensions.clone();
        if self.variable.lanes > 1 {
            extents.push(self.variable.lanes);
        }
        let scalar = bytes_of(self.variable.element);
        if let Token::Text(text) = tokens.peek()? {
            tokens.next()?;
            let bytes = unescaped(text);
            for (at, &byte) in bytes.iter().enumerate() {
                let value = PieceValue::Bits(u64::from(byte));
                self.variable.initial.push(Piece { at: at as u64, size: 1, value });
            }
            return Ok(bytes.len() as u64);
        }
        let end = self.level(tokens, &extents, 0)?;
        let inner: u64 = extents.iter().skip(1).product();
        Ok(end.div_ceil((inner * scalar).max(1)))
    }

    /// One brace level, or one value; `at` is its first byte by the braces. Gives the byte after it.
    fn level(&mut self, tokens: &mut Tokens<'_>, extents: &[u64], at: u64) -> Result<u64, LoadError> {
        if tokens.peek()? != Token::Mark(b'{') {
            return self.scalar(tokens, at);
        }
        if extents.is_empty() {
            return Err(tokens.error("more braces than the variable has dimensions"));
        }
        tokens.next()?;
        let inner = extents.get(1..).unwrap_or_default();
        let stride = inner.iter().product::<u64>() * bytes_of(self.variable.element);
        let mut next = at;
        let mut end = at;
        while !tokens.eat(b'}')? {
            let is_nested = tokens.peek()? == Token::Mark(b'{');
            end = self.level(tokens, inner, next)?;
            next = if is_nested { next + stride } else { end };
            end = end.max(next);
            if !tokens.eat(b',')? {
                tokens.expect(b'}')?;
                break;
            }
        }
        Ok(end)
    }

    fn scalar(&mut self, tokens: &mut Tokens<'_>, at: u64) -> Result<u64, LoadError> {
        let element = self.variable.element;
        let size = bytes_of(element);
        let value = match expression(tokens)? {
            Value::Address(address) => PieceValue::Address(address),
            Value::Integer(bits) => PieceValue::Bits(bits),
            // Bits, whatever the variable holds: `ptxas` makes no double of a single.
            Value::Single(bits) => PieceValue::Bits(u64::from(bits)),
            Value::Double(value) if size == 4 => PieceValue::Bits(u64::from((value as f32).to_bits())),
            Value::Double(value) if size == 8 => PieceValue::Bits(value.to_bits()),
            Value::Double(_) => return Err(tokens.error("a real in a variable that holds none")),
        };
        self.variable.initial.push(Piece { at: self.written, size, value });
        self.written += size;
        Ok(at + size)
    }
}

/// The bytes that a string stands for.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'0') | None => 0,
                Some(other) => other,
            },
            byte => byte,
        });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_so_many_variables() {
        let read = |text: &str| {
            let mut tokens = Tokens::new(text.as_bytes(), 0, text.len());
            variables(&mut tokens)
                .map(|found| found.into_iter().map(|it| (it.name, it.size)).collect::<Vec<_>>())
        };
        let named =
            |names: &[&str], size| Some(names.iter().map(|&name| (name.to_owned(), Some(size))).collect());
        assert_eq!(read(".param .u64 %P<2>;").ok(), named(&["%P0", "%P1"], 8));
        assert_eq!(read(".local .b32 v<3>, w;").ok(), named(&["v0", "v1", "v2", "w"], 4));
        assert!(read(".local .b32 v<w>;").is_err());
        assert!(read(".local .b32 v<100000>;").is_err());
    }

    #[test]
    fn elements_are_as_large_as_their_type_says() {
        let read = |text: &str| {
            let found = variables(&mut Tokens::new(text.as_bytes(), 0, text.len()));
            let variable = found.unwrap_or_else(|error| panic!("{text}: {error}")).remove(0);
            (variable.space, variable.element_size(), variable.align, variable.size)
        };
        assert_eq!(read(".shared .b8 a[3];"), (StateSpace::Shared, 1, 1, Some(3)));
        assert_eq!(read(".global .v2 .f64 a[3];"), (StateSpace::Global, 16, 16, Some(48)));
        assert_eq!(read(".const .v4 .u32 a;"), (StateSpace::Const, 16, 16, Some(16)));
        assert_eq!(read(".local .align 16 .u16 a[2][3];"), (StateSpace::Local, 2, 16, Some(12)));
        // As PTX before 1.5 declares textures.
        assert_eq!(read(".tex .u32 a;").0, StateSpace::Global);
    }

    /// Each is a level of the initialiser, which is read by a function that calls itself.
    #[test]
    fn dimensions_are_limited() {
        let read = |count: usize| {
            let text = format!(
                ".global .b8 v{} = {}1{};",
                "[1]".repeat(count),
                "{".repeat(count),
                "}".repeat(count)
            );
            variables(&mut Tokens::new(text.as_bytes(), 0, text.len())).is_ok()
        };
        assert!(read(DIMENSIONS_MAX) && !read(DIMENSIONS_MAX + 1) && !read(100_000));
    }
}
