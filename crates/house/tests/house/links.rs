//! Links between pages: the file is there, and so is the heading.
//!
//! All pages of Markdown but those that are parts of a program, which are printed elsewhere; with links within a page, to
//! other pages and to other files. Links out of the repository are left alone: no test may need a network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tree;

/// The lines of a page that are text, outside of fenced code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// What a line links to: `[…](target)`, and `[…]: target` for links that are used by name. Code between backticks is none.
fn targets(line: &str) -> Vec<String> {
    if let Some((_, target)) = line.split_once("]: ").filter(|_| line.starts_with('[')) {
        return vec![target.to_owned()];
    }
    let text: String = line.split('`').step_by(2).collect::<Vec<_>>().join("");
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of a page, as they are made from its headings: small letters, digits and `_`, with `-` for blanks; the second of
/// one name ends in `-1`.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings =
        prose(page).filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    headings
        .map(|heading| {
            // Of a link in a heading its text counts.
            let text: String = heading
                .split("](")
                .enumerate()
                .map(|(n, part)| if n == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) })
                .collect();
            let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect();
            let times = seen.entry(anchor.clone()).or_default();
            *times += 1;
            if *times == 1 { anchor } else { format!("{anchor}-{}", *times - 1) }
        })
        .collect()
}

/// Where a link of this page leads, from the root; `None` out of the repository.
fn resolved(from: &str, file: &str) -> Option<String> {
    let mut parts: Vec<_> = from.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Links of the pages that lead nowhere.
fn dead(pages: &BTreeMap<&str, &str>, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, page) in pages {
        for target in prose(page).flat_map(targets) {
            // Of another place, or an item of Rust in text that the documentation includes.
            if target.contains("://") || target.starts_with("mailto:") || target.contains("::") {
                continue;
            }
            let (file, anchor) = target.split_once('#').map_or((&*target, None), |(file, anchor)| (file, Some(anchor)));
            let Some(place) = (if file.is_empty() { Some((*name).to_owned()) } else { resolved(name, file) }) else {
                complaints.push(format!("{name}: {target} leads out of the repository"));
                continue;
            };
            if !is_there(&place) {
                complaints.push(format!("{name}: no {target}"));
            } else if let Some(anchor) = anchor {
                match pages.get(&*place) {
                    Some(page) if anchors(page).contains(anchor) => {}
                    Some(_) => complaints.push(format!("{name}: no heading for {target}")),
                    None => complaints.push(format!("{name}: {target} is no page with headings")),
                }
            }
        }
    }
    complaints
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let files = tree::files();
    let pages: BTreeMap<_, _> = files
        .iter()
        .filter(|file| Path::new(&file.path).extension().is_some_and(|end| end == "md") && !file.path.contains("/src/"))
        .map(|file| (&*file.path, file.text()))
        .collect();
    assert!(pages.len() > 40, "{} pages", pages.len());
    tree::report(&dead(&pages, |place| tree::root().join(place).exists()));
}

#[test]
fn a_link_that_leads_nowhere_is_seen() {
    let a = "# A `page`, of [one](b.md)\n[a](b.md#two-words) [b](gone.md) [c](#nowhere) [d](https://h.example#x) `[e](no.md)`\n\
             ```\n# no heading\n[f](no.md)\n```\n[g](#a-page-of-one) [h](../../up.md) [i](c.rs#x) [j](b.md#two-words-1)\n\
             [k](b.md#two-words-2) [l](#no-heading) [m](Self::item)\n[n]: b.md#words\n";
    let b = "## Two words\n### Two, words!\n#Words\n";
    let pages = BTreeMap::from([("docs/a.md", a), ("docs/b.md", b)]);
    assert_eq!(
        dead(&pages, |place| ["docs/a.md", "docs/b.md", "docs/c.rs"].contains(&place)),
        [
            "docs/a.md: no gone.md",
            "docs/a.md: no heading for #nowhere",
            "docs/a.md: ../../up.md leads out of the repository",
            "docs/a.md: c.rs#x is no page with headings",
            "docs/a.md: no heading for b.md#two-words-2",
            "docs/a.md: no heading for #no-heading",
            "docs/a.md: no heading for b.md#words",
        ]
    );
}
