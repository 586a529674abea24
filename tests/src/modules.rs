//! The modules that tests work on: corpus and forms from the repository, the wild set from the user's cache folder.

use crate::say::{NO_WILD_SET, skipped};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A module of one of the sets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleFile {
    /// Set and path inside it, with slashes: `corpus/O0/aes.ptx`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

impl ModuleFile {
    /// Its bytes.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap_or_else(|error| panic!("cannot read {}: {error}", self.path.display()))
    }

    /// Its name without set, folders and `.ptx`.
    ///
    /// # Panics
    /// Never: modules are found by the ends of their names.
    #[must_use]
    pub fn stem(&self) -> String {
        self.path.file_stem().expect("a module has a name").to_string_lossy().into_owned()
    }
}

/// The folder of this crate.
#[must_use]
pub fn tests_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The user's cache folder, as the scripts under `tests/` choose it; none without a home.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("ptxopt"))
}

/// The value that a script of this folder gives to a constant, so that it stands in one place only.
///
/// # Panics
/// When the script defines no such constant.
#[must_use]
pub fn constant_of_script(script: &str, constant: &str) -> String {
    let path = tests_folder().join(script);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let start = format!("readonly {constant}=");
    let value = text.lines().find_map(|line| line.strip_prefix(&start));
    value.unwrap_or_else(|| panic!("{script} defines no {constant}")).to_owned()
}

/// Every `.ptx` file under `folder`, sorted by name.
///
/// # Panics
/// When there is none: a set that is there is not empty.
#[must_use]
pub fn modules_in(set: &str, folder: &Path) -> Vec<ModuleFile> {
    let files =
        WalkDir::new(folder).into_iter().map(|entry| entry.expect("the folder can be listed").into_path());
    let mut modules: Vec<ModuleFile> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| {
            let inside = path.strip_prefix(folder).expect("found under the folder").components();
            let parts: Vec<_> = inside.map(|part| part.as_os_str().to_string_lossy()).collect();
            ModuleFile { name: format!("{set}/{}", parts.join("/")), path }
        })
        .collect();
    modules.sort();
    assert!(!modules.is_empty(), "no module under {}", folder.display());
    modules
}

/// The kernel corpus.
#[must_use]
pub fn corpus() -> Vec<ModuleFile> {
    modules_in("corpus", &tests_folder().join("corpus"))
}

/// The modules that use every row of the opcode table and every form of text.
#[must_use]
pub fn forms() -> Vec<ModuleFile> {
    modules_in("forms", &tests_folder().join("forms"))
}

/// Modules that only the test of deliberate mistakes runs.
#[must_use]
pub fn mistakes() -> Vec<ModuleFile> {
    modules_in("mistakes", &tests_folder().join("mistakes"))
}

/// The regression tests: one module a bug.
#[must_use]
pub fn regress() -> Vec<ModuleFile> {
    modules_in("regress", &tests_folder().join("regress"))
}

/// Where the wild set is, if it was made.
#[must_use]
pub fn wild_folder() -> Option<PathBuf> {
    let version = constant_of_script("wild/make", "VERSION");
    let folder = cache_folder()?.join(format!("wild-{version}"));
    folder.is_dir().then_some(folder)
}

/// What other compilers made; nothing, and a line that says so, where it was not made.
#[must_use]
pub fn wild() -> Vec<ModuleFile> {
    wild_folder().map_or_else(
        || {
            skipped(NO_WILD_SET);
            Vec::new()
        },
        |folder| modules_in("wild", &folder),
    )
}

/// Corpus, forms and wild set.
#[must_use]
pub fn all() -> Vec<ModuleFile> {
    [corpus(), forms(), wild()].concat()
}

/// Calls `work` for each item on two threads and gives the results in the order of the items.
///
/// # Panics
/// When no thread can be started.
pub fn in_parallel<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Send + Sync) -> Vec<T> {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("two threads can be started");
    pool.install(|| items.par_iter().map(work).collect())
}

/// Fails with every failure, the first ones in full.
///
/// # Panics
/// When there is a failure.
pub fn expect_none(what: &str, failures: &[String]) {
    const SHOWN_MAX: usize = 12;
    let shown = failures.iter().take(SHOWN_MAX).map(|failure| format!("\n  {failure}")).collect::<String>();
    assert!(failures.is_empty(), "{} {what}:{shown}", failures.len());
}
