//! Files: whole or not at all.
//!
//! A file is written under a temporary name in its own folder and then given its own name in one step. So a
//! reader never sees half of it, a run that is stopped leaves the old file, or none, and other names of the old
//! file (hard links) keep the old bytes. It has the mode of the file that it replaces; a new one has that of any
//! new file. A missing folder is made.
//!
//! A file that has the bytes already is not written again: it gets the time of now, which is what those see who ask
//! whether it is newer than its input. File systems that write out at once what is renamed over a file, as ext4 does,
//! make a second run over a large folder wait for the disk otherwise.
//!
//! Batches write thousands of small files: a new file in a folder that is there takes the five system calls look,
//! create, write, rename and close, and nothing else is asked.

use std::error::Error;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use tempfile::{Builder, NamedTempFile};
use walkdir::WalkDir;

/// What temporary names start with. They do not end in `.ptx`, so a batch never takes one for an input.
const TEMPORARY_PREFIX: &str = ".ptxopt-";

/// The path that stands for standard input, or standard output.
pub const STANDARD_STREAM: &str = "-";

/// The name of an input in messages.
pub fn shown(path: &Path) -> String {
    if path == Path::new(STANDARD_STREAM) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Whether two paths lead to one file, which is there or may come to be.
pub fn are_same(one: &Path, other: &Path) -> bool {
    let followed = [one, other].map(|path| entry(path).ok().filter(|_| path != Path::new(STANDARD_STREAM)));
    followed[0].is_some() && followed[0] == followed[1]
}

/// Whether a file in a folder is taken for a module.
pub fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ptx"))
}

/// The files among `paths`, whatever they are, and the modules in its folders, sorted. Links are followed.
pub fn modules(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in paths.iter().flat_map(|path| WalkDir::new(path).follow_links(true).sort_by_file_name()) {
        // The error of the walk names the path, and would name its own cause a second time.
        let entry = entry.map_err(|error| {
            let kind = error.io_error().map_or(io::ErrorKind::Other, io::Error::kind);
            let cause =
                error.io_error().map_or_else(|| "links lead in a circle".to_owned(), ToString::to_string);
            let path = error.path().unwrap_or(Path::new("a folder")).display().to_string();
            io::Error::new(kind, format!("cannot read `{path}`: {cause}"))
        })?;
        let (kind, is_named) = (entry.file_type(), entry.depth() == 0);
        if is_named && !kind.is_dir() || kind.is_file() && is_module(entry.path()) {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

/// Reads a file, or standard input.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path == Path::new(STANDARD_STREAM) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    fs::read(path)
}

/// Writes to standard output. Who reads it may stop early (`ptxopt phases | head`): what else there is to do is done then.
pub fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a file, or standard output. Makes the file's folder where it is missing.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path == Path::new(STANDARD_STREAM) {
        return print(bytes);
    }
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => write_through(path, bytes),
        Ok(metadata) => write_over(path, &metadata, bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace(path, None, bytes),
        Err(error) => Err(error),
    }
}

/// Writes what a link points to: a link stays a link.
fn write_through(link: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::metadata(link) {
        Ok(metadata) if metadata.is_file() => replace(&fs::canonicalize(link)?, Some(&metadata), bytes),
        Ok(metadata) => write_over(link, &metadata, bytes),
        // The end of the chain is not there yet. A chain without an end is another error.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write(&folder_of(link).join(fs::read_link(link)?), bytes)
        }
        Err(error) => Err(error),
    }
}

/// Writes where something is. What is no file (`/dev/null`) must not be replaced by one.
fn write_over(path: &Path, metadata: &Metadata, bytes: &[u8]) -> io::Result<()> {
    if metadata.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else if metadata.is_file() {
        replace(path, Some(metadata), bytes)
    } else {
        File::options().write(true).open(path)?.write_all(bytes)
    }
}

/// Gives the path a file of these bytes, whether or not there is an old one.
fn replace(path: &Path, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    // Where the old file cannot be read, or its time not be set, a new one takes its place.
    if old.is_some_and(|old| old.len() == bytes.len() as u64)
        && renew(path, bytes).is_ok_and(|renewed| renewed)
    {
        return Ok(());
    }
    let folder = folder_of(path);
    let mut file = match temporary(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            temporary(folder)
        }
        result => result,
    }
    .map_err(without_path)?;
    if let Some(old) = old {
        keep_mode(file.as_file(), old)?;
    }
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Gives the file at `path` the time of now where it has these bytes. Says whether it has them.
fn renew(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut buffer = [0; 16 * 1024];
    let mut rest = bytes;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 && rest.is_empty() {
            file.set_modified(SystemTime::now())?;
            return Ok(true);
        }
        match rest.strip_prefix(&buffer[..read]) {
            Some(after) if read > 0 => rest = after,
            _ => return Ok(false),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(".tmp");
    // Temporary files are private by default; this one becomes a file like any other.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// The error of the system, without the name of a temporary file that the user has never seen.
fn without_path(error: io::Error) -> io::Error {
    let inner: Option<&(dyn Error + 'static)> = error.get_ref().map(|inner| inner as _);
    let cause = inner.and_then(Error::source).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}

/// Gives a file the mode of the one that it replaces, but for the bits that let a program run as somebody else.
#[cfg(unix)]
fn keep_mode(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(PermissionsExt::from_mode(old.permissions().mode() & 0o777))
}

#[cfg(not(unix))]
fn keep_mode(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// The one true path of a file that is there or may come to be: links followed, as far as the path exists.
pub fn entry(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        // A link to what is not there leads to where that will be.
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(target) => entry(&folder_of(path).join(target)),
            Err(_) => {
                let folder = || entry(folder_of(path));
                match path.components().next_back() {
                    Some(Component::Normal(name)) => {
                        let path = folder()?.join(name);
                        Ok(fs::canonicalize(&path).unwrap_or(path))
                    }
                    // Out of a folder that will be made on the way.
                    Some(Component::ParentDir) => Ok(folder_of(&folder()?).to_owned()),
                    _ => Err(error),
                }
            }
        },
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn writes_replace_the_whole_file_and_leave_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ptx");
        write(&path, b"long long ago").unwrap();
        write(&path, b"now").unwrap();
        assert_eq!(read(&path).unwrap(), b"now");
        assert_eq!(names(folder.path()), ["a.ptx"]);
    }

    #[test]
    fn failed_write_leaves_the_folder_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a.ptx")).unwrap();
        assert!(write(&folder.path().join("a.ptx"), b"x").is_err());
        fs::write(folder.path().join("file"), b"").unwrap();
        let error = write(&folder.path().join("file/a.ptx"), b"x").unwrap_err();
        assert!(!error.to_string().contains(TEMPORARY_PREFIX), "{error}");
        let mut names = names(folder.path());
        names.sort();
        assert_eq!(names, ["a.ptx", "file"]);
    }

    #[test]
    fn missing_folders_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such/a.ptx");
        write(&path, b"x").unwrap();
        assert_eq!(read(&path).unwrap(), b"x");
    }

    /// Another name of the old file shows whether that was written to.
    #[test]
    fn the_old_file_keeps_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.ptx"), folder.path().join("other"));
        fs::write(&path, b"old").unwrap();
        fs::hard_link(&path, &other).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!((read(&path).unwrap(), read(&other).unwrap()), (b"new".to_vec(), b"old".to_vec()));
    }

    #[test]
    fn the_same_bytes_stay_and_are_as_new() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.ptx"), folder.path().join("other"));
        // Longer than what is compared at a time, and as long as it.
        for len in [0, 16 * 1024, 40_000] {
            let mut bytes = vec![b'x'; len];
            write(&path, &bytes).unwrap();
            fs::hard_link(&path, &other).unwrap();
            let old = SystemTime::UNIX_EPOCH;
            File::open(&path).unwrap().set_modified(old).unwrap();
            write(&path, &bytes).unwrap();
            let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
            assert!(modified(&path) > old);
            assert_eq!(modified(&path), modified(&other), "one file has both names still");
            if let Some(last) = bytes.last_mut() {
                *last = b'y';
                write(&path, &bytes).unwrap();
                assert_eq!(read(&path).unwrap(), bytes);
                assert_ne!(read(&other).unwrap(), bytes);
            }
            fs::remove_file(&other).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_of_a_replaced_file_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ptx");
        for mode in [0o600, 0o755, 0o444] {
            fs::write(&path, b"old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            write(&path, b"new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
            fs::remove_file(&path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_what_is_not_there_yet_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("deep/real", &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(folder.path().join("deep/real")).unwrap(), b"new");
        std::os::unix::fs::symlink("circle", folder.path().join("circle")).unwrap();
        assert!(write(&folder.path().join("circle"), b"x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_new_files_are_like_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link, plain) =
            (folder.path().join("real"), folder.path().join("link"), folder.path().join("p"));
        fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&real), mode(&plain));
    }

    #[test]
    fn entry_of_what_is_not_there_yet_follows_what_is() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(entry(&folder.path().join("x/y.ptx")).unwrap(), real.join("x/y.ptx"));
        assert_eq!(entry(&folder.path().join(".")).unwrap(), real);
        assert!(entry(Path::new("y.ptx")).unwrap().is_absolute());
    }
}
