//! Anchors: lines, debug labels and directives that came in are still there, and inline sites before their users.
//!
//! Fast. One pass over the anchors as read and as they are, matched by their place in the text.
//!
//! - Every `.loc`, debug label and directive of the function as read stands in it once. A debug section may name any of
//!   them, and a line table without an entry blames other lines.
//! - A pragma may be gone, with its block or its instruction; none stands twice.
//! - A `.loc` that was `inlined_at` a place which an earlier `.loc` pointed to has such a one before it: the assembler
//!   looks for the site among what it has seen.
//!
//! Whether anchors are in order and lie in their blocks is the matter of `rows`.

use super::{Verdict, each_function, wrong_in};
use ahash::{AHashMap, AHashSet};
use bevy_ecs::prelude::*;
use ptxopt_components::anchor::AnchorKind;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::as_read::{AsRead, SourcePlace};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of anchors.
pub const CHECK: Check = Check { name: "anchors", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch of which a copy as read is kept.
pub fn run(code: Code, as_read: Res<AsRead>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        as_read.function(function.code).map_or(Ok(()), |before| verify(function, &before, &as_read))
    });
}

/// Verifies one function against itself as it was read.
pub fn verify(function: &FunctionView<'_>, before: &FunctionView<'_>, as_read: &AsRead) -> Verdict {
    if function.anchors.is_empty() && before.anchors.is_empty() {
        return Ok(());
    }
    let mut seen: AHashMap<(u32, u8), bool> = AHashMap::with_capacity(before.anchors.len());
    for anchor in before.anchors {
        seen.insert((anchor.text.first, anchor.kind as u8), false);
    }
    for anchor in function.anchors {
        match seen.insert((anchor.text.first, anchor.kind as u8), true) {
            Some(false) => {}
            Some(true) => return wrong_in(anchor.block, format_args!("a {:?} stands twice", anchor.kind)),
            None => return wrong_in(anchor.block, format_args!("a {:?} did not come in", anchor.kind)),
        }
    }
    for anchor in before.anchors {
        let may_go = matches!(anchor.kind, AnchorKind::BlockPragma | AnchorKind::InstPragma);
        if !may_go && !seen[&(anchor.text.first, anchor.kind as u8)] {
            return Err(format!("the {:?} of byte {} is gone", anchor.kind, anchor.text.first));
        }
    }
    verify_sites(function, before, as_read)
}

/// Verifies that whatever had its inline site before it still has.
fn verify_sites(function: &FunctionView<'_>, before: &FunctionView<'_>, as_read: &AsRead) -> Verdict {
    let had_site: AHashSet<u32> = with_site(before, as_read).map(|(first, _)| first).collect();
    if had_site.is_empty() {
        return Ok(());
    }
    let has_site: AHashSet<u32> = with_site(function, as_read).map(|(first, _)| first).collect();
    match before.anchors.iter().find(|anchor| {
        let first = &anchor.text.first;
        had_site.contains(first) && !has_site.contains(first)
    }) {
        Some(anchor) => Err(format!("the Loc of byte {} stands before its inline site", anchor.text.first)),
        None => Ok(()),
    }
}

/// The `.loc`s before which one stands that points to their inline site, by their place in the text.
fn with_site<'a>(
    function: &'a FunctionView<'a>,
    as_read: &'a AsRead,
) -> impl Iterator<Item = (u32, SourcePlace)> + 'a {
    let mut places: AHashSet<SourcePlace> = AHashSet::new();
    let locs = function.anchors.iter().filter(|anchor| anchor.kind == AnchorKind::Loc);
    locs.filter_map(move |anchor| {
        let first = anchor.text.first;
        let loc = as_read.loc(first)?;
        let site = loc.inlined_at.filter(|site| places.contains(site));
        places.insert(loc.place);
        site.map(|site| (first, site))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, module};
    use ptxopt_components::ids::Span;

    /// A line, its inlined one, a label for debug sections, a directive, a pragma.
    const BODY: &str = ".reg .b32 %r<9>; .loc 1 10 3\n mov.b32 %r1, 1; .loc 1 20 5, function_name info + 16, \
                        inlined_at 1 10 3\n add.s32 %r2, %r1, 1; here: .pragma \"nounroll\"; st.global.b32 [g], %r2; ret;";

    fn built() -> (Built, AsRead) {
        let head = ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 g;";
        let section = ".section .debug_info { .b64 here }";
        let built = module(format!("{head}\n.entry k(.param .u64 p) {{{BODY}}}\n{section}"));
        let mut as_read = AsRead::default();
        as_read.keep(&built.tables, &built.text);
        (built, as_read)
    }

    /// Changes the anchors and sees that the verdict holds `message`; passes where it is empty.
    #[track_caller]
    fn after(message: &str, damage: impl FnOnce(&mut Built)) {
        let (mut built, as_read) = built();
        damage(&mut built);
        let count = built.tables.pools.anchors.len();
        built.tables.code_spans[0].anchors = Span::between(0, count);
        let before = as_read.function(built.function().code).unwrap();
        match verify(&built.function(), &before, &as_read) {
            Ok(()) => assert_eq!(message, ""),
            Err(found) => assert!(!message.is_empty() && found.contains(message), "{found}"),
        }
    }

    fn position(built: &Built, kind: AnchorKind) -> usize {
        built.tables.pools.anchors.iter().position(|anchor| anchor.kind == kind).expect("it has one")
    }

    #[test]
    fn the_unbroken_function_passes() {
        after("", |_| {});
    }

    #[test]
    fn lines_and_labels_stay_once() {
        for kind in [AnchorKind::Loc, AnchorKind::DebugLabel] {
            after(&format!("the {kind:?} of byte"), |built| {
                let at = position(built, kind);
                built.tables.pools.anchors.remove(at);
            });
            after(&format!("a {kind:?} stands twice"), |built| {
                let again = built.tables.pools.anchors[position(built, kind)];
                built.tables.pools.anchors.push(again);
            });
        }
        after("a Loc did not come in", |built| {
            let at = position(built, AnchorKind::Loc);
            built.tables.pools.anchors[at].text.first += 1;
        });
    }

    #[test]
    fn pragmas_may_go() {
        after("", |built| {
            let at = position(built, AnchorKind::BlockPragma);
            built.tables.pools.anchors.remove(at);
        });
    }

    #[test]
    fn an_inline_site_stands_before_its_user() {
        after("stands before its inline site", |built| built.tables.pools.anchors.swap(0, 1));
    }
}
