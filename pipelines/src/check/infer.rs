//! Launches for kernels that are not described: from the signature, from how the code uses each parameter, and from
//! what running shows.
//!
//! Eight bytes of the parameters are an address where they say so (`.ptr`), where the code puts them into an address, see
//! [`super::uses`], or where running shows it: numbers that no buffer has as its address stand in all places that are in
//! doubt, and an access next to one of these gives its place away. Everything else is a number. Buffers start small and
//! grow where the kernel reaches past their end; numbers start at what fits such buffers. What is found is a launch
//! line, so it can be written down.

use super::uses::{self, Place, Uses};
use super::{CheckOptions, run_one};
use ptxopt_emulator::launch_lines::{ArgumentLine, Element, Fill, Lane, LaunchLine};
use ptxopt_emulator::{Access, Entry, Module, Parameter, StateSpace, Stop};

/// Bytes of a buffer at first.
const BUFFER_BYTES: usize = 1 << 14;
/// Bytes that a buffer may grow to.
const BUFFER_BYTES_MAX: usize = 1 << 22;
/// Addresses that one buffer may take, the gap after it included, when it is as large as it gets.
const REACH_OF_A_BUFFER: u64 = 16 * BUFFER_BYTES_MAX as u64;
/// Bytes of dynamic shared memory at first, and at most: what an SM has.
const SHARED_BYTES: [u32; 2] = [1 << 12, 227 << 10];
/// Threads of a block where the kernel does not say: two warps, so that warps can get in each other's way.
const BLOCK: [u32; 3] = [64, 1, 1];
/// Blocks of the grid.
const GRID: [u32; 3] = [2, 1, 1];
/// What the launches that are tried may cost before a kernel is given up: bytes of their buffers, and thread-instructions
/// eight times. A second or so; a count, so that the same launch is found everywhere.
const WORK_MAX: u64 = 200_000_000;
/// The same for each thread-instruction that one launch may take: who asks for short launches gets a short search.
const WORK_PER_STEP: u64 = 40;
/// Thread-instructions of a launch that is tried.
const STEPS_MAX: u64 = 1_000_000;
/// Launches that look for addresses: each finds one.
const PROBES_MAX: usize = 64;
/// The numbers of a probe, one a place: `PROBE_FIRST + n * PROBE_STEP + 64`. So far apart that an index does not lead from
/// one to another, and above every address that the emulator gives out. Their low half is a fair count.
const PROBE_FIRST: u64 = 1 << 60;
const PROBE_STEP: u64 = 1 << 44;
const PROBE_LOW: u64 = 64;

/// What integers and buffers hold, tried in order: kernels index with both.
const CONTENTS: [(u64, Fill); 4] =
    [(64, Fill::Below(16)), (16, Fill::Below(4)), (1, Fill::Zero), (64, Fill::Real(true))];

/// How wide a launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Several warps in several blocks.
    Several,
    /// One warp.
    Warp,
    /// One thread, or the block that the kernel asks for.
    Thread,
}

impl Width {
    /// The widths, the widest first: threads of a narrow launch cannot get in each other's way, so it judges less.
    pub const ALL: [Self; 3] = [Self::Several, Self::Warp, Self::Thread];

    fn extent(self, entry: &Entry) -> ([u32; 3], [u32; 3]) {
        let (grid, block) = match self {
            Self::Several => (GRID, BLOCK),
            Self::Warp => ([1; 3], [32, 1, 1]),
            Self::Thread => ([1; 3], [1; 3]),
        };
        let all = |block: [u32; 3]| block.iter().fold(1, |all: u32, &dim| all.saturating_mul(dim));
        let most = entry.maximal_block.map_or(u32::MAX, all);
        let block = if block[0] > most { [most, 1, 1] } else { block };
        (grid, entry.required_block.unwrap_or(block))
    }
}

/// A launch line of `width` under which `entry` runs to its end, or to a trap of its own.
///
/// # Errors
/// Why none was found.
pub fn launch_line(
    module: &Module,
    entry: &Entry,
    text: &[u8],
    width: Width,
    options: CheckOptions,
) -> Result<LaunchLine, String> {
    let mut uses = uses::of(text, entry);
    let declared = entry.parameters.iter().filter(|parameter| parameter.pointer.is_some());
    uses.pointers.extend(declared.map(|parameter| (parameter.name.clone(), 0)));
    let steps_max = options.steps_max.min(STEPS_MAX);
    let work_max = WORK_MAX.min(options.steps_max.saturating_mul(WORK_PER_STEP));
    let mut search = Search { module, entry, width, steps_max, work_max, work: 0 };
    search.fill_in(&uses).or_else(|reason| {
        let known = uses.pointers.len();
        search.work = 0;
        search.probe(&mut uses);
        search.work = 0;
        if uses.pointers.len() > known { search.fill_in(&uses) } else { Err(reason) }
    })
}

/// A search for a launch line of one kernel.
struct Search<'a> {
    module: &'a Module,
    entry: &'a Entry,
    width: Width,
    steps_max: u64,
    work_max: u64,
    /// What was done so far, see [`WORK_MAX`].
    work: u64,
}

impl Search<'_> {
    fn stop(&mut self, line: &LaunchLine) -> Option<Stop> {
        let outcome = run_one(self.module, &line.launch(0), false, self.steps_max);
        let bytes: usize = outcome.buffers.iter().map(Vec::len).sum();
        self.work += bytes as u64 + 8 * outcome.steps;
        outcome.stop
    }

    /// Tries contents in order, and larger buffers.
    fn fill_in(&mut self, uses: &Uses) -> Result<LaunchLine, String> {
        let mut reason = String::new();
        for (number, fill) in CONTENTS {
            let mut line = self.line(uses, &fill, |_| number);
            while self.work < self.work_max {
                let Some(stop) = self.stop(&line) else { return Ok(line) };
                reason = stop.to_string();
                match stop {
                    Stop::Trap { .. } | Stop::Assertion { .. } => return Ok(line),
                    Stop::OutOfBounds { access, .. } if self.grow(&mut line, &access) => {}
                    _ => break,
                }
            }
        }
        Err(reason)
    }

    /// Adds the addresses that running gives away.
    fn probe(&mut self, uses: &mut Uses) {
        for _ in 0..PROBES_MAX {
            let places = self.places_in_doubt(uses);
            let number = |place: &Place| match places.iter().position(|doubtful| doubtful == place) {
                Some(at) => PROBE_FIRST + at as u64 * PROBE_STEP + PROBE_LOW,
                None => PROBE_LOW,
            };
            let mut line = self.line(uses, &Fill::Zero, number);
            let given_away = loop {
                let Some(Stop::OutOfBounds { access, .. } | Stop::Misaligned { access, .. }) =
                    self.stop(&line)
                else {
                    return;
                };
                // An index may lead to both sides.
                let nearest = access.address.saturating_add(PROBE_STEP / 2).checked_sub(PROBE_FIRST);
                match nearest.and_then(|distance| places.get((distance / PROBE_STEP) as usize)) {
                    Some(place) => break place.clone(),
                    None if self.grow(&mut line, &access) => {}
                    None => return,
                }
            };
            uses.pointers.insert(given_away);
        }
    }

    /// Eight bytes of the parameters that may be an address as well as a number.
    fn places_in_doubt(&self, uses: &Uses) -> Vec<Place> {
        let aligned = self.entry.parameters.iter().flat_map(|parameter| {
            let last = (parameter.size as usize).checked_sub(8);
            last.into_iter().flat_map(|last| (0..=last).step_by(8)).map(|at| (parameter.name.clone(), at))
        });
        let is_number = |place: &Place| {
            let (name, at) = place;
            let parts = uses.fields.range((name.clone(), *at)..(name.clone(), at + 8));
            parts.into_iter().any(|(_, (ty, size))| *size != 8 || ty.starts_with('f'))
        };
        aligned.filter(|place| !uses.pointers.contains(place) && !is_number(place)).collect()
    }

    /// A line whose buffers hold `fill`, and whose numbers are `number` of their place.
    fn line(&self, uses: &Uses, fill: &Fill, number: impl Fn(&Place) -> u64) -> LaunchLine {
        let (grid, block) = self.width.extent(self.entry);
        let arguments = self.entry.parameters.iter();
        LaunchLine {
            entry: self.entry.name.clone(),
            grid,
            block,
            shared_bytes: SHARED_BYTES[0],
            arguments: arguments.map(|parameter| argument(parameter, uses, fill, &number)).collect(),
        }
    }

    /// Makes eight times as large what `access` may have missed; false when that is as large as it gets, or when the access is nowhere
    /// near it: after a null pointer, say.
    fn grow(&self, line: &mut LaunchLine, access: &Access) -> bool {
        match access.space {
            StateSpace::Shared | StateSpace::SharedCluster => {
                let [_, most] = SHARED_BYTES;
                let grown = (line.shared_bytes * 4).min(most);
                std::mem::replace(&mut line.shared_bytes, grown) < grown
            }
            StateSpace::Global => {
                let mut buffers: Vec<_> = line.arguments.iter_mut().flat_map(buffers_of).collect();
                let past_first = access.address.checked_sub(self.module.first_buffer());
                let reach = buffers.len() as u64 * REACH_OF_A_BUFFER;
                if past_first.is_none_or(|distance| distance >= reach) {
                    return false;
                }
                let may_grow = |(count, size): &&mut (&mut usize, usize)| **count * *size < BUFFER_BYTES_MAX;
                let growing = buffers.iter_mut().filter(may_grow);
                growing.map(|(count, _)| **count *= 8).count() > 0
            }
            _ => false,
        }
    }
}

/// Number of lanes and bytes of a lane of each buffer of an argument.
fn buffers_of(argument: &mut ArgumentLine) -> impl Iterator<Item = (&mut usize, usize)> {
    let ArgumentLine { count, element, is_buffer, parts, .. } = argument;
    let parts = parts.iter_mut().map(|(_, part)| (&mut part.count, part.element, part.is_buffer));
    let all = parts.chain([(count, *element, *is_buffer)]);
    all.filter(|&(.., is_buffer)| is_buffer).map(|(count, element, _)| (count, element.lane.size()))
}

fn argument(
    parameter: &Parameter,
    uses: &Uses,
    fill: &Fill,
    number: &impl Fn(&Place) -> u64,
) -> ArgumentLine {
    let size = parameter.size as usize;
    let whole: Place = (parameter.name.clone(), 0);
    if let Some(scalar) = scalar(parameter.ty, size) {
        return if size == 8 && uses.pointers.contains(&whole) {
            buffer(fill)
        } else {
            scalar(number(&whole))
        };
    }
    let mut value = plain(Lane::Int(1), size, Fill::Zero, false);
    let place = |at: usize| (parameter.name.clone(), at);
    for at in (0..size.saturating_sub(7)).filter(|&at| uses.pointers.contains(&place(at))) {
        value.parts.push((at, buffer(fill)));
    }
    let is_free = |parts: &[(usize, ArgumentLine)], at: usize, size: usize| {
        parts.iter().all(|(other, part)| {
            let end = other + if part.is_buffer { 8 } else { part.size() };
            at + size <= *other || end <= at
        })
    };
    for ((_, at), (ty, bytes)) in uses.fields.range(place(0)..place(size)) {
        if let Some(scalar) = scalar(ty, *bytes)
            && at + bytes <= size
            && is_free(&value.parts, *at, *bytes)
        {
            value.parts.push((*at, scalar(number(&place(*at)))));
        }
    }
    // Bytes of which the code says nothing: a structure that is copied as a whole, or passed on.
    if uses.fields.range(place(0)..place(size)).next().is_none() {
        for at in (0..size.saturating_sub(7)).step_by(8) {
            if is_free(&value.parts, at, 8) {
                value.parts.push((at, plain(Lane::Int(8), 1, one(number(&place(at))), false)));
            }
        }
    }
    value
}

/// What makes a scalar of a type; nothing where there is no such scalar.
fn scalar(ty: &str, size: usize) -> Option<impl Fn(u64) -> ArgumentLine + use<>> {
    let lane = match (ty, size) {
        ("f16" | "bf16", 2) => Lane::F16,
        ("f32", 4) => Lane::F32,
        ("f64", 8) => Lane::F64,
        (_, 1 | 2 | 4 | 8) => Lane::Int(size),
        _ => return None,
    };
    Some(move |number| plain(lane, 1, one(number), false))
}

fn one(number: u64) -> Fill {
    Fill::List(vec![number as f64], vec![number])
}

fn buffer(fill: &Fill) -> ArgumentLine {
    let lane = if matches!(fill, Fill::Real(_)) { Lane::F32 } else { Lane::Int(4) };
    plain(lane, BUFFER_BYTES / lane.size(), fill.clone(), true)
}

fn plain(lane: Lane, count: usize, fill: Fill, is_buffer: bool) -> ArgumentLine {
    ArgumentLine { element: Element { lane, lanes: 1 }, count, fill, is_buffer, parts: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::{CheckOptions, Reference, Verdict};
    use super::*;

    const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
    const REGISTERS: &str = ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;";

    fn line(text: &str, width: Width) -> Result<LaunchLine, String> {
        let module = Module::load(text.as_bytes()).expect("a test's module is well-formed");
        launch_line(&module, &module.entries()[0], text.as_bytes(), width, CheckOptions::default())
    }

    /// The kernel is judged, and found wrong where `from` became `to`.
    #[track_caller]
    fn judges(text: &str, from: &str, to: &str) {
        let reference = Reference::new(text.as_bytes(), &[], CheckOptions::default()).expect("it loads");
        assert_eq!((reference.judged_count(), reference.reason()), (1, ""));
        let verdict = |text: &str| reference.compare(text.as_bytes()).expect("it loads").remove(0).verdict;
        assert_eq!(verdict(text), Verdict::Same);
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        assert!(matches!(verdict(&changed), Verdict::Different(_)), "{from} to {to}");
    }

    /// A structure as CuPy passes its arrays: data, size, shape, strides.
    fn array_kernel() -> String {
        format!(
            "{HEAD}.visible .entry k(.param .align 8 .b8 a[32], .param .u32 n) {{ {REGISTERS}
             ld.param.u64 %d1, [a]; ld.param.u64 %d2, [a+8]; ld.param.u64 %d3, [a+24]; ld.param.u32 %r1, [n];
             mov.u32 %r2, %tid.x; cvt.u64.u32 %d4, %r2; setp.ge.s64 %p1, %d4, %d2; @%p1 bra END;
             mul.lo.s64 %d5, %d4, %d3; add.s64 %d6, %d1, %d5; ld.global.v2.u32 {{%r3, %r4}}, [%d6];
             add.u32 %r5, %r3, %r1; st.global.v2.u32 [%d6], {{%r5, %r2}}; END: ret; }}\n"
        )
    }

    #[test]
    fn structures_hold_pointers_and_numbers() {
        let text = array_kernel();
        let found = line(&text, Width::Warp).unwrap();
        let parts = found.arguments[0].parts.iter().map(|(at, part)| (*at, part.is_buffer));
        assert_eq!(parts.collect::<Vec<_>>(), [(0, true), (8, false), (24, false)]);
        judges(
            &text.replace(
                "mov.u32 %r2, %tid.x",
                "mov.u32 %r2, %tid.x; mov.u32 %r6, %ctaid.x; mad.lo.u32 %r2, %r6, 64, %r2",
            ),
            "add.u32 %r5",
            "sub.u32 %r5",
        );
    }

    /// The address goes through a call, where it is not followed: running shows what it is.
    #[test]
    fn an_address_gives_itself_away() {
        let text = format!(
            "{HEAD}.func put(.param .b64 to, .param .b32 what) {{ {REGISTERS} ld.param.u64 %d1, [to];
             ld.param.u32 %r1, [what]; st.u32 [%d1+8], %r1; ret; }}
             .visible .entry k(.param .u64 size, .param .u64 first, .param .align 8 .b8 s[24]) {{ {REGISTERS}
             ld.param.u64 %d1, [size]; ld.param.u64 %d2, [first]; ld.param.u64 %d3, [s+16]; mov.u32 %r1, %tid.x;
             mul.wide.u32 %d4, %r1, 16; add.s64 %d2, %d2, %d4; add.s64 %d3, %d3, %d4; cvt.u32.u64 %r2, %d1;
             {{ .param .b64 to; .param .b32 what; st.param.b64 [to], %d2; st.param.b32 [what], %r2; call put, (to, what); }}
             {{ .param .b64 to; .param .b32 what; st.param.b64 [to], %d3; st.param.b32 [what], %r1; call put, (to, what); }}
             ret; }}\n"
        );
        let found = line(&text, Width::Warp).unwrap();
        let [size, first, s] = &found.arguments[..] else { panic!("three arguments") };
        assert!(!size.is_buffer && first.is_buffer);
        assert_eq!(s.parts.iter().map(|(at, part)| (*at, part.is_buffer)).collect::<Vec<_>>(), [(16, true)]);
        let one_block = text.replace(
            "mov.u32 %r1, %tid.x;",
            "mov.u32 %r1, %tid.x; mov.u32 %r6, %ctaid.x; mad.lo.u32 %r1, %r6, 64, %r1;",
        );
        judges(&one_block, "[%d1+8], %r1", "[%d1+8], 1");
    }

    #[test]
    fn threads_in_each_others_way_are_told_apart() {
        let kernel = |value: &str| {
            format!(
                "{HEAD}.visible .entry k(.param .u64 p) {{ {REGISTERS} ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x;
                 add.u32 %r2, {value}, 5; st.global.u32 [%d1], %r2; ret; }}\n"
            )
        };
        // One thread alone has no race; threads that write the same have none that shows.
        judges(&kernel("%r1"), "%r1, 5", "%r1, 6");
        let module = kernel("%r1");
        let several = line(&module, Width::Several).unwrap();
        let reference = Reference::new(module.as_bytes(), &[several], CheckOptions::default()).unwrap();
        assert!(reference.reason().contains("race"), "{}", reference.reason());
        let module = kernel("7");
        let several = line(&module, Width::Several).unwrap();
        let reference = Reference::new(module.as_bytes(), &[several], CheckOptions::default()).unwrap();
        assert_eq!(reference.judged_count(), 1);
    }

    #[test]
    fn memory_grows_to_what_is_reached() {
        let text = format!(
            "{HEAD}.extern .shared .align 4 .b8 s[];\n.visible .entry k(.param .u64 p, .param .u64 q) {{ {REGISTERS}
             ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; ld.global.u32 %r1, [%d2+400000]; mov.u32 %r2, s;
             st.shared.u32 [%r2+10000], %r1; st.global.u32 [%d1], %r1; ret; }}\n"
        );
        let found = line(&text, Width::Thread).unwrap();
        let sizes: Vec<usize> = found.arguments.iter().map(ArgumentLine::size).collect();
        assert_eq!((sizes, found.shared_bytes), (vec![BUFFER_BYTES * 64; 2], SHARED_BYTES[0] * 4));
    }

    /// No buffer is ever so large that an address made of numbers lies in it: so the work that one launch may cost is left for
    /// other contents.
    #[test]
    fn nothing_grows_for_an_address_that_no_buffer_reaches() {
        let text = format!(
            "{HEAD}.visible .entry k(.param .u64 p) {{ {REGISTERS} ld.param.u64 %d1, [p]; ld.global.u64 %d2, [%d1];
             setp.eq.u64 %p1, %d2, 0; @%p1 bra END; st.global.u32 [%d2], 1; END: st.global.u32 [%d1], 2; ret; }}\n"
        );
        let module = Module::load(text.as_bytes()).unwrap();
        let options =
            CheckOptions { steps_max: 10 * BUFFER_BYTES as u64 / WORK_PER_STEP, ..CheckOptions::default() };
        let found =
            launch_line(&module, &module.entries()[0], text.as_bytes(), Width::Thread, options).unwrap();
        assert_eq!((&found.arguments[0].fill, found.arguments[0].size()), (&Fill::Zero, BUFFER_BYTES));
    }

    #[test]
    fn what_no_launch_suits_has_a_reason() {
        let text = format!("{HEAD}.visible .entry k() {{ L: bra L; }}\n");
        let reference = Reference::new(text.as_bytes(), &[], CheckOptions::default()).unwrap();
        assert_eq!((reference.judged_count(), reference.reason()), (0, "instruction limit reached"));
    }
}
