//! Files that a command writes: all of it, or nothing.
//!
//! A file is opened before anything is played, since nobody wants to learn after minutes that its folder is not there; and
//! it is written beside its place and moved there when it is whole, so that whatever ends the command early leaves what
//! was there before. What is no plain file (a pipe, a terminal) is written to as it is.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::{Stopped, print};

/// A place to be written to.
pub(super) struct Output {
    path: PathBuf,
    to: To,
}

enum To {
    /// The standard output.
    Standard,
    /// A file, which is moved from beside its place if there is a name for that.
    File(File, Option<Part>),
}

/// The name of a file beside its place, which is not a link to it; removed where it is not moved.
struct Part {
    name: PathBuf,
    place: PathBuf,
}

/// Every file beside its place, for who ends the program in another way than by dropping them.
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Part {
    fn new(place: PathBuf) -> io::Result<(File, Self)> {
        let name = place.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let name = place.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
        let file = File::create(&name)?;
        PARTS.lock().push(name.clone());
        Ok((file, Self { name, place }))
    }

    /// Into its place.
    fn moved(self) -> io::Result<()> {
        fs::rename(&self.name, &self.place)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        PARTS.lock().retain(|name| *name != self.name);
        let _ = fs::remove_file(&self.name);
    }
}

/// Removes what is not in its place yet.
pub(super) fn remove_parts() {
    PARTS.lock().iter().for_each(|name| _ = fs::remove_file(name));
}

/// What went wrong with a path.
fn failed(path: &Path, error: &io::Error) -> Stopped {
    Stopped::failed(&format!("{}: {error}", path.display()))
}

impl Output {
    /// Opens what is to be written. `-` is the standard output.
    pub(super) fn open(path: &Path) -> Result<Self, Stopped> {
        let to =
            if path == Path::new("-") { To::Standard } else { open(path).map_err(|error| failed(path, &error))? };
        Ok(Self { path: path.to_owned(), to })
    }

    /// Writes all of it.
    pub(super) fn write(mut self, text: &str) -> Result<(), Stopped> {
        match &mut self.to {
            To::Standard => return print(text).map(drop),
            To::File(file, _) => file.write_all(text.as_bytes()).map_err(|error| failed(&self.path, &error))?,
        }
        self.done()
    }

    /// Where it will be.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Something to write to bit by bit, before [`Output::done`].
    pub(super) fn writer(&self) -> Result<Box<dyn Write + Send>, Stopped> {
        match &self.to {
            To::Standard => Ok(Box::new(io::stdout())),
            To::File(file, _) => {
                let file = file.try_clone().map_err(|error| failed(&self.path, &error))?;
                Ok(Box::new(BufWriter::new(file)))
            }
        }
    }

    /// All has been written.
    pub(super) fn done(self) -> Result<(), Stopped> {
        let To::File(_, Some(part)) = self.to else { return Ok(()) };
        part.moved().map_err(|error| failed(&self.path, &error))
    }
}

fn open(path: &Path) -> io::Result<To> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => Ok(To::File(File::options().write(true).open(path)?, None)),
        // The file that is there must bear writing too: it may be read-only.
        Ok(_) => File::options().write(true).open(path).and_then(|_| open_beside(fs::canonicalize(path)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => open_beside(path.to_owned()),
        Err(error) => Err(error),
    }
}

fn open_beside(place: PathBuf) -> io::Result<To> {
    let (file, part) = Part::new(place)?;
    Ok(To::File(file, Some(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("herdlab-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("runs.json");
        let names = || fs::read_dir(&folder).unwrap().map(|one| one.unwrap().file_name()).collect::<Vec<_>>();
        let opened = Output::open(&path).ok().unwrap();
        assert!(!path.exists() && names().len() == 1, "it is not in its place before it is whole");
        opened.write("first").ok().unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names().len()), ("first", 1));
        let opened = Output::open(&path).ok().unwrap();
        opened.writer().ok().unwrap().write_all(b"half of the sec").unwrap();
        drop(opened);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names().len()), ("first", 1));
        for nowhere in [folder.join("none/runs.json"), folder.clone(), folder.join("..")] {
            let told = Output::open(&nowhere).err().unwrap();
            assert!(told.why.starts_with(&nowhere.display().to_string()), "{}", told.why);
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_one_and_a_device_is_written_to() {
        let folder = std::env::temp_dir().join(format!("herdlab-link-{}", std::process::id()));
        fs::create_dir_all(folder.join("there")).unwrap();
        let (target, link) = (folder.join("there/runs.json"), folder.join("latest.json"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        Output::open(&link).ok().unwrap().write("new").ok().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(Output::open(Path::new("/dev/null")).ok().unwrap().write("gone").is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }
}
