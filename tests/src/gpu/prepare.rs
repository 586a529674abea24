//! Prepares a folder: which kernels run on the GPU, on what, and what they must leave.
//!
//! A kernel is fit for that where the emulator runs it to its end, or to a trap of its own, without a race. Where it has
//! instructions without a model, before and after are still compared with one another. What is not fit is set aside
//! with the reason.

use super::causes::{self, Cause};
use super::elements::{Bound, Kind};
use super::folder::{Assembly, Case, Code, Cubin, Ending, Folder, buffers, target};
use super::{host, vectors};
use crate::generated::{generated, launch_of};
use crate::modules::{ModuleFile, in_parallel};
use crate::native::ORDER_DEPENDENT;
use crate::ptxas::{Flags, Ptxas};
use ptxopt::check::infer::{self, Width};
use ptxopt::check::{CheckOptions, launches};
use ptxopt::{OptLevel, Options, optimize};
use ptxopt_emulator::launch_lines::LaunchLine;
use ptxopt_emulator::{Checks, Finding, Launch, Limits, Module, Outcome, Stop, run};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Seconds of CPU time for the assembler: it takes a tenth of one, or it hangs.
const ASSEMBLER_SECONDS: u32 = 20;

/// Thread-instructions of a launch.
const STEPS_MAX: u64 = 4_000_000;

/// Bytes of all buffers of a launch: larger ones only cost time.
const BYTES_MAX: usize = 32 << 20;

/// What a folder holds.
pub struct Plan {
    /// Modules with kernels.
    pub modules: Vec<ModuleFile>,
    /// Seeds of generated kernels.
    pub generated: Range<u64>,
    /// Whether each arithmetic instruction runs on vectors of its own.
    pub vectors: bool,
    /// Levels to optimize at.
    pub levels: Vec<OptLevel>,
    /// Inputs for each kernel of a module.
    pub seeds: u64,
    /// Architectures to assemble for, as numbers; none to leave it to the driver.
    pub archs: Vec<u32>,
}

/// How much was prepared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Modules, each level counted.
    pub codes: usize,
    /// Launches.
    pub launches: usize,
    /// Launches of modules.
    pub runs: usize,
    /// Kernels that are not run.
    pub aside: usize,
}

/// A module at a level: its text, and what the assembler made of it.
struct Assembled {
    code: Code,
    text: Vec<u8>,
    cubins: Vec<Cubin>,
}

/// A module with its levels, and what is launched of it.
#[derive(Default)]
struct Piece {
    set: String,
    codes: Vec<Assembled>,
    cases: Vec<Case>,
    aside: Vec<String>,
}

/// What pieces are made with.
struct Workshop<'a> {
    plan: &'a Plan,
    ptxas: Option<&'a Ptxas>,
}

/// What a piece is made of.
enum Source {
    Module(ModuleFile),
    Generated(u64),
    Vectors(vectors::VectorModule),
}

/// Writes the folder `path`, with the host compiled by `compiler` where there is one.
///
/// # Errors
/// A folder that cannot be written, or a host that does not compile.
pub fn prepare(path: &Path, plan: &Plan, compiler: Option<&str>) -> Result<Counts, String> {
    let ptxas = if plan.archs.is_empty() { None } else { Ptxas::find() };
    let workshop = Workshop { plan, ptxas: ptxas.as_ref() };
    let mut sources: Vec<Source> = plan.modules.iter().cloned().map(Source::Module).collect();
    sources.extend(plan.generated.clone().map(Source::Generated));
    if plan.vectors {
        sources.extend(vectors::modules().into_iter().map(Source::Vectors));
    }
    let words = |error: std::io::Error| error.to_string();
    let mut folder = Folder::create(path).map_err(words)?;
    let mut counts = Counts::default();
    for piece in in_parallel(&sources, |source| workshop.piece(source)) {
        piece.write(&mut folder, &mut counts).map_err(words)?;
    }
    counts.runs = folder.runs;
    folder.finish().map_err(words)?;
    host::install(path, compiler)?;
    Ok(counts)
}

impl Piece {
    fn write(&self, folder: &mut Folder, counts: &mut Counts) -> std::io::Result<()> {
        for reason in &self.aside {
            folder.set_aside(&self.set, reason);
        }
        counts.aside += self.aside.len();
        if self.cases.is_empty() {
            return Ok(());
        }
        let mut codes = Vec::new();
        for Assembled { code, text, cubins } in &self.codes {
            codes.push(folder.add_code(code, text, cubins)?);
        }
        for case in &self.cases {
            let launch = folder.add_case(case)?;
            codes.iter().for_each(|&code| folder.add_run(launch, code));
        }
        counts.codes += codes.len();
        counts.launches += self.cases.len();
        Ok(())
    }
}

impl Workshop<'_> {
    fn piece(&self, source: &Source) -> Piece {
        let (name, text, mut piece) = match source {
            Source::Module(module) => {
                let text = module.text();
                let piece = self.of_module(module, &text);
                (module.name.clone(), text, piece)
            }
            Source::Generated(seed) => {
                let kernel = generated(*seed);
                let name = format!("generated/{seed}");
                let launch = launch_of(&kernel);
                let text = kernel.text().as_bytes().to_vec();
                let kinds = vec![Kind::Unknown; buffer_count(&launch)];
                let piece = of_launches(&text, &name, vec![Given::new(launch, kinds)]);
                (name, text, piece)
            }
            Source::Vectors(module) => {
                let given = |case: &vectors::VectorCase| Given {
                    bound: case.bound,
                    ..Given::new(case.launch.clone(), case.kinds.clone())
                };
                let name = format!("vectors/{}", module.name);
                let given = module.cases.iter().map(given).collect();
                let piece = of_launches(module.text.as_bytes(), &name, given);
                (name, module.text.clone().into_bytes(), piece)
            }
        };
        name.split('/').next().unwrap_or_default().clone_into(&mut piece.set);
        if !piece.cases.is_empty() {
            match self.levels(&name, &text) {
                Ok(codes) => piece.codes = codes,
                Err(reason) => {
                    piece.aside.extend(piece.cases.iter().map(|_| reason.clone()));
                    piece.cases.clear();
                }
            }
        }
        piece
    }

    /// The kernels of a module, by its launch lines or by launches that are worked out.
    fn of_module(&self, file: &ModuleFile, text: &[u8]) -> Piece {
        let mut piece = Piece::default();
        let module = match Module::load(text) {
            Ok(module) => module,
            Err(error) => {
                piece.aside.push(error.to_string());
                return piece;
            }
        };
        let lines = launches::find(&file.path, text).unwrap_or_default();
        let is_split = Flags::of(text).others.iter().any(|flag| flag == "-c");
        let mut given = Vec::new();
        for entry in module.entries() {
            let mut own: Vec<LaunchLine> =
                lines.iter().filter(|line| line.entry == entry.name).cloned().collect();
            let is_guessed = own.is_empty();
            if is_split || module.address_bits() == 32 {
                let reason = if is_split { "needs a linker" } else { "addresses of 32 bits" };
                piece.aside.push(reason.to_owned());
                continue;
            }
            if is_guessed {
                let how = CheckOptions { seeds: 1, steps_max: STEPS_MAX, races: true };
                // Races are no loss here: they show as a difference whose cause is known.
                let line = |width: &Width| infer::launch_line(&module, entry, text, *width, how);
                let lines: Vec<Result<LaunchLine, String>> = Width::ALL.iter().map(line).collect();
                match lines.iter().find_map(|line| line.as_ref().ok()) {
                    Some(line) => own.push(line.clone()),
                    None => piece.aside.extend(lines[0].as_ref().err().map(|reason| reason_kind(reason))),
                }
            }
            let seeds = if is_guessed { 1 } else { self.plan.seeds };
            for (line, seed) in own.iter().flat_map(|line| (0..seeds).map(move |seed| (line, seed))) {
                let buffers = line.arguments.iter().filter(|argument| argument.is_buffer);
                // A guessed type says nothing about what the kernel stores.
                let kind = |lane| if is_guessed { Kind::Unknown } else { Kind::from(lane) };
                let kinds = buffers.map(|argument| kind(argument.element.lane)).collect();
                given.push(Given { seed, is_guessed, ..Given::new(line.launch(seed), kinds) });
            }
        }
        let Piece { cases, aside, .. } = of_loaded(&module, text, &file.name, given);
        piece.cases = cases;
        piece.aside.extend(aside);
        piece
    }

    /// The module before and at each level; levels that give the same text are one, `O1+O2`.
    fn levels(&self, name: &str, text: &[u8]) -> Result<Vec<Assembled>, String> {
        let mut texts = vec![("before".to_owned(), text.to_vec())];
        for &level in &self.plan.levels {
            let options = Options { level, threads: 1, ..Options::default() };
            let after = optimize(text, &options).map_err(|error| format!("not optimized: {error}"))?.text;
            match texts.iter_mut().skip(1).find(|(_, other)| *other == after) {
                Some((levels, _)) => levels.push_str(&format!("+{level}")),
                None => texts.push((level.to_string(), after)),
            }
        }
        let flags = Flags::of(text);
        let code = |(level, text): (String, Vec<u8>)| {
            let (cubins, assembly) = self.assemble(&text, &flags);
            Assembled { code: Code { name: name.to_owned(), level, assembly }, text, cubins }
        };
        Ok(texts.into_iter().map(code).collect())
    }

    /// Machine code for the architectures that the module suits, and the worst that happened on the way.
    fn assemble(&self, text: &[u8], flags: &Flags) -> (Vec<Cubin>, Assembly) {
        let (mut cubins, mut assembly) = (Vec::new(), Assembly::Driver);
        let Some(ptxas) = self.ptxas else { return (cubins, assembly) };
        for &arch in &self.plan.archs {
            let Some(arch) = arch_for(target(text), arch) else { continue };
            let with = |level: &[&str]| {
                let others = ["-fmad=false"].iter().chain(level).map(|&flag| flag.to_owned());
                let others = flags.others.iter().cloned().chain(others).collect();
                ptxas.cubin(text, &Flags { arch: arch.clone(), others }, ASSEMBLER_SECONDS)
            };
            let (result, how) = match with(&[]) {
                Ok(bytes) => (Ok(bytes), Assembly::Full),
                Err(_) => (with(&["-O0"]), Assembly::Plain),
            };
            match result {
                Ok(bytes) => {
                    cubins.push(Cubin { arch, bytes });
                    assembly = assembly.max(how);
                }
                Err(_) => assembly = Assembly::Failed,
            }
        }
        (cubins, assembly)
    }
}

/// What to call `arch` when a module for `target` is assembled for it; none where it does not suit.
fn arch_for((number, flavour): (u32, Option<char>), arch: u32) -> Option<String> {
    match flavour {
        None => (number <= arch).then(|| arch.to_string()),
        Some('a') => (number == arch).then(|| format!("{arch}a")),
        Some(_) => (number / 10 == arch / 10 && number <= arch).then(|| format!("{number}f")),
    }
}

/// A launch before it was run.
struct Given {
    launch: Launch,
    kinds: Vec<Kind>,
    bound: Bound,
    seed: u64,
    is_guessed: bool,
}

impl Given {
    fn new(launch: Launch, kinds: Vec<Kind>) -> Self {
        Self { launch, kinds, bound: Bound::Exact, seed: 0, is_guessed: false }
    }
}

fn buffer_count(launch: &Launch) -> usize {
    launch.args.iter().map(|argument| buffers(argument).count()).sum()
}

fn of_launches(text: &[u8], name: &str, given: Vec<Given>) -> Piece {
    match Module::load(text) {
        Ok(module) => of_loaded(&module, text, name, given),
        Err(error) => Piece { aside: vec![error.to_string()], ..Piece::default() },
    }
}

fn of_loaded(module: &Module, text: &[u8], name: &str, given: Vec<Given>) -> Piece {
    let mut piece = Piece::default();
    for given in given {
        let all = given.launch.args.iter().flat_map(buffers);
        let case = if all.map(Vec::len).sum::<usize>() > BYTES_MAX {
            Err("buffers larger than the limit".to_owned())
        } else {
            case_of(module, text, name, given)
        };
        match case {
            Ok(case) => piece.cases.push(case),
            Err(reason) => piece.aside.push(reason),
        }
    }
    piece
}

/// The case of a launch; else why it is not run.
fn case_of(module: &Module, text: &[u8], name: &str, given: Given) -> Result<Case, String> {
    let Given { launch, kinds, bound, seed, is_guessed } = given;
    let name = format!("{name}:{}:{seed}", launch.entry);
    let mut causes = causes::of_text(text, &launch.entry, is_guessed);
    let mut outcome = emulate(module, &launch, false);
    let is_modelled = !matches!(outcome.stop, Some(Stop::NotSupported { .. }));
    if !is_modelled {
        outcome = emulate(module, &launch, true);
        causes.insert(Cause::Uninterpreted);
    }
    let has = |kind: fn(&Finding) -> bool| outcome.reports.iter().any(|report| kind(&report.finding));
    if has(|finding| matches!(finding, Finding::Race { .. })) {
        return Err("threads race".to_owned());
    }
    // Generated kernels read what nothing wrote, but nothing comes of it; their seeds have no launch line.
    let is_generated = name.starts_with("generated/");
    let unwritten = |finding: &Finding| {
        matches!(finding, Finding::UninitialisedRegister | Finding::UninitialisedMemory(_))
    };
    if !is_generated && has(unwritten) {
        causes.insert(Cause::Unwritten);
    }
    if ORDER_DEPENDENT.iter().any(|(kernel, _)| *kernel == launch.entry) {
        causes.insert(Cause::Threads);
    }
    let globals = variables(&outcome);
    let ending = match outcome.stop {
        None if !is_modelled => Ending::Unknown,
        None => {
            let globals = globals.iter().map(|(_, bytes)| bytes.clone());
            Ending::Memory(outcome.buffers.iter().cloned().chain(globals).collect())
        }
        Some(Stop::Trap { .. } | Stop::Assertion { .. }) if is_modelled => Ending::Trap,
        Some(stop) => return Err(reason_kind(&stop.to_string())),
    };
    // A trap leaves no memory to look at.
    let looks_at = |_: &(String, Vec<u8>)| ending != Ending::Trap;
    let variables = globals.into_iter().filter(looks_at).map(|(name, bytes)| (name, bytes.len())).collect();
    Ok(Case { name, launch, kinds, variables, ending, causes, bound })
}

fn emulate(module: &Module, launch: &Launch, uninterpreted: bool) -> Outcome {
    let options = ptxopt_emulator::Options {
        limits: Limits { steps: STEPS_MAX, ..Limits::default() },
        checks: Checks { races: true, uninitialised: true, ..Checks::default() },
        uninterpreted,
    };
    run(module, launch, &options)
}

/// Variables that a name finds: one that two scopes share does not say which.
fn variables(outcome: &Outcome) -> Vec<(String, Vec<u8>)> {
    let mut count = BTreeMap::new();
    for (name, _) in &outcome.globals {
        *count.entry(name.as_str()).or_insert(0) += 1;
    }
    let is_single = |(name, bytes): &&(String, Vec<u8>)| count[name.as_str()] == 1 && !bytes.is_empty();
    outcome.globals.iter().filter(is_single).cloned().collect()
}

/// A reason without what is different each time, so that reasons can be counted.
fn reason_kind(reason: &str) -> String {
    let kind = reason.split(": ").next().unwrap_or(reason);
    let kind = if kind == "not supported" { reason.split(", line").next().unwrap_or(reason) } else { kind };
    kind.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_one_device_are_assembled_for_that_one() {
        assert_eq!(arch_for((80, None), 90).as_deref(), Some("90"));
        assert_eq!(arch_for((100, None), 90), None);
        assert_eq!(arch_for((90, Some('a')), 90).as_deref(), Some("90a"));
        assert_eq!(arch_for((90, Some('a')), 100), None);
        assert_eq!(arch_for((100, Some('f')), 103).as_deref(), Some("100f"));
    }

    #[test]
    fn reasons_are_kinds() {
        assert_eq!(
            reason_kind("access out of bounds: 4 bytes at global address 0x1: line 3"),
            "access out of bounds"
        );
        assert_eq!(reason_kind("not supported: tex.2d, line 9"), "not supported: tex.2d");
    }
}
