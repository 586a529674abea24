//! Items: the comma-separated operands of an instruction, each with what encloses it.

use ptxopt_components::form::shape;
use std::ops::Range;

/// One comma-separated operand, with all parts of a pair, a vector or an address.
#[derive(Clone, Copy, Debug, Default)]
pub struct Item {
    first: usize,
    count: usize,
    /// In brackets, or `array[3]`: an address.
    pub is_address: bool,
    /// In parentheses: parameters of a call.
    pub is_list: bool,
}

impl Item {
    /// Its operands.
    pub fn operands(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// The items of a shape.
pub fn items(codes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut item = Item::default();
    let (mut depth, mut next) = (0usize, 0);
    for &code in codes {
        match code {
            shape::OPERAND | shape::INDEXED => {
                item.is_address |= code == shape::INDEXED && depth == 0;
                item.count += 1;
                next += 1;
            }
            shape::COMMA if depth == 0 => {
                items.push(item);
                item = Item { first: next, ..Item::default() };
            }
            shape::BRACKET_OPEN | shape::BRACE_OPEN | shape::PAREN_OPEN => {
                item.is_address |= depth == 0 && code == shape::BRACKET_OPEN;
                item.is_list |= depth == 0 && code == shape::PAREN_OPEN;
                depth += 1;
            }
            shape::BRACKET_CLOSE | shape::BRACE_CLOSE | shape::PAREN_CLOSE => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if !codes.is_empty() {
        items.push(item);
    }
    items
}
