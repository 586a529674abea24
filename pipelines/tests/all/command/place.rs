//! A folder of files and the command run in it: where every test of the command takes place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptxopt::ModuleReport;
use tempfile::TempDir;

/// A folder of files, and the command run in it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new(files: &[(&str, &str)]) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        for (file, text) in files {
            fs::create_dir_all(place.path(file).parent().unwrap()).unwrap();
            fs::write(place.path(file), text).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(super) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxopt"));
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Outcome {
        Outcome::of(self.command(line).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs the command while nobody reads its standard output any more.
    pub(super) fn run_unread(&self, line: &str) -> Outcome {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = self.command(line);
        let child = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        Outcome::of(child.wait_with_output().unwrap())
    }

    pub(super) fn text(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
    }

    pub(super) fn reports(&self, relative: &str) -> Vec<ModuleReport> {
        self.text(relative).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every file under a folder, relative to it, in the order of their names.
    pub(super) fn files(&self, relative: &str) -> Vec<String> {
        fn collect(folder: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    collect(&path, root, found);
                } else {
                    found.push(path.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
        let root = self.path(relative);
        let mut found = Vec::new();
        collect(&root, &root, &mut found);
        found.sort();
        found
    }
}

/// What comes out of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(super) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(super) fn of(output: Output) -> Outcome {
        Outcome {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Outcome {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Outcome {
        assert!(self.stdout.contains(part) || self.stderr.contains(part), "no `{part}` in {self:?}");
        self
    }
}
