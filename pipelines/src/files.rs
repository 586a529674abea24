//! Files: whole or not at all.
//!
//! A file is written under a temporary name in its own folder and then given its own name in one step. So a
//! reader never sees half of it, and a run that is stopped leaves the old file, or none.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;
use walkdir::WalkDir;

/// What temporary names start with. They do not end in `.ptx`, so a batch never takes one for an input.
const TEMPORARY_PREFIX: &str = ".ptxopt-";

/// The path that stands for standard input, or standard output.
pub const STANDARD_STREAM: &str = "-";

/// Whether a file in a folder is taken for a module.
pub fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ptx"))
}

/// The files among `paths`, and the modules in its folders, sorted.
pub fn modules(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in paths.iter().flat_map(|path| WalkDir::new(path).sort_by_file_name()) {
        // The error of the walk names the path, and would name its own cause a second time.
        let entry = entry.map_err(|error| {
            let kind = error.io_error().map_or(io::ErrorKind::Other, io::Error::kind);
            let path = error.path().unwrap_or(Path::new("a folder")).display().to_string();
            io::Error::new(kind, format!("cannot read `{path}`: {kind}"))
        })?;
        if entry.file_type().is_file() && (entry.depth() == 0 || is_module(entry.path())) {
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

/// Writes a file, or standard output. The file's folder has to be there.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path == Path::new(STANDARD_STREAM) {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        return stdout.flush();
    }
    // A link stays a link: what it points to is replaced. What is no file (`/dev/null`) must not be replaced
    // by one.
    let path = entry(path)?;
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => File::options().write(true).open(&path)?.write_all(bytes),
        _ => replace(&path, bytes),
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(".tmp");
    // Temporary files are private by default; this one becomes a file like any other.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The error would name the temporary file.
    let mut file = builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// The one true path of a file that is there or may come to be: links followed, as far as the path exists.
pub fn entry(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(name) = path.file_name() else { return Err(error) };
            let folder = match path.parent() {
                Some(folder) if folder != Path::new("") => folder,
                _ => Path::new("."),
            };
            Ok(entry(folder)?.join(name))
        }
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
        assert!(write(&folder.path().join("no/such/a.ptx"), b"x").is_err());
        assert_eq!(names(folder.path()), ["a.ptx"]);
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
