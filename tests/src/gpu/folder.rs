//! The prepared folder: what `tests/gpu/folder.c` reads, and lines `about` it that the record needs.

use super::causes::Cause;
use super::elements::{Bound, Kind};
use ptxopt_emulator::{Argument, Launch};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// A module at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Set and name of the module: `corpus/O0/saxpy.ptx`.
    pub name: String,
    /// `before`, or the level that it was optimized at: `O2`.
    pub level: String,
    /// How it was assembled here.
    pub assembly: Assembly,
}

/// What became of a module in the assembler, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assembly {
    /// Not asked: it is not installed, or the module is for another architecture. The driver assembles it.
    Driver,
    /// Machine code.
    Full,
    /// Machine code, but only without the assembler's optimizer.
    Plain,
    /// Refused, crashed or out of time, with and without its optimizer.
    Failed,
}

impl Assembly {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Driver, "driver"),
        (Self::Full, "ptxas"),
        (Self::Plain, "ptxas-O0"),
        (Self::Failed, "failed"),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(other, _)| *other == self).map_or("", |(_, word)| word)
    }
}

/// Machine code for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// What follows `sm_`: `90`, `90a`.
    pub arch: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// How a kernel must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With these bytes: of each buffer, then of each variable.
    Memory(Vec<Vec<u8>>),
    /// In a trap.
    Trap,
    /// Not known: only before and after are compared.
    Unknown,
}

/// Something that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// `buffer 1`, or the name of a variable.
    pub name: String,
    /// What it is made of.
    pub kind: Kind,
    /// Bytes.
    pub size: usize,
}

/// A launch with what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Module, kernel and seed: `corpus/O0/saxpy.ptx saxpy 0`.
    pub name: String,
    /// The launch.
    pub launch: Launch,
    /// Kinds of the buffers, in the order of the arguments.
    pub kinds: Vec<Kind>,
    /// Variables of the module to look at afterwards, with their sizes.
    pub variables: Vec<(String, usize)>,
    /// How it must end.
    pub ending: Ending,
    /// Why it may rightly end otherwise.
    pub causes: BTreeSet<Cause>,
    /// How far floats may be off.
    pub bound: Bound,
}

/// A folder that is being written.
pub struct Folder {
    path: PathBuf,
    manifest: String,
    codes: usize,
    launches: usize,
    /// Launches of modules, in all.
    pub runs: usize,
}

/// A word of the manifest: names of kernels and files hold no spaces, paths of the user may.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect()
}

impl Folder {
    /// Starts a folder; one that a former run left there is replaced.
    ///
    /// # Errors
    /// A folder that is something else, or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        if path.exists() && !path.join("manifest").exists() && fs::read_dir(path)?.next().is_some() {
            let text = format!("{} holds something else", path.display());
            return Err(io::Error::other(text));
        }
        for name in ["code", "data", "actual"] {
            if path.join(name).exists() {
                fs::remove_dir_all(path.join(name))?;
            }
        }
        fs::create_dir_all(path.join("code"))?;
        fs::create_dir_all(path.join("data"))?;
        let manifest = String::from("ptxopt-gpu 1\n");
        Ok(Self { path: path.to_owned(), manifest, codes: 0, launches: 0, runs: 0 })
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.manifest, "{line}");
    }

    /// Adds a module: its text for the driver, and what the assembler made of it. Gives its number.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn add_code(&mut self, code: &Code, text: &[u8], cubins: &[Cubin]) -> io::Result<usize> {
        let number = self.codes;
        self.codes += 1;
        let (arch, flavour) = target(text);
        let file = format!("code/{number}.ptx");
        fs::write(self.path.join(&file), super::rounding::explicit(text))?;
        self.line(format_args!("code {number} {arch} {} {file}", flavour.unwrap_or('-')));
        for cubin in cubins {
            let file = format!("code/{number}.sm_{}.cubin", cubin.arch);
            fs::write(self.path.join(&file), &cubin.bytes)?;
            let plain = cubin.arch.trim_end_matches(|c: char| !c.is_ascii_digit());
            let how = if plain == cubin.arch { "any" } else { "exact" };
            self.line(format_args!("cubin {number} {plain} {how} {file}"));
        }
        let (name, level) = (word(&code.name), word(&code.level));
        self.line(format_args!("about code {number} {name} {level} {}", code.assembly.word()));
        Ok(number)
    }

    /// Adds a launch; gives its number.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn add_case(&mut self, case: &Case) -> io::Result<usize> {
        let number = self.launches;
        self.launches += 1;
        let Launch { entry, grid, block, shared_bytes, args } = &case.launch;
        let inputs = self.data(&args.iter().flat_map(inputs).flatten().copied().collect::<Vec<u8>>())?;
        let expected = match &case.ending {
            Ending::Memory(outputs) => self.data(&outputs.concat())?,
            Ending::Trap | Ending::Unknown => "-".to_owned(),
        };
        let ending = if case.ending == Ending::Trap { "trap" } else { "end" };
        let [gx, gy, gz] = grid;
        let [bx, by, bz] = block;
        self.line(format_args!(
            "launch {number} {entry} {gx} {gy} {gz} {bx} {by} {bz} {shared_bytes} {ending} {inputs} {expected}"
        ));
        for argument in args {
            match argument {
                Argument::Buffer(bytes) => self.line(format_args!("buffer {number} {}", bytes.len())),
                Argument::Scalar(bytes) => self.line(format_args!("value {number} {}", bytes.len())),
                Argument::Structure(bytes, buffers) => {
                    self.line(format_args!("value {number} {}", bytes.len()));
                    for (at, buffer) in buffers {
                        self.line(format_args!("held {number} {} {at}", buffer.len()));
                    }
                }
            }
        }
        for (name, size) in &case.variables {
            self.line(format_args!("variable {number} {name} {size}"));
        }
        let list = |words: Vec<String>| if words.is_empty() { "-".to_owned() } else { words.join(",") };
        let kinds = list(case.kinds.iter().map(Kind::to_string).collect());
        let causes = list(case.causes.iter().map(|cause| cause.word().to_owned()).collect());
        let name = word(&case.name);
        self.line(format_args!("about launch {number} {name} {kinds} {causes} {}", case.bound));
        Ok(number)
    }

    /// Adds the run of a launch with a module.
    pub fn add_run(&mut self, launch: usize, code: usize) {
        self.runs += 1;
        self.line(format_args!("run {launch} {code}"));
    }

    /// Notes that a kernel is not run, and why.
    pub fn set_aside(&mut self, set: &str, reason: &str) {
        let reason = reason.lines().next().unwrap_or_default();
        self.line(format_args!("about aside {} {reason}", word(set)));
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        fs::write(self.path.join("manifest"), self.manifest)
    }

    /// Stores bytes by what they are; gives the file's name.
    fn data(&self, bytes: &[u8]) -> io::Result<String> {
        let name = format!("data/{:032x}", xxh3_128(bytes));
        let path = self.path.join(&name);
        if !path.exists() {
            fs::write(path, bytes)?;
        }
        Ok(name)
    }
}

/// The buffers of an argument.
pub fn buffers(argument: &Argument) -> impl Iterator<Item = &Vec<u8>> {
    let (own, held) = match argument {
        Argument::Buffer(bytes) => (Some(bytes), &[][..]),
        Argument::Scalar(_) => (None, &[][..]),
        Argument::Structure(_, buffers) => (None, &buffers[..]),
    };
    own.into_iter().chain(held.iter().map(|(_, bytes)| bytes))
}

/// What goes in with an argument: its value, and what its buffers hold.
fn inputs(argument: &Argument) -> impl Iterator<Item = &Vec<u8>> {
    let value = match argument {
        Argument::Buffer(_) => None,
        Argument::Scalar(bytes) | Argument::Structure(bytes, _) => Some(bytes),
    };
    value.into_iter().chain(buffers(argument))
}

/// What the first target of a module says: the number and the letter after it.
#[must_use]
pub fn target(text: &[u8]) -> (u32, Option<char>) {
    let head = String::from_utf8_lossy(&text[..text.len().min(1 << 16)]);
    let line = head.lines().find_map(|line| line.trim_start().strip_prefix(".target"));
    let name = line.and_then(|line| line.trim_start().strip_prefix("sm_")).unwrap_or_default();
    let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
    let flavour = name[digits.len()..].chars().next().filter(|c| matches!(c, 'a' | 'f'));
    (digits.parse().unwrap_or(0), flavour)
}

/// A finished folder, as its manifest describes it.
#[derive(Debug, Default)]
pub struct Prepared {
    /// The modules, by number.
    pub codes: Vec<Code>,
    /// The launches, by number.
    pub cases: Vec<PreparedCase>,
    /// Launch and module of each run.
    pub runs: Vec<(usize, usize)>,
    /// Set and reason of each kernel that is not run.
    pub aside: Vec<(String, String)>,
}

/// A launch of a finished folder.
#[derive(Debug)]
pub struct PreparedCase {
    /// Module, kernel and seed.
    pub name: String,
    /// What is compared.
    pub outputs: Vec<Output>,
    /// File with the bytes that must come out, where they are known.
    pub expected: Option<PathBuf>,
    /// Why it may rightly end otherwise.
    pub causes: BTreeSet<Cause>,
    /// How far floats may be off.
    pub bound: Bound,
}

impl Prepared {
    /// Reads the manifest of `folder`.
    ///
    /// # Errors
    /// A manifest that cannot be read, or a line of it that is not understood.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join("manifest");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut prepared = Self::default();
        for (at, line) in text.lines().enumerate().skip(1) {
            let taken = prepared.take_line(folder, line);
            taken.ok_or_else(|| format!("{}, line {}: not understood", path.display(), at + 1))?;
        }
        Ok(prepared)
    }

    fn take_line(&mut self, folder: &Path, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at)?.parse::<usize>().ok();
        match words[..] {
            ["code" | "cubin" | "value", ..] => {}
            ["launch", .., expected] => {
                let expected = (expected != "-").then(|| folder.join(expected));
                self.cases.push(PreparedCase {
                    name: String::new(),
                    outputs: Vec::new(),
                    expected,
                    causes: BTreeSet::new(),
                    bound: Bound::Exact,
                });
            }
            ["buffer", _, size] | ["held", _, size, _] => {
                let case = self.cases.get_mut(number(1)?)?;
                let name = format!("buffer {}", case.outputs.len());
                case.outputs.push(Output { name, kind: Kind::Unknown, size: size.parse().ok()? });
            }
            ["variable", _, name, size] => {
                let output = Output { name: name.to_owned(), kind: Kind::Unknown, size: size.parse().ok()? };
                self.cases.get_mut(number(1)?)?.outputs.push(output);
            }
            ["run", ..] => self.runs.push((number(1)?, number(2)?)),
            ["about", "code", _, name, level, assembly] => {
                let (assembly, _) = *Assembly::ALL.iter().find(|(_, word)| *word == assembly)?;
                self.codes.push(Code { name: name.to_owned(), level: level.to_owned(), assembly });
            }
            ["about", "launch", _, name, kinds, causes, bound] => {
                let case = self.cases.get_mut(number(2)?)?;
                case.name = name.to_owned();
                case.bound = bound.parse().ok()?;
                for (output, kind) in case.outputs.iter_mut().zip(list(kinds)) {
                    output.kind = kind.parse().ok()?;
                }
                case.causes = list(causes).map(|cause| cause.parse().ok()).collect::<Option<_>>()?;
            }
            ["about", "aside", set, ..] => {
                self.aside.push((set.to_owned(), words[3..].join(" ")));
            }
            _ => return None,
        }
        Some(())
    }
}

/// The words of a list; a dash is none.
fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|word| *word != "-")
}
