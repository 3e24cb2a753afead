//! Makes the page of countermeasures, or finds out whether it is still what the lab would make.

use std::fs;
use std::path::{Path, PathBuf};

use super::batch::{self, Job};
use super::output::Output;
use super::{Common, FAILED, Stopped, print};
use crate::page::{Page, Template};

/// Plays what the page tells of, and writes it with its pictures; or compares them with `check`.
pub(super) fn make(path: &Path, common: &Common, check: bool) -> Result<u8, Stopped> {
    let template = Template::countermeasures().map_err(|error| Stopped::failed(&error))?;
    let folder = path.with_extension("");
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Stopped::usage(&"the page needs a file's name, as docs/countermeasures.md"))?;
    let wanted = template.wanted().map_err(|error| Stopped::failed(&error))?;
    let jobs: Vec<_> = wanted
        .iter()
        .map(|one| Job { scenario: &one.scenario, policy: one.policy.clone(), seed: common.seed })
        .collect();
    // Before anything is played, which takes minutes.
    let text = if check { None } else { Some(opened(path, &folder)?) };
    let runs = batch::play_all(&jobs, common.jobs)?;
    let page = template.render(&runs, name).map_err(|error| Stopped::failed(&error))?;
    let Some(text) = text else { return compare(&files(path, &folder, page)) };
    // The pictures first: a page of before goes with newer pictures better than a newer page with none.
    for (name, picture) in &page.pictures {
        Output::open(&folder.join(name))?.write(picture)?;
    }
    text.write(&page.text)?;
    Ok(0)
}

/// The page's file, and a folder for its pictures.
fn opened(path: &Path, folder: &Path) -> Result<Output, Stopped> {
    let text = Output::open(path)?;
    fs::create_dir_all(folder).map_err(|error| Stopped::failed(&format!("{}: {error}", folder.display())))?;
    Ok(text)
}

fn files(path: &Path, folder: &Path, page: Page) -> Vec<(PathBuf, String)> {
    let pictures = page.pictures.into_iter().map(|(name, text)| (folder.join(name), text));
    std::iter::once((path.to_owned(), page.text)).chain(pictures).collect()
}

/// Tells each file that is not what it would be made as.
fn compare(files: &[(PathBuf, String)]) -> Result<u8, Stopped> {
    let mut differ = 0;
    for (path, text) in files {
        if let Some(line) = differs(&fs::read_to_string(path).unwrap_or_default(), text) {
            differ += 1;
            print(&format!("{} is not what the lab makes now, from line {line} on\n", path.display()))?;
        }
    }
    print(&format!("{} files, {differ} differ\n", files.len()))?;
    Ok(if differ == 0 { 0 } else { FAILED })
}

/// The first line on which two texts differ, if they do in a single byte.
fn differs(there: &str, made: &str) -> Option<usize> {
    let [old, new] = [there, made].map(|text| text.split_inclusive('\n'));
    let same = old.clone().zip(new).take_while(|(old, new)| old == new).count();
    (there != made).then_some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_is_a_difference_and_told_with_its_line() {
        assert_eq!(differs("a\nb\n", "a\nb\n"), None);
        assert_eq!(differs("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(differs("a\nb\n", "a\nb"), Some(2));
        assert_eq!(differs("a\n", "a\nb\n"), Some(2));
        assert_eq!(differs("", "a\n"), Some(1));
    }

    #[test]
    fn files_that_differ_or_are_missing_end_with_a_code() {
        let folder = std::env::temp_dir().join(format!("herdlab-page-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [there, missing] = ["there.md", "missing.svg"].map(|name| folder.join(name));
        fs::write(&there, "5,042 loads\n").unwrap();
        let check = |text: &str, path: &Path| compare(&[(path.to_owned(), text.to_owned())]).ok();
        assert_eq!(check("5,042 loads\n", &there), Some(0));
        assert_eq!(check("5,043 loads\n", &there), Some(FAILED));
        assert_eq!(check("<svg/>\n", &missing), Some(FAILED));
        fs::remove_dir_all(&folder).unwrap();
    }
}
