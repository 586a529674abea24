//! Function headers: parameters, results, and what is required of a launch.

use super::declarations::bytes_of;
use super::expressions::integer;
use super::tokens::{Token, Tokens};
use crate::load_error::LoadError;
use ptxopt_components::types::{PtxType, StateSpace};

/// A formal parameter or result.
#[derive(Clone, Debug)]
pub struct Formal {
    /// Its name.
    pub name: String,
    /// Whether it is a `.reg` and no `.param`.
    pub is_register: bool,
    /// Type of an element.
    pub ty: PtxType,
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// `.ptr`: the space that it points to and the alignment there.
    pub pointer: Option<(StateSpace, u64)>,
    /// An array without a size, of a variadic function.
    pub is_unsized: bool,
}

/// What stands before a body, or a prototype.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The function's name; empty in a `.callprototype`.
    pub name: String,
    /// Results.
    pub results: Vec<Formal>,
    /// Parameters.
    pub parameters: Vec<Formal>,
    /// `.noreturn`: a thread that calls it ends there.
    pub never_returns: bool,
    /// CTAs of a cluster that a launch must have.
    pub cluster: u64,
    /// Threads of a CTA that a launch may have at most (`.maxntid`); zeros where any will do.
    pub maximal_block: [u32; 3],
    /// Threads of a CTA that a launch must have (`.reqntid`); zeros where any will do.
    pub required_block: [u32; 3],
}

/// Reads the header that ends at the brace, the semicolon or the end of the tokens.
///
/// # Errors
/// A parameter list that is none.
pub fn header(tokens: &mut Tokens<'_>) -> Result<Header, LoadError> {
    let mut header = Header { cluster: 1, ..Header::default() };
    let mut name_seen = false;
    loop {
        match tokens.next()? {
            Token::Mark(b'(') if name_seen => header.parameters = formals(tokens)?,
            Token::Mark(b'(') => header.results = formals(tokens)?,
            Token::Word(name) if !name_seen => {
                name_seen = true;
                header.name = String::from_utf8_lossy(name).into_owned();
            }
            Token::Directive(b"attribute") => tokens.skip_parentheses()?,
            Token::Directive(b"noreturn") => header.never_returns = true,
            Token::Directive(b"maxntid") => header.maximal_block = extent(tokens)?,
            Token::Directive(b"reqntid") => header.required_block = extent(tokens)?,
            Token::Directive(b"reqnctapercluster") => {
                let count = |count: u64, &dim: &u32| count.saturating_mul(dim.into());
                header.cluster = extent(tokens)?.iter().fold(1, count);
            }
            Token::Mark(b'{' | b';') | Token::End => return Ok(header),
            _ => {}
        }
    }
}

/// `x [, y [, z]]`.
fn extent(tokens: &mut Tokens<'_>) -> Result<[u32; 3], LoadError> {
    let mut extent = [1; 3];
    for dim in &mut extent {
        *dim = u32::try_from(integer(tokens)?)
            .map_err(|_| tokens.error("more threads or CTAs than there are"))?;
        if !tokens.eat(b',')? {
            break;
        }
    }
    Ok(extent)
}

/// The formals after an opening parenthesis, up to and with the closing one.
fn formals(tokens: &mut Tokens<'_>) -> Result<Vec<Formal>, LoadError> {
    let mut found = Vec::new();
    let mut formal = blank();
    let mut lanes = 1;
    let mut ty = None;
    let mut align = None;
    loop {
        match tokens.next()? {
            Token::Mark(b')') | Token::End => return Ok(found),
            Token::Mark(b',') => (formal, lanes, ty, align) = (blank(), 1, None, None),
            Token::Directive(b"reg") => formal.is_register = true,
            Token::Directive(b"param") => {}
            Token::Directive(b"ptr") => formal.pointer = Some((StateSpace::Generic, 1)),
            Token::Directive(b"align") => match &mut formal.pointer {
                Some((_, align)) => *align = integer(tokens)?,
                None => align = Some(integer(tokens)?),
            },
            Token::Directive(b"v2") => lanes = 2,
            Token::Directive(b"v4") => lanes = 4,
            Token::Directive(word) => {
                if let Some(known) = PtxType::parse(word) {
                    ty = Some(known);
                } else if let (Some((space, _)), Some(named)) = (&mut formal.pointer, StateSpace::parse(word))
                {
                    *space = named;
                }
            }
            Token::Word(name) => {
                formal.name = String::from_utf8_lossy(name).into_owned();
                formal.ty = ty.ok_or_else(|| tokens.error("parameter without a type"))?;
                let natural = bytes_of(formal.ty) * lanes;
                formal.align = align.unwrap_or(natural).max(1);
                formal.size = natural;
                while tokens.eat(b'[')? {
                    if tokens.eat(b']')? {
                        formal.is_unsized = true;
                        formal.size = 0;
                    } else {
                        formal.size = formal.size.saturating_mul(integer(tokens)?);
                        tokens.expect(b']')?;
                    }
                }
                if !formal.align.is_power_of_two() || formal.size > 1 << 20 {
                    return Err(tokens.error("parameter of an impossible size"));
                }
                found.push(formal.clone());
            }
            found => return Err(tokens.error(format!("found {found}, expected a parameter"))),
        }
    }
}

fn blank() -> Formal {
    Formal {
        name: String::new(),
        is_register: false,
        ty: PtxType::B32,
        size: 0,
        align: 1,
        pointer: None,
        is_unsized: false,
    }
}
