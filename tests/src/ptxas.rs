//! The assembler as a judge: does it accept a module, and are two modules the same to it?
//!
//! It is installed by `tests/tools/install-ptxas`, in two releases: one with which everything is measured, and a later
//! one for modules of a version of PTX that the first does not know. Good verdicts are remembered by content in the
//! user's cache folder, so that a test that runs again asks about what has changed only. Bad ones are not: they are few,
//! and their messages are wanted.

use crate::cubin::code_sections;
use crate::modules::{cache_folder, constant_of_script};
use crate::say::{NO_PTXAS, skipped};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use xxhash_rust::xxh3::xxh3_128;

/// The oldest architecture that release 13 makes code for. Modules for older ones are valid for it, too.
const OLDEST_ARCH: u32 = 75;

/// The latest version of PTX that the release knows with which everything is measured.
const MEASURED_KNOWS: (u32, u32) = (9, 0);

/// Memory for the assembler. The largest module of the sets needs a tenth of it; one wrong number in a mutant, and it
/// asks for all there is.
const MEMORY_MAX_KIB: u32 = 4 << 20;

/// CPU time for the assembler.
const SECONDS_MAX: u32 = 120;

/// What is asked of the assembler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Parse and check.
    Check,
    /// Make code.
    Assemble,
}

/// The assembler, and what it accepted before.
pub struct Ptxas {
    measured: Release,
    newer: Release,
}

/// A release of the assembler, and what it accepted before.
struct Release {
    binary: PathBuf,
    known: Mutex<Known>,
}

struct Known {
    /// Keys of good verdicts.
    accepted: BTreeSet<u128>,
    /// Appended to; one line a good verdict.
    file: File,
}

/// The number of the release that the script calls `name`.
fn release(name: &str) -> String {
    constant_of_script("tools/install-ptxas", name)
}

/// Where a release is, if it is installed.
fn binary_of(release: &str) -> Option<PathBuf> {
    let binary = cache_folder()?.join(format!("ptxas-{release}/ptxas"));
    binary.is_file().then_some(binary)
}

/// Where the assembler is with which everything is measured, if both releases are installed.
#[must_use]
pub fn binary() -> Option<PathBuf> {
    binary_of(&release("NEWER"))?;
    binary_of(&release("RELEASE"))
}

impl Release {
    /// The release that the script calls `name`, if it is installed.
    fn find(name: &str) -> Option<Self> {
        let release = release(name);
        let binary = binary_of(&release)?;
        let folder = cache_folder()?.join(format!("verdicts-{release}"));
        fs::create_dir_all(&folder).expect("the cache folder can be written");
        let path = folder.join("accepted");
        // A line that a stopped run left unfinished spells no key and is passed over.
        let lines = fs::read_to_string(&path).unwrap_or_default();
        let keys = lines.lines().filter(|line| line.len() == 32);
        let accepted = keys.filter_map(|key| u128::from_str_radix(key, 16).ok()).collect();
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .expect("the cache folder can be written");
        Some(Self { binary, known: Mutex::new(Known { accepted, file }) })
    }

    fn is_known(&self, key: u128) -> bool {
        self.known.lock().expect("no holder panics").accepted.contains(&key)
    }

    fn remember(&self, key: u128) {
        let mut known = self.known.lock().expect("no holder panics");
        known.accepted.insert(key);
        // One call, so that lines of processes that run at once do not mix.
        known.file.write_all(format!("{key:032x}\n").as_bytes()).expect("the cache folder can be written");
    }
}

impl Ptxas {
    /// The assembler, if it is installed; else a line that says that it is not.
    ///
    /// # Panics
    /// When the cache folder cannot be written.
    #[must_use]
    pub fn find() -> Option<Self> {
        let (Some(measured), Some(newer)) = (Release::find("RELEASE"), Release::find("NEWER")) else {
            skipped(NO_PTXAS);
            return None;
        };
        Some(Self { measured, newer })
    }

    /// The release that knows the version of PTX that `text` is written in.
    fn release_for(&self, text: &[u8]) -> &Release {
        if version(&head(text)) > MEASURED_KNOWS { &self.newer } else { &self.measured }
    }

    /// Whether the assembler accepts `text`; else what it says.
    ///
    /// # Errors
    /// The messages of the assembler.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn accepts(&self, text: &[u8], flags: &Flags, mode: Mode) -> Result<(), String> {
        let key = xxh3_128(&[format!("{mode:?} {flags:?}\n").as_bytes(), text].concat());
        let release = self.release_for(text);
        if release.is_known(key) {
            return Ok(());
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        self.run(text, flags, mode, SECONDS_MAX, &folder.path().join("cubin"))?;
        release.remember(key);
        Ok(())
    }

    /// Whether the assembler makes the same code of two texts.
    ///
    /// # Errors
    /// The messages of the assembler when it rejects one of them.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn makes_same_code(&self, one: &[u8], other: &[u8], flags: &Flags) -> Result<bool, String> {
        let key = xxh3_128(&[format!("same code {flags:?} {}\n", one.len()).as_bytes(), one, other].concat());
        let release = self.release_for(one);
        if release.is_known(key) {
            return Ok(true);
        }
        let (one, other) = (self.cubin(one, flags, SECONDS_MAX)?, self.cubin(other, flags, SECONDS_MAX)?);
        let code = |file| code_sections(file).expect("the assembler writes ELF files");
        let is_same = code(&one) == code(&other);
        if is_same {
            release.remember(key);
        }
        Ok(is_same)
    }

    /// The machine code of `text`, made within `seconds` of CPU time.
    ///
    /// # Errors
    /// The messages of the assembler; how it ended where it has none.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn cubin(&self, text: &[u8], flags: &Flags, seconds: u32) -> Result<Vec<u8>, String> {
        Ok(self.assemble(text, flags, seconds)?.0)
    }

    /// The machine code of `text`, made within `seconds` of CPU time, and what the assembler said: much where flags hold `-v`.
    ///
    /// # Errors
    /// The messages of the assembler; how it ended where it has none.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn assemble(&self, text: &[u8], flags: &Flags, seconds: u32) -> Result<(Vec<u8>, String), String> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("cubin");
        let said = self.run(text, flags, Mode::Assemble, seconds, &path)?;
        Ok((fs::read(path).expect("the assembler wrote its output"), said))
    }

    /// Runs the assembler; what it said is its result, good or bad.
    fn run(
        &self,
        text: &[u8],
        flags: &Flags,
        mode: Mode,
        seconds: u32,
        output: &Path,
    ) -> Result<String, String> {
        let input = output.with_extension("ptx");
        fs::write(&input, text).expect("the temporary folder can be written");
        let kind = if mode == Mode::Check { "compute" } else { "sm" };
        let limited = format!("ulimit -v {MEMORY_MAX_KIB}; ulimit -t {seconds}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(limited).arg(&self.release_for(text).binary);
        command.arg(format!("-arch={kind}_{}", flags.arch)).args(&flags.others);
        let run = command.arg(&input).arg("-o").arg(output).output().expect("the assembler can be run");
        let said = String::from_utf8_lossy(&[run.stderr, run.stdout].concat()).into_owned();
        let said = said.replace(&input.display().to_string(), "module").trim_end().to_owned();
        match (run.status.success(), said.is_empty()) {
            (true, _) => Ok(said),
            (false, true) => Err(format!("the assembler ended with {}", run.status)),
            (false, false) => Err(said),
        }
    }
}

/// Flags that a module wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// What follows `sm_`.
    pub arch: String,
    /// Others.
    pub others: Vec<String>,
}

impl Flags {
    /// The flags of a module: those that its first line gives, `// ptxas: -arch=sm_90a -c`, else its own target.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let head = head(text);
        if let Some(flags) = head.lines().next().and_then(|line| line.strip_prefix("// ptxas:")) {
            let (arch, others): (Vec<&str>, Vec<&str>) =
                flags.split_whitespace().partition(|flag| flag.starts_with("-arch=sm_"));
            let arch = arch.first().map_or("75", |flag| &flag["-arch=sm_".len()..]).to_owned();
            return Self { arch, others: others.into_iter().map(str::to_owned).collect() };
        }
        let named = target(&head).strip_prefix("sm_").unwrap_or_default();
        let arch: String = named.chars().take_while(char::is_ascii_alphanumeric).collect();
        let number: u32 = arch.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
        let arch = if number < OLDEST_ARCH { OLDEST_ARCH.to_string() } else { arch };
        Self { arch, others: Vec::new() }
    }
}

/// Whether a module is for a debugger: `.target sm_90, debug`.
#[must_use]
pub fn is_for_debugger(text: &[u8]) -> bool {
    target(&head(text)).contains("debug")
}

/// What is looked at for directives that stand above all code.
fn head(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&text[..text.len().min(1 << 16)])
}

/// What `.version` says; 0.0 where there is none.
fn version(head: &str) -> (u32, u32) {
    let words = head.lines().find_map(|line| line.trim_start().strip_prefix(".version"));
    let numbers = words.and_then(|words| words.split_whitespace().next()?.split_once('.'));
    numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))).unwrap_or_default()
}

/// What follows `.target`.
fn target(head: &str) -> &str {
    head.lines().find_map(|line| line.trim_start().strip_prefix(".target")).unwrap_or_default().trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_numbers() {
        assert_eq!(version("// .version\n\n.version 9.5\r\n.target sm_107a\n"), (9, 5));
        assert_eq!(version("  .version 8.10 // x\n"), (8, 10));
        assert_eq!(version(".target sm_90\n"), (0, 0));
    }

    #[test]
    fn flags_come_from_the_first_line_or_the_target() {
        let flags = |text: &str| Flags::of(text.as_bytes());
        let given = flags("// ptxas: -arch=sm_90a -c\n.version 8.0\n.target sm_80\n");
        assert_eq!((given.arch.as_str(), given.others.as_slice()), ("90a", ["-c".to_owned()].as_slice()));
        assert_eq!(flags("// x\n.version 8.0\n.target sm_103f, debug\n").arch, "103f");
        assert_eq!(flags(".version 1.0\r\n.target sm_13\r\n").arch, "75");
    }
}
