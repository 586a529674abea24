//! Pointers: addresses of local variables that lie in local variables.
//!
//! Without an optimizer a pointer is a variable like any other: it is stored once, and loaded wherever it is used.
//! ```text
//! add.u64 %rd1, %SP, 16;
//! st.b64 [%SP+8], %rd1;
//! ld.b64 %rd2, [%SP+8];        // %SP + 16
//! st.b32 [%rd2], 1;
//! ```
//! A *place* is the bytes that such a store writes. What is loaded from all of it is the address where every store that comes
//! to the load has stored that, and the variable that the place lies in does not escape. Where stores come to it that have stored
//! several addresses in one variable, it may be any from the first of them to the last. A load that nothing was stored before may
//! give anything, so it may give the address.
//!
//! As with registers that hold an address, this is assumed while addresses are followed and looked at when all are known:
//! where it turns out wrong, the variable of the address escapes.
//!
//! # What comes to a load
//! Most places hold one address and nothing else, and need no look at the order of things. Front ends that fill a structure
//! with zeros first write two values to one place:
//! ```text
//! st.b64 [%SP+8], 0;
//! st.b64 [%SP+8], %rd1;
//! ld.b64 %rd2, [%SP+8];        // the zero is overwritten
//! ```
//! There the ways to each load are walked back to the stores on them (`VISITS_PER_ROW` bounds that). A store of a part, one of
//! half an address and one under a guard leave what was there on the way; an access at a computed address that may touch the
//! place makes it worthless.

use super::addresses::{Access, Address, NOT_CONSTANT, Refusal, Variable};
use super::elements::Held;
use super::numbers::Sources;
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::OperandRef;
use std::ops::Range;

/// Stores, loads and blocks that the walks of one function may look at, by row of the function.
const VISITS_PER_ROW: usize = 64;

/// The stored addresses of a function. Its memory is used again.
#[derive(Default)]
pub struct Pointers {
    /// Each store of an address.
    pub stored: Vec<(InstId, Address)>,
    /// Loads whose result is followed, and the address that it is.
    loads: AHashMap<InstId, Address>,
    places: Vec<Place>,
    /// By store of an address: its place.
    place_of: AHashMap<InstId, usize>,
    /// What touches places, in the order of places and of the text.
    events: Vec<Event>,
    ways: Ways,
}

/// Bytes that hold an address at some time.
struct Place {
    variable: u32,
    low: u32,
    high: u32,
    /// What touches them.
    events: Range<usize>,
    /// The address, if nothing else is stored there.
    only: Option<Address>,
    /// An access at a computed address may touch them.
    is_open: bool,
}

/// An access to bytes of a place.
#[derive(Clone, Copy)]
struct Event {
    inst: InstId,
    block: BlockId,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// A load, of all of the place and nothing else or not.
    Load { is_whole: bool },
    /// What a store brings there, and whether nothing is left of what was there.
    Store { value: Content, kills: bool },
}

/// What a place holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// What was there before the function.
    Nothing,
    /// No part of an address.
    Number,
    /// An address, all of it, or one of several in a variable.
    Address(Address),
    /// A part of an address, one of several in other variables, or an address or a number.
    Mixed,
}

impl Content {
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, content) | (content, Self::Nothing) => content,
            (Self::Address(one), Self::Address(other)) => one.join(other).map_or(Self::Mixed, Self::Address),
            _ if self == other => self,
            _ => Self::Mixed,
        }
    }
}

impl Pointers {
    /// Forgets the function before.
    pub fn start(&mut self, view: &FunctionView<'_>) {
        self.stored.clear();
        self.loads.clear();
        self.ways.start(view);
    }

    /// Whether no address is stored.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// Notes that `inst` stores `address`.
    pub fn store(&mut self, inst: InstId, address: Address) {
        self.stored.push((inst, address));
    }

    /// Finds the places that addresses are stored to so far, and loads of an address there that were not found before.
    pub fn find_loads(
        &mut self,
        sources: Sources<'_>,
        accesses: &[Access],
        found: &mut Vec<(InstId, Address)>,
    ) {
        self.find_places(sources, accesses, false);
        let Self { loads, places, events, ways, .. } = self;
        ways.each_load(sources.view, places, events, |_, load, is_whole, content| {
            if let Content::Address(address) = content
                && is_whole
                && !loads.contains_key(&load)
            {
                loads.insert(load, address);
                found.push((load, address));
            }
        });
    }

    /// Lets the variables escape whose addresses are loaded where something else may be; says where it gave up.
    /// Accesses at computed addresses count only if `is_strict`.
    pub fn check(
        &mut self,
        sources: Sources<'_>,
        accesses: &[Access],
        variables: &mut [Variable],
        is_strict: bool,
    ) -> Option<Refusal> {
        self.find_places(sources, accesses, is_strict);
        let Self { stored, loads, places, place_of, events, ways } = self;
        let mut is_wrong: Vec<bool> = places.iter().map(|place| place.is_open).collect();
        ways.each_load(sources.view, places, events, |place, load, _, content| {
            is_wrong[place] |= match (loads.get(&load), content) {
                (_, Content::Nothing) | (None, Content::Number) => false,
                (Some(&address), Content::Address(held)) => !address.covers(held),
                _ => true,
            };
        });
        for &(inst, address) in &*stored {
            if place_of.get(&inst).is_none_or(|&place| is_wrong[place]) {
                let escape = &mut variables[address.variable as usize].escape;
                escape.get_or_insert((inst, "the address of a local variable is stored"));
            }
        }
        (ways.visits_left == 0).then(|| (stored[0].0, "too many ways lead to loads of stored addresses"))
    }

    /// Lets the variables escape whose addresses lie in variables that do.
    pub fn escape_with(&self, variables: &mut [Variable]) {
        // Each round lets one more escape; a chain of more pointers than this is given up.
        const ROUNDS: u32 = 8;
        for round in 0..=ROUNDS {
            let mut has_changed = false;
            for &(inst, address) in &self.stored {
                let home = self.place_of.get(&inst).and_then(|&place| {
                    variables[self.places[place].variable as usize].escape.filter(|_| round < ROUNDS)
                });
                let escape = &mut variables[address.variable as usize].escape;
                if (home.is_some() || round == ROUNDS) && escape.is_none() {
                    *escape = Some((inst, "the address of a local variable is stored in one that escapes"));
                    has_changed = true;
                }
            }
            if !has_changed {
                return;
            }
        }
    }

    /// Lists the places that addresses are stored to, and what touches them. Accesses at computed addresses count only if
    /// `is_strict`.
    fn find_places(&mut self, sources: Sources<'_>, accesses: &[Access], is_strict: bool) {
        let Self { stored, places, place_of, events, .. } = self;
        let address_of: AHashMap<InstId, Address> = stored.iter().copied().collect();
        let mut by_bytes: AHashMap<(u32, u32, u32), usize> = AHashMap::default();
        places.clear();
        place_of.clear();
        events.clear();
        for access in accesses.iter().filter(|access| address_of.contains_key(&access.inst)) {
            let &Access { variable, low, high, .. } = access;
            let place = *by_bytes.entry((variable, low, high)).or_insert_with(|| {
                places.push(Place { variable, low, high, events: 0..0, only: None, is_open: false });
                places.len() - 1
            });
            place_of.insert(access.inst, place);
        }
        let (computed, exact): (Vec<&Access>, Vec<&Access>) =
            accesses.iter().partition(|access| access.refusal == Some(NOT_CONSTANT));
        let computed = Spans::of(computed.into_iter().filter(|_| is_strict));
        let exact = Spans::of(exact.into_iter());
        for place in places {
            let first = events.len();
            let touching = exact.touching(place).map(|access| {
                let what = what(sources, access, place, address_of.get(&access.inst).copied());
                Event { inst: access.inst, block: access.block, what }
            });
            events.extend(touching);
            events[first..].sort_unstable_by_key(|event| sources.position(event.inst));
            place.events = first..events.len();
            place.is_open = computed.touching(place).next().is_some();
            let mut stored = events[first..].iter().filter_map(|event| match event.what {
                What::Store { value, .. } => Some(value),
                What::Load { .. } => None,
            });
            place.only = match stored.next() {
                Some(Content::Address(address)) if stored.all(|other| other == Content::Address(address)) => {
                    Some(address)
                }
                _ => None,
            };
        }
    }
}

/// What an access does to a place that it touches; `stored` is the address that it stores.
fn what(sources: Sources<'_>, access: &Access, place: &Place, stored: Option<Address>) -> What {
    let is_exact = (access.low, access.high) == (place.low, place.high);
    if access.is_load {
        return What::Load { is_whole: is_exact && access.refusal.is_none() && is_whole(sources, access, 0) };
    }
    let value = match stored {
        Some(address) if is_exact && is_whole(sources, access, 1) => Content::Address(address),
        Some(_) => Content::Mixed,
        None => Content::Number,
    };
    let covers = access.low <= place.low && place.high <= access.high && access.refusal.is_none();
    let has_gap = || {
        let mut elements = access.elements(sources.view, sources.forms);
        elements.any(|element| element.held == Held::Nothing)
    };
    What::Store { value, kills: covers && sources.view.guard_of(access.inst).is_none() && !has_gap() }
}

/// Whether an access moves one register, all of it.
fn is_whole(sources: Sources<'_>, access: &Access, position: usize) -> bool {
    let at = OperandRef { inst: access.inst, position };
    let bits = |vreg: VRegId| sources.view.vregs[vreg.index()].ty.element().bits();
    sources.whole_register(at).is_some_and(|vreg| bits(vreg) == 8 * (access.high - access.low))
}

/// Accesses by their first byte, each with the highest end of those up to it that are of its variable.
struct Spans<'a>(Vec<(&'a Access, u32)>);

impl<'a> Spans<'a> {
    fn of(accesses: impl Iterator<Item = &'a Access>) -> Self {
        let mut all: Vec<(&Access, u32)> = accesses.map(|access| (access, access.high)).collect();
        all.sort_unstable_by_key(|(access, _)| (access.variable, access.low));
        for at in 1..all.len() {
            if all[at].0.variable == all[at - 1].0.variable {
                all[at].1 = all[at].1.max(all[at - 1].1);
            }
        }
        Self(all)
    }

    /// Those that may touch a place: as many are looked at as begin up to the longest one before it.
    fn touching(&self, place: &Place) -> impl Iterator<Item = &'a Access> + use<'a, '_> {
        let &Place { variable, low, high, .. } = place;
        let end = self.0.partition_point(|(access, _)| (access.variable, access.low) < (variable, high));
        let near = self.0[..end].iter().rev();
        let near = near.take_while(move |(access, reach)| access.variable == variable && *reach > low);
        near.filter(move |(access, _)| access.high > low).map(|&(access, _)| access)
    }
}

/// The ways from a load back to what was stored on them.
#[derive(Default)]
struct Ways {
    /// By block: the number of the last walk that came to its end.
    seen: Vec<u32>,
    walks: u32,
    to_visit: Vec<BlockId>,
    visits_left: usize,
}

impl Ways {
    fn start(&mut self, view: &FunctionView<'_>) {
        self.seen.clear();
        self.seen.resize(view.blocks.len(), 0);
        self.walks = 0;
        self.visits_left = VISITS_PER_ROW * view.heads.len();
    }

    /// Tells of each load that touches a place: the number of the place, the load, whether it loads all of the place and nothing
    /// else, and what the place holds.
    fn each_load(
        &mut self,
        view: &FunctionView<'_>,
        places: &[Place],
        events: &[Event],
        mut tell: impl FnMut(usize, InstId, bool, Content),
    ) {
        for (number, place) in places.iter().enumerate() {
            let events = &events[place.events.clone()];
            // The load before, if nothing was stored since.
            let mut last: Option<(BlockId, Content)> = None;
            for (at, event) in events.iter().enumerate() {
                let What::Load { is_whole } = event.what else {
                    last = None;
                    continue;
                };
                let content = match (place.only, last) {
                    (Some(address), _) => Content::Address(address),
                    (None, Some((block, content))) if block == event.block => content,
                    _ => self.content_before(view, events, at),
                };
                last = Some((event.block, content));
                tell(number, event.inst, is_whole, content);
            }
        }
    }

    /// What a place holds before an event.
    fn content_before(&mut self, view: &FunctionView<'_>, events: &[Event], at: usize) -> Content {
        self.walks += 1;
        self.to_visit.clear();
        let mut content = self.up(view, events, events[at].block, at, Content::Nothing);
        while let Some(block) = self.to_visit.pop() {
            if std::mem::replace(&mut self.seen[block.index()], self.walks) == self.walks {
                continue;
            }
            if content == Content::Mixed || self.visits_left == 0 {
                return Content::Mixed;
            }
            let end = events.partition_point(|event| event.block <= block);
            content = self.up(view, events, block, end, content);
        }
        content
    }

    /// Goes up a block from the event before number `end`, to a store that leaves nothing or to the block's predecessors.
    fn up(
        &mut self,
        view: &FunctionView<'_>,
        events: &[Event],
        block: BlockId,
        end: usize,
        mut content: Content,
    ) -> Content {
        self.visits_left = self.visits_left.saturating_sub(1);
        for event in events[..end].iter().rev().take_while(|event| event.block == block) {
            self.visits_left = self.visits_left.saturating_sub(1);
            if let What::Store { value, kills } = event.what {
                content = content.or(value);
                if kills {
                    return content;
                }
            }
        }
        self.to_visit.extend(view.preds(block));
        content
    }
}
