//! Signatures: what each operand of a shape is to its instruction.

use ptxopt_components::form::{Accepts, Form, Role, Slot, shape};
use ptxopt_components::types::PtxType;

/// A top-level operand of a shape: the parts of a pair, each with what encloses it.
struct Item {
    parts: Vec<Part>,
}

/// One part: how many operands it has and what encloses them.
#[derive(Clone, Copy, Default)]
struct Part {
    operand_count: usize,
    bracketed: bool,
    /// `array[3]`: an address, or the address of an element.
    indexed: bool,
    braced: bool,
}

/// Takes a shape apart at its top-level commas and pipes; `None` when brackets do not match.
fn items(shape: &[u8]) -> Option<Vec<Item>> {
    let mut items = vec![Item { parts: vec![Part::default()] }];
    let mut open = Vec::new();
    for &code in shape {
        let part = items.last_mut()?.parts.last_mut()?;
        match code {
            shape::OPERAND => part.operand_count += 1,
            shape::INDEXED => {
                part.operand_count += 1;
                part.indexed |= open.is_empty();
            }
            shape::BRACKET_OPEN | shape::BRACE_OPEN | shape::PAREN_OPEN => {
                if open.is_empty() {
                    part.bracketed |= code == shape::BRACKET_OPEN;
                    part.braced |= code == shape::BRACE_OPEN;
                }
                open.push(code);
            }
            shape::BRACKET_CLOSE | shape::BRACE_CLOSE | shape::PAREN_CLOSE => {
                open.pop()?;
            }
            shape::COMMA if open.is_empty() => items.push(Item { parts: vec![Part::default()] }),
            shape::PIPE if open.is_empty() => items.last_mut()?.parts.push(Part::default()),
            // No rule knows what becomes of it: such an instruction stays as it is.
            shape::UNIFIED => return None,
            _ => {}
        }
    }
    if shape.is_empty() {
        items.clear();
    }
    open.is_empty().then_some(items)
}

/// A slot of a signature: its parts, and how often it may stand.
struct Expected<'a> {
    parts: Vec<&'a str>,
    optional: bool,
    repeated: bool,
}

/// Fits a shape to a signature: one [`Slot`] an operand, or `None` where they do not fit.
///
/// Optional slots are skipped when fewer items than slots are left, or when one wants brackets and the item has none.
pub(super) fn fit(signature: &str, shape: &[u8], form: &Form) -> Option<Vec<Slot>> {
    let items = items(shape)?;
    let expected: Vec<Expected> = signature
        .split_ascii_whitespace()
        .map(|text| {
            let bare = text.trim_end_matches(['?', '*']);
            Expected {
                parts: bare.split('|').collect(),
                optional: bare.len() != text.len(),
                repeated: text.ends_with('*'),
            }
        })
        .collect();
    let mut slots = Vec::new();
    let mut next = 0;
    for (position, item) in items.iter().enumerate() {
        loop {
            let slot = expected.get(next)?;
            let required_after = expected[next + 1..].iter().filter(|slot| !slot.optional).count();
            let needed_elsewhere = items.len() - position <= required_after;
            let (wanted, item_is) = (slot.parts[0], item.parts[0]);
            let kind_differs = if wanted.starts_with('@') {
                !item_is.bracketed && !item_is.indexed
            } else {
                // What is unchecked may be an address: `tcgen05.mma` takes its A from a descriptor or from memory.
                item_is.bracketed && !wanted.starts_with(".x")
            };
            if slot.optional && (needed_elsewhere || kind_differs) {
                next += 1;
                continue;
            }
            let is_empty = item.parts.iter().any(|part| part.operand_count == 0);
            if kind_differs || is_empty || item.parts.len() > slot.parts.len() {
                return None;
            }
            break;
        }
        let slot = &expected[next];
        for (part, text) in item.parts.iter().zip(&slot.parts) {
            push_slots(text, *part, form, &mut slots);
        }
        if !slot.repeated {
            next += 1;
        }
    }
    expected[next..].iter().all(|slot| slot.optional).then_some(slots)
}

/// Appends the slots of one part: `text` is `role type [/ accepts]`.
fn push_slots(text: &str, part: Part, form: &Form, slots: &mut Vec<Slot>) {
    let (head, accepts) = text.split_once('/').unwrap_or((text, ""));
    let (role, ty) = head.split_at(1);
    let role = match role {
        _ if part.bracketed || part.indexed => Role::Address,
        "=" => Role::Def,
        "~" => Role::DefUse,
        "^" => Role::Target,
        "&" => Role::Name,
        _ => Role::Use,
    };
    let ty = match ty {
        "t" => form.types[0],
        "t2" => form.types[1],
        "t3" => form.types[2],
        "t4" => form.types[3],
        "w" => form.types[0].map(PtxType::doubled),
        named => PtxType::parse(named.as_bytes()),
    };
    let accepts = accepts.bytes().fold(Accepts::empty(), |all, letter| {
        all | match letter {
            b'i' => Accepts::IMMEDIATE,
            b'_' => Accepts::SINK,
            b'v' => Accepts::VECTOR,
            b'e' => Accepts::SINK_ELEMENT,
            b'!' => Accepts::NEGATION,
            b's' => Accepts::SELECTOR,
            b'n' => Accepts::MINUS,
            b'a' => Accepts::SYMBOL,
            _ => Accepts::empty(),
        }
    });
    slots.extend(std::iter::repeat_n(Slot { role, accepts, ty, in_vector: part.braced }, part.operand_count));
}

/// The slots of a call: results in the first list when it comes first, then the callee, arguments, and a table.
pub(super) fn call_slots(shape: &[u8]) -> Option<Vec<Slot>> {
    let slot = |role| Slot { role, accepts: Accepts::all(), ty: None, in_vector: false };
    let mut slots = Vec::new();
    let mut depth = 0usize;
    let mut in_results = false;
    let mut callee_seen = false;
    for &code in shape {
        match code {
            shape::PAREN_OPEN => {
                depth += 1;
                in_results = !callee_seen;
            }
            shape::PAREN_CLOSE => {
                depth = depth.checked_sub(1)?;
                in_results = false;
            }
            shape::OPERAND if in_results => slots.push(slot(Role::Def)),
            shape::OPERAND if depth > 0 => slots.push(slot(Role::Use)),
            shape::OPERAND if callee_seen => slots.push(slot(Role::Name)),
            shape::OPERAND => {
                callee_seen = true;
                slots.push(slot(Role::Use));
            }
            _ => {}
        }
    }
    (callee_seen && depth == 0).then_some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::{Dialect, FormTable};
    use ptxopt_components::form::FormFlags;
    use ptxopt_components::opcodes::Effects;

    fn roles(table: &mut FormTable, mnemonic: &str, shape: &str) -> String {
        let mnemonic = table.mnemonic(mnemonic.as_bytes(), Dialect::default());
        let form = table.form(mnemonic, shape.as_bytes());
        table
            .slots(form)
            .iter()
            .map(|slot| match slot.role {
                Role::Use => '.',
                Role::Def => '=',
                Role::DefUse => '~',
                Role::Address => '@',
                Role::Target => '^',
                Role::Name => '&',
            })
            .collect()
    }

    #[test]
    fn roles_follow_the_signature() {
        let mut table = FormTable::default();
        assert_eq!(roles(&mut table, "add.s32", "#,#,#"), "=..");
        assert_eq!(roles(&mut table, "ld.global.v4.f32", "{#,#,#,#},[#]"), "====@");
        assert_eq!(roles(&mut table, "st.global.v2.f32", "[#],{#,#}"), "@..");
        assert_eq!(roles(&mut table, "setp.lt.s32", "#|#,#,#"), "==..");
        assert_eq!(roles(&mut table, "bra", "#"), "^");
        assert_eq!(roles(&mut table, "call.uni", "(#),#,(#,#)"), "=...");
        assert_eq!(roles(&mut table, "call", "(#),#,(#),#"), "=..&");
    }

    #[test]
    fn letters_say_what_a_slot_accepts() {
        let mut table = FormTable::default();
        let mnemonic = table.mnemonic(b"add.s32", Dialect::default());
        let form = table.form(mnemonic, b"#,#,#");
        let accepts = |text: &str| fit(text, b"#", table.get(form)).map(|slots| slots[0].accepts);
        for (letter, accepted) in [
            ('i', Accepts::IMMEDIATE),
            ('_', Accepts::SINK),
            ('v', Accepts::VECTOR),
            ('e', Accepts::SINK_ELEMENT),
            ('!', Accepts::NEGATION),
            ('s', Accepts::SELECTOR),
            ('n', Accepts::MINUS),
            ('a', Accepts::SYMBOL),
        ] {
            assert_eq!(accepts(&format!(".t/{letter}")), Some(accepted), "{letter}");
            assert_eq!(accepts(&format!(".t/i{letter}")), Some(accepted | Accepts::IMMEDIATE), "{letter}");
        }
        assert_eq!(accepts(".t"), Some(Accepts::empty()));
    }

    #[test]
    fn unknown_roots_read_and_write_all_they_name() {
        let mut table = FormTable::default();
        assert_eq!(roles(&mut table, "frobnicate.u32", "#,[#]"), "~~");
        let mnemonic = table.mnemonic(b"frobnicate.u32", Dialect::default());
        let form = table.form(mnemonic, b"#,[#]");
        assert!(table.get(form).effects.contains(Effects::PINNED | Effects::UNKNOWN));
        assert!(!table.get(form).flags.contains(FormFlags::MODELLED));
    }

    #[test]
    fn a_shape_that_fits_no_signature_is_kept_and_pinned() {
        let mut table = FormTable::default();
        assert_eq!(roles(&mut table, "add.s32", "#,#,#,#,#"), "~~~~~");
    }

    #[test]
    fn brackets_around_nothing_are_no_operand() {
        let mut table = FormTable::default();
        assert_eq!(roles(&mut table, "ld.u32", "#,[#]"), "=@");
        assert_eq!(roles(&mut table, "ld.u32", "#,[]"), "~");
    }
}
