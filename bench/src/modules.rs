//! Modules as users have them: the corpus of the repository, and the wild set where `tests/wild/make` has made it.

use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Modules in memory.
pub struct Set {
    /// Name for reports.
    pub name: &'static str,
    /// The texts, largest first: no large one is left for the end of a parallel run.
    pub texts: Vec<Vec<u8>>,
}

impl Set {
    /// Bytes of all modules.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.texts.iter().map(Vec::len).sum()
    }
}

/// The corpus, and the wild set if there is one.
#[must_use]
pub fn sets() -> Vec<Set> {
    let mut sets = vec![Set { name: "corpus", texts: read_all(&[corpus_folder()]) }];
    if let Some(folder) = wild_folder() {
        sets.push(Set { name: "wild", texts: read_all(&[folder]) });
    } else {
        eprintln!("the wild set is not made (tests/wild/make makes it)");
    }
    sets
}

/// The folder of the corpus.
#[must_use]
pub fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus")
}

/// The newest wild set in the user's cache folder.
#[must_use]
pub fn wild_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let entries = fs::read_dir(cache.join("ptxopt")).ok()?;
    let version = |path: &Path| path.file_name()?.to_str()?.strip_prefix("wild-")?.parse::<u32>().ok();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| version(path).is_some())
        .max_by_key(|path| version(path))
}

/// Every `.ptx` file under `paths`, largest first.
///
/// # Panics
/// When a file or folder cannot be read.
#[must_use]
pub fn read_all(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let files =
        paths.iter().flat_map(WalkDir::new).map(|entry| entry.expect("the folder can be listed").into_path());
    let modules = files.filter(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    let mut texts: Vec<Vec<u8>> = modules
        .map(|path| fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .collect();
    texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    texts
}
