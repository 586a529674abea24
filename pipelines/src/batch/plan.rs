//! The plan of a batch: which file becomes which.
//!
//! A folder gives every `.ptx` file under it, in the order of their names, each at its place relative to the
//! folder; a file that is named itself goes straight into the output folder. Everything that can be refused
//! is refused here, before the first module runs.
//!
//! Links to folders are followed, but for those to a folder that holds the link: they lead back to where the walk
//! comes from, or out of the folder that was named to everything around it. Nothing is written outside the output
//! folder, whatever links that holds.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::files;

/// What the name of a dump ends in; what stands before it is the name of the module's output.
const DUMP_SUFFIX: &str = ".dump";

/// One module of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The file to read.
    pub input: PathBuf,
    /// The file to write.
    pub output: PathBuf,
    /// Bytes of the input, as far as they are known.
    pub size: u64,
}

impl Job {
    /// The file that dumps of the module go to.
    pub fn dump(&self) -> PathBuf {
        let mut dump = self.output.clone().into_os_string();
        dump.push(DUMP_SUFFIX);
        PathBuf::from(dump)
    }
}

/// The modules of a batch, and the places where no module could be looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The modules, in the order of the inputs.
    pub jobs: Vec<Job>,
    /// Folders that could not be read or are not followed, with the reason. Each counts as a failure; the batch goes on.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Plan {
    /// The jobs by size, largest first; those of one size in their order.
    pub fn largest_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(self.jobs[index].size));
        order
    }

    /// Cuts `order` into groups of jobs that are taken together: of `bytes_max` bytes, and less where `threads` threads would
    /// find too few of them. A large one is a group, and so is one of unknown size: it may be a pipe that waits.
    pub fn groups<'o>(&self, order: &'o [usize], bytes_max: u64, threads: usize) -> Vec<&'o [usize]> {
        /// Groups that each thread finds at least, so that none waits long for the last one.
        const GROUPS_A_THREAD: u64 = 8;
        let size = |index: usize| self.jobs[index].size;
        let is_small = |index: usize| (1..bytes_max / 2).contains(&size(index));
        let small: u64 = order.iter().copied().filter(|&index| is_small(index)).map(size).sum();
        let full = bytes_max.min(small / (threads.max(1) as u64 * GROUPS_A_THREAD));
        let mut bytes = 0;
        let belongs = |before: &usize, index: &usize| {
            bytes += size(*before);
            let belongs = is_small(*before) && is_small(*index) && bytes + size(*index) <= full;
            bytes *= u64::from(belongs);
            belongs
        };
        order.chunk_by(belongs).collect()
    }
}

/// Why a batch does not start.
#[derive(Debug)]
pub enum PlanError {
    /// There is no such file or folder.
    Missing(PathBuf, io::Error),
    /// The folders hold no module.
    NothingToDo,
    /// Two inputs would become one output.
    Collision {
        /// The one input.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// The output of both.
        output: PathBuf,
    },
    /// One file would be written twice, for other things than modules.
    Twice(PathBuf),
    /// An output's folder is another one's file.
    FileAsFolder {
        /// The output that needs the folder.
        output: PathBuf,
        /// The output that is the file.
        file: PathBuf,
    },
    /// An output would be written over an input.
    OverInput {
        /// The output.
        output: PathBuf,
    },
    /// The output folder is a file.
    NoFolder(PathBuf),
    /// A link in the output folder leads an output out of it.
    Outside {
        /// The output.
        output: PathBuf,
        /// The file that would be written.
        target: PathBuf,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Missing(path, error) => write!(f, "cannot open `{}`: {error}", path.display()),
            PlanError::NothingToDo => f.write_str("found no `.ptx` file"),
            PlanError::Collision { first, second, output } => write!(
                f,
                "`{}` and `{}` would both become `{}`",
                first.display(),
                second.display(),
                output.display()
            ),
            PlanError::Twice(file) => write!(f, "`{}` would be written twice", file.display()),
            PlanError::FileAsFolder { output, file } => write!(
                f,
                "`{}` needs a folder where the output `{}` would be",
                output.display(),
                file.display()
            ),
            PlanError::NoFolder(out) => write!(f, "`{}` is a file, no folder", out.display()),
            PlanError::Outside { output, target } => write!(
                f,
                "a link leads `{}` out of the output folder, to `{}`",
                output.display(),
                target.display()
            ),
            PlanError::OverInput { output } => {
                write!(f, "`{}` would be written over an input; choose another folder", output.display())
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Plans a batch of files and folders into the folder `out`. `beside` are files that the batch will write, too, and so is a
/// dump of each module where it `dumps`.
pub fn plan(paths: &[PathBuf], out: &Path, beside: &[&Path], dumps: bool) -> Result<Plan, PlanError> {
    if out.is_file() {
        return Err(PlanError::NoFolder(out.to_owned()));
    }
    let mut plan = Plan::default();
    // An output folder inside an input folder holds what earlier runs wrote, not inputs.
    let out_entry = files::entry(out).unwrap_or_else(|_| out.to_owned());
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(|error| PlanError::Missing(path.clone(), error))?;
        if metadata.is_dir() {
            add_folder(path, out, &out_entry, &mut plan);
        } else {
            let name = path.file_name().map(Path::new).unwrap_or(path);
            plan.jobs.push(Job { input: path.clone(), output: out.join(name), size: metadata.len() });
        }
    }
    if plan.jobs.is_empty() && plan.unreadable.is_empty() {
        return Err(PlanError::NothingToDo);
    }
    check(&mut plan, &out_entry, beside, dumps)?;
    Ok(plan)
}

fn add_folder(root: &Path, out: &Path, out_entry: &Path, plan: &mut Plan) {
    let is_output = |entry: &DirEntry| {
        entry.depth() > 0
            && entry.file_type().is_dir()
            && files::entry(entry.path()).is_ok_and(|path| path == out_entry)
    };
    let circular = RefCell::new(Vec::new());
    let is_wanted = |entry: &DirEntry| {
        let is_circular = leads_upwards(entry);
        if is_circular {
            circular.borrow_mut().push(entry.path().to_owned());
        }
        !is_circular && !is_output(entry)
    };
    let walk = WalkDir::new(root).follow_links(true).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(is_wanted) {
        match entry {
            Ok(entry) if entry.file_type().is_file() && files::is_module(entry.path()) => {
                let relative = entry.path().strip_prefix(root).expect("the walk starts at the root");
                let size = entry.metadata().map_or(0, |metadata| metadata.len());
                plan.jobs.push(Job { input: entry.path().to_owned(), output: out.join(relative), size });
            }
            Ok(_) => {}
            Err(error) if error.loop_ancestor().is_some() => {
                circular.borrow_mut().push(error.path().unwrap_or(root).to_owned());
            }
            Err(error) => {
                let path = error.path().unwrap_or(root).to_owned();
                let reason = match error.io_error() {
                    Some(cause) => format!("cannot read `{}`: {cause}", path.display()),
                    None => error.to_string(),
                };
                plan.unreadable.push((path, reason));
            }
        }
    }
    plan.unreadable.extend(circular.into_inner().into_iter().map(|path| {
        let reason = format!("`{}` is a link to a folder that holds it, and is not followed", path.display());
        (path, reason)
    }));
}

/// Whether an entry is a link to a folder that holds it.
fn leads_upwards(entry: &DirEntry) -> bool {
    let target = || files::entry(entry.path());
    let place = || files::entry(entry.path().parent().filter(|path| *path != Path::new(""))?).ok();
    entry.depth() > 0
        && entry.path_is_symlink()
        && entry.file_type().is_dir()
        && target().is_ok_and(|target| place().is_some_and(|place| place.starts_with(target)))
}

/// Refuses what would lose a file, and drops inputs that are named twice.
fn check(plan: &mut Plan, out_entry: &Path, beside: &[&Path], dumps: bool) -> Result<(), PlanError> {
    let mut folders = Folders::default();
    let inputs: Vec<PathBuf> = plan.jobs.iter().map(|job| folders.true_path(&job.input)).collect();
    let outputs: Vec<PathBuf> = plan.jobs.iter().map(|job| folders.true_path(&job.output)).collect();

    let mut job_of_output: HashMap<&Path, usize> = HashMap::new();
    let mut is_repeat = vec![false; plan.jobs.len()];
    for (index, output) in outputs.iter().enumerate() {
        let first = *job_of_output.entry(output).or_insert(index);
        if first == index {
            continue;
        }
        if inputs[first] != inputs[index] {
            return Err(PlanError::Collision {
                first: plan.jobs[first].input.clone(),
                second: plan.jobs[index].input.clone(),
                output: plan.jobs[index].output.clone(),
            });
        }
        is_repeat[index] = true;
    }
    // Thousands of files may share a folder: each folder is looked at once.
    let mut folders_seen: HashSet<&Path> = HashSet::new();
    for (index, output) in outputs.iter().enumerate() {
        let mut folders = output.ancestors().skip(1).take_while(|folder| folders_seen.insert(folder));
        if let Some(&file) = folders.find_map(|folder| job_of_output.get(folder)) {
            let file = plan.jobs[file].output.clone();
            return Err(PlanError::FileAsFolder { output: plan.jobs[index].output.clone(), file });
        }
    }
    let all_inputs: HashSet<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    if let Some(index) = outputs.iter().position(|output| all_inputs.contains(output.as_path())) {
        return Err(PlanError::OverInput { output: plan.jobs[index].output.clone() });
    }
    let first_jobs = plan.jobs.iter().zip(&is_repeat).filter(|(_, is_repeat)| dumps && !**is_repeat);
    let mut with_true_path = |file: PathBuf| (folders.true_path(&file), file);
    let dumps: Vec<_> = first_jobs.map(|(job, _)| with_true_path(job.dump())).collect();
    let beside = beside.iter().map(|file| with_true_path(file.to_path_buf()));
    let job_of_output = |path: &Path| job_of_output.get(path).map(|&index| &plan.jobs[index]);
    check_others(beside.chain(dumps.iter().cloned()), &all_inputs, job_of_output)?;
    let of_jobs = plan.jobs.iter().zip(&outputs).map(|(job, target)| (target, &job.output));
    let mut of_modules = of_jobs.chain(dumps.iter().map(|(target, dump)| (target, dump)));
    if let Some((target, output)) = of_modules.find(|(target, _)| !target.starts_with(out_entry)) {
        return Err(PlanError::Outside { output: output.clone(), target: target.clone() });
    }
    let mut repeats = is_repeat.into_iter();
    plan.jobs.retain(|_| !repeats.next().expect("one flag a job"));
    Ok(())
}

/// Refuses files beside the modules, each with its true path, that would be written over something of the batch, or over one another.
fn check_others<'p>(
    others: impl Iterator<Item = (PathBuf, PathBuf)>,
    inputs: &HashSet<&Path>,
    job_of_output: impl Fn(&Path) -> Option<&'p Job>,
) -> Result<(), PlanError> {
    let mut seen: HashSet<PathBuf> = HashSet::new();
    for (path, file) in others {
        if inputs.contains(path.as_path()) {
            return Err(PlanError::OverInput { output: file });
        }
        if let Some(job) = job_of_output(&path) {
            return Err(PlanError::Collision {
                first: job.input.clone(),
                second: file.clone(),
                output: file,
            });
        }
        if !seen.insert(path) {
            return Err(PlanError::Twice(file));
        }
    }
    Ok(())
}

/// The true paths of folders. Files come by the thousand to a folder, and following its links takes system calls for
/// each part of its path.
#[derive(Default)]
struct Folders {
    /// By folder: its true path, and whether it is there.
    known: HashMap<PathBuf, (PathBuf, bool)>,
}

impl Folders {
    /// The path by which files are told apart. One that cannot be resolved stands for itself: reading or writing it
    /// will fail and say why.
    fn true_path(&mut self, path: &Path) -> PathBuf {
        let follow = |path: &Path| files::entry(path).unwrap_or_else(|_| path.to_owned());
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return follow(path) };
        if !self.known.contains_key(folder) {
            let here = if folder == Path::new("") { Path::new(".") } else { folder };
            self.known.insert(folder.to_owned(), (follow(here), here.exists()));
        }
        let (folder, is_there) = &self.known[folder];
        // A link is followed; anything else lies in its folder.
        let is_link = *is_there && path.is_symlink();
        if is_link { follow(path) } else { folder.join(name) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Tree {
        folder: tempfile::TempDir,
    }

    impl Tree {
        fn new(files: &[&str]) -> Tree {
            let tree = Tree { folder: tempfile::tempdir().unwrap() };
            for file in files {
                let path = tree.path(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, file).unwrap();
            }
            tree
        }

        fn path(&self, relative: &str) -> PathBuf {
            self.folder.path().join(relative)
        }

        fn plan(&self, paths: &[&str], out: &str) -> Result<Plan, PlanError> {
            let paths: Vec<_> = paths.iter().map(|path| self.path(path)).collect();
            plan(&paths, &self.path(out), &[], false)
        }

        /// The jobs as `input > output`, relative to the tree.
        fn jobs(&self, paths: &[&str], out: &str) -> Vec<String> {
            let relative = |path: &Path| path.strip_prefix(self.folder.path()).unwrap().display().to_string();
            let plan = self.plan(paths, out).unwrap();
            plan.jobs
                .iter()
                .map(|job| format!("{} > {}", relative(&job.input), relative(&job.output)))
                .collect()
        }
    }

    #[test]
    fn small_jobs_are_taken_together() {
        let job = |size| Job { input: PathBuf::new(), output: PathBuf::new(), size };
        let sizes = [900, 400, 30, 30, 30, 20, 10, 0, 0];
        let plan = Plan { jobs: sizes.map(job).to_vec(), ..Plan::default() };
        let order = plan.largest_first();
        let lengths = |bytes_max, threads| -> Vec<usize> {
            plan.groups(&order, bytes_max, threads).iter().map(|group| group.len()).collect()
        };
        // Of 120 bytes in small ones, each of eight groups may have 15.
        assert_eq!(lengths(400, 1), [1; 9]);
        assert_eq!(lengths(0, 1), [1; 9], "nothing is gained together");
        let many = Plan { jobs: vec![job(10); 100], ..Plan::default() };
        let order = many.largest_first();
        let lengths = |bytes_max, threads| -> Vec<usize> {
            many.groups(&order, bytes_max, threads).iter().map(|group| group.len()).collect()
        };
        assert_eq!(lengths(40, 1), [4; 25]);
        assert_eq!(lengths(1000, 1)[..8], [12; 8]);
        assert_eq!(lengths(1000, 4)[..33], [3; 33]);
    }

    #[test]
    fn folders_keep_their_shape_in_the_order_of_names() {
        let tree = Tree::new(&["in/b.ptx", "in/a/c.PTX", "in/a/d.cu", "one.txt"]);
        assert_eq!(
            tree.jobs(&["in", "one.txt"], "out"),
            ["in/a/c.PTX > out/a/c.PTX", "in/b.ptx > out/b.ptx", "one.txt > out/one.txt"]
        );
    }

    #[test]
    fn two_inputs_of_one_output_are_refused() {
        let tree = Tree::new(&["x/a.ptx", "y/a.ptx"]);
        assert!(matches!(tree.plan(&["x", "y"], "out"), Err(PlanError::Collision { .. })));
        assert!(matches!(tree.plan(&["x/a.ptx", "y/a.ptx"], "out"), Err(PlanError::Collision { .. })));
    }

    #[test]
    fn one_input_named_twice_runs_once() {
        let tree = Tree::new(&["x/a.ptx"]);
        assert_eq!(tree.jobs(&["x", "x/a.ptx", "x/../x"], "out"), ["x/a.ptx > out/a.ptx"]);
    }

    #[test]
    fn a_file_where_another_needs_a_folder_is_refused() {
        let tree = Tree::new(&["x/a.ptx/b.ptx", "y/a.ptx"]);
        assert!(matches!(tree.plan(&["x", "y"], "out"), Err(PlanError::FileAsFolder { .. })));
    }

    #[test]
    fn inputs_are_not_written_over() {
        let tree = Tree::new(&["in/a.ptx", "in/b/a.ptx"]);
        assert!(matches!(tree.plan(&["in"], "in"), Err(PlanError::OverInput { .. })));
        assert!(matches!(tree.plan(&["in/b/a.ptx", "in/a.ptx"], "in/b"), Err(PlanError::Collision { .. })));
        assert!(matches!(tree.plan(&["in/b/a.ptx"], "in/b/../b"), Err(PlanError::OverInput { .. })));
        let (paths, out) = ([tree.path("in")], tree.path("out"));
        let plan = |beside: &[&Path]| plan(&paths, &out, beside, false);
        let over_input = plan(&[&tree.path("in/a.ptx")]);
        assert!(matches!(over_input, Err(PlanError::OverInput { .. })));
        let over_output = plan(&[&tree.path("out/a.ptx")]);
        assert!(matches!(over_output, Err(PlanError::Collision { .. })));
        let (report, remarks) = (tree.path("out/report.jsonl"), tree.path("out/remarks.jsonl"));
        assert!(plan(&[&report, &remarks]).is_ok());
        assert!(matches!(plan(&[&report, &report]), Err(PlanError::Twice(_))));
    }

    #[test]
    fn dumps_are_not_written_over_anything() {
        let tree = Tree::new(&["in/a.ptx", "out/a.ptx.dump", "other/a.ptx.dump"]);
        let plan = |paths: &[&str], beside: &[&str], dumps| {
            let paths: Vec<_> = paths.iter().map(|path| tree.path(path)).collect();
            let beside: Vec<_> = beside.iter().map(|path| tree.path(path)).collect();
            let beside: Vec<_> = beside.iter().map(PathBuf::as_path).collect();
            plan(&paths, &tree.path("out"), &beside, dumps)
        };
        assert!(plan(&["in", "in/a.ptx"], &[], true).is_ok());
        assert!(plan(&["in"], &["out/a.ptx.dump"], false).is_ok());
        assert!(matches!(plan(&["in"], &["out/a.ptx.dump"], true), Err(PlanError::Twice(_))));
        let both = ["in", "other/a.ptx.dump"];
        assert!(plan(&both, &[], false).is_ok());
        assert!(matches!(plan(&both, &[], true), Err(PlanError::Collision { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn dumps_are_not_written_outside_the_output_folder() {
        let tree = Tree::new(&["in/a.ptx", "elsewhere/x", "out/y"]);
        std::os::unix::fs::symlink("../elsewhere/x", tree.path("out/a.ptx.dump")).unwrap();
        let plan = |dumps| plan(&[tree.path("in")], &tree.path("out"), &[], dumps);
        assert!(matches!(plan(true), Err(PlanError::Outside { .. })));
        assert!(plan(false).is_ok(), "no dump is written");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_an_input_is_not_written_through() {
        let tree = Tree::new(&["in/a.ptx", "out/other"]);
        std::os::unix::fs::symlink(tree.path("in/a.ptx"), tree.path("out/a.ptx")).unwrap();
        assert!(matches!(tree.plan(&["in"], "out"), Err(PlanError::OverInput { .. })));
    }

    #[test]
    fn an_output_folder_inside_the_input_is_no_input() {
        let tree = Tree::new(&["a.ptx", "out/a.ptx", "out/deep/b.ptx"]);
        assert_eq!(tree.jobs(&["."], "out"), ["a.ptx > out/a.ptx"]);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let tree = Tree::new(&["in/readme.md"]);
        assert!(matches!(tree.plan(&["nowhere"], "out"), Err(PlanError::Missing(..))));
        assert!(matches!(tree.plan(&["in"], "out"), Err(PlanError::NothingToDo)));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_loops_reported() {
        let tree = Tree::new(&["in/a.ptx", "far/b.ptx"]);
        std::os::unix::fs::symlink(tree.path("far"), tree.path("in/near")).unwrap();
        std::os::unix::fs::symlink(tree.path("in"), tree.path("in/self")).unwrap();
        let plan = tree.plan(&["in"], "out").unwrap();
        assert_eq!(plan.jobs.len(), 2);
        assert_eq!(plan.unreadable.len(), 1, "{:?}", plan.unreadable);
    }

    /// Without the check the walk takes everything around the folder, and the output's files of other runs.
    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_upwards_is_not_followed() {
        let tree = Tree::new(&["a.ptx", "in/b.ptx", "in/deep/c.ptx", "elsewhere/d.ptx"]);
        std::os::unix::fs::symlink("..", tree.path("in/up")).unwrap();
        std::os::unix::fs::symlink("../..", tree.path("in/deep/up")).unwrap();
        std::os::unix::fs::symlink(".", tree.path("in/deep/here")).unwrap();
        let plan = tree.plan(&["in"], "out").unwrap();
        let inputs: Vec<_> = plan.jobs.iter().map(|job| job.input.clone()).collect();
        assert_eq!(inputs, [tree.path("in/b.ptx"), tree.path("in/deep/c.ptx")]);
        let mut skipped: Vec<_> = plan.unreadable.iter().map(|(path, _)| path.clone()).collect();
        skipped.sort();
        assert_eq!(skipped, [tree.path("in/deep/here"), tree.path("in/deep/up"), tree.path("in/up")]);
        assert!(plan.unreadable.iter().all(|(_, reason)| reason.contains("a folder that holds it")));
    }

    #[test]
    fn an_output_folder_that_is_a_file_is_told() {
        let tree = Tree::new(&["in/a.ptx", "out"]);
        let error = tree.plan(&["in"], "out").unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` is a file, no folder", tree.path("out").display()));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_outside_the_output_folder() {
        let tree = Tree::new(&["in/sub/a.ptx", "in/b.ptx", "elsewhere/x", "out/y"]);
        std::os::unix::fs::symlink("../elsewhere", tree.path("out/sub")).unwrap();
        assert!(matches!(tree.plan(&["in"], "out"), Err(PlanError::Outside { .. })));
        fs::remove_file(tree.path("out/sub")).unwrap();
        std::os::unix::fs::symlink("../elsewhere/b.ptx", tree.path("out/b.ptx")).unwrap();
        assert!(matches!(tree.plan(&["in"], "out"), Err(PlanError::Outside { .. })));
        fs::remove_file(tree.path("out/b.ptx")).unwrap();
        // The output folder itself may be a link.
        std::os::unix::fs::symlink("elsewhere", tree.path("link")).unwrap();
        assert_eq!(tree.plan(&["in"], "link").unwrap().jobs.len(), 2);
    }

    #[test]
    fn the_largest_module_goes_first() {
        let tree = Tree::new(&["a.ptx", "b.ptx", "c.ptx"]);
        fs::write(tree.path("b.ptx"), "much longer than its name").unwrap();
        let plan = tree.plan(&["."], "out").unwrap();
        assert_eq!(plan.largest_first(), [1, 0, 2]);
    }
}
