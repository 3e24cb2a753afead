//! The examples that `cargo test --doc` runs: blocks of code in doc comments, and in the guide.
//!
//! Programs in `examples` do not count: nothing runs all of them.

use std::path::{Component, Path, PathBuf};

use crate::source::{Kind, Token, item_end, matching, tokens};
use crate::tree::File;

/// Where a block belongs that counts for every crate.
const EVERYBODY: &str = "";

/// One example.
#[derive(Debug)]
pub(crate) struct Example {
    /// The crate that it explains; empty for all.
    krate: String,
    /// Whether it stands at the head of a module.
    pub(crate) of_module: bool,
    /// The types that it stands at.
    owners: Vec<String>,
    pub(crate) code: String,
}

impl Example {
    fn of(krate: &str, owners: &[String]) -> Self {
        Self { krate: krate.into(), of_module: false, owners: owners.to_vec(), code: String::new() }
    }

    pub(crate) fn counts_for(&self, krate: &str) -> bool {
        self.krate == EVERYBODY || self.krate == krate
    }

    pub(crate) fn stands_at(&self, owner: &str) -> bool {
        self.owners.iter().any(|name| name == owner)
    }
}

/// Every example of the tree.
pub(crate) fn examples(files: &[File]) -> Vec<Example> {
    let mut found = Vec::new();
    for file in files {
        let parts: Vec<_> = file.path.split('/').collect();
        match parts[..] {
            ["docs", "guide", ..] => found.extend(fenced(file.text(), EVERYBODY, &[])),
            ["crates", krate, "src", ..] => found.extend(documented(file, krate, files)),
            _ => {}
        }
    }
    found
}

/// The examples in the doc comments of one file.
fn documented(file: &File, krate: &str, files: &[File]) -> Vec<Example> {
    let tokens = tokens(file.text());
    let code: Vec<_> = tokens.iter().copied().filter(|token| token.kind != Kind::Comment).collect();
    let head: Vec<_> = tokens.iter().filter_map(|token| token.text.strip_prefix("//!")).map(unindented).collect();
    let declared: Vec<_> = code.windows(2).filter(|two| is_type(two[0])).map(|two| two[1].text.to_owned()).collect();
    let of_module = |example| Example { of_module: true, ..example };
    let mut found: Vec<_> = fenced(&head.join("\n"), krate, &declared).into_iter().map(of_module).collect();
    let blocks = impls(&code);
    let mut at = 0;
    while at < tokens.len() {
        let Some((text, end)) = doc(&tokens, at, &file.path, files) else {
            at += 1;
            continue;
        };
        found.extend(fenced(&text, krate, &owners(&tokens, end, &blocks)));
        at = end.max(at + 1);
    }
    found
}

/// The doc comment that begins here, with the files that its attributes include, and where it ends.
fn doc(tokens: &[Token<'_>], begin: usize, path: &str, files: &[File]) -> Option<(String, usize)> {
    let is_doc = |token: &Token<'_>| token.kind == Kind::Comment && token.text.starts_with("///");
    let is_attribute = |at: usize| tokens[at].is("#") && tokens.get(at + 1).is_some_and(|next| next.is("["));
    let (mut lines, mut at) = (Vec::new(), begin);
    while at < tokens.len() {
        if is_doc(&tokens[at]) {
            lines.push(unindented(&tokens[at].text[3..]).to_owned());
            at += 1;
        } else if is_attribute(at) {
            let end = matching(tokens, at + 1);
            let literal = tokens[at..end].iter().rfind(|token| token.kind == Kind::Literal);
            if tokens[at..end].iter().any(|token| token.is("include_str")) {
                lines.push(included(path, literal?.text.trim_matches('"'), files));
            }
            at = end + 1;
        } else {
            break;
        }
    }
    (!lines.is_empty()).then(|| (lines.join("\n"), at))
}

/// The text of a file that another one includes.
fn included(from: &str, relative: &str, files: &[File]) -> String {
    let mut path = PathBuf::new();
    for part in Path::new(from).parent().unwrap_or(Path::new("")).join(relative).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    files.iter().find(|file| Path::new(&file.path) == path).map_or("", File::text).to_owned()
}

fn is_type(token: Token<'_>) -> bool {
    ["struct", "enum", "trait", "union"].iter().any(|word| token.is(word))
}

/// The type or trait that the item beginning at `at` is, or that it is part of.
fn owners(tokens: &[Token<'_>], at: usize, blocks: &[(usize, usize, String)]) -> Vec<String> {
    let Some(first) = tokens.get(at) else { return Vec::new() };
    let rest: Vec<_> = tokens[at..].iter().filter(|token| token.kind != Kind::Comment).take(4).collect();
    let own = rest.windows(2).find(|two| is_type(*two[0])).map(|two| two[1].text.to_owned());
    // In a macro that declares sets, the name stands alone before its values.
    let own = own.or_else(|| rest.get(1).filter(|token| token.is("{")).map(|_| first.text.to_owned()));
    let around = blocks.iter().filter(|(open, close, _)| (*open..=*close).contains(&first.line));
    own.into_iter().chain(around.map(|(_, _, name)| name.clone())).collect()
}

/// The blocks of `impl` and `trait`: their lines, and whose they are.
fn impls(code: &[Token<'_>]) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate().filter(|(_, token)| token.is("impl") || token.is("trait")) {
        let end = item_end(code, at);
        if let Some(name) = subject(&code[at + 1..end]) {
            found.push((token.line, code[end].line, name));
        }
    }
    found
}

/// Whose `impl` this is: the last word of the path before `{`, `where` or a trait's bounds; after `for`, if that is there.
fn subject(head: &[Token<'_>]) -> Option<String> {
    let (mut depth, mut name) = (0_usize, None);
    for (at, token) in head.iter().enumerate() {
        match token.text {
            "<" => depth += 1,
            ">" if at > 0 && !head[at - 1].is("-") => depth = depth.saturating_sub(1),
            "{" | "where" if depth == 0 => break,
            "for" if depth == 0 => name = None,
            _ if depth == 0 && token.kind == Kind::Word && (name.is_none() || head[at - 1].is(":")) => {
                name = Some(token.text.to_owned());
            }
            _ => {}
        }
    }
    name
}

/// A line of a doc comment without the space after its mark.
fn unindented(line: &str) -> &str {
    line.strip_prefix(' ').unwrap_or(line)
}

/// The blocks of a text that are run.
fn fenced(text: &str, krate: &str, owners: &[String]) -> Vec<Example> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(tags) = line.trim_start().strip_prefix("```") else { continue };
        let inside: Vec<_> =
            lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).map(shown).collect();
        if tags.split(',').all(|tag| matches!(tag.trim(), "" | "rust" | "should_panic")) {
            found.push(Example { code: inside.join("\n"), ..Example::of(krate, owners) });
        }
    }
    found
}

/// A line of an example, also one that readers do not see.
fn shown(line: &str) -> &str {
    let bare = line.trim_start();
    if bare == "#" { "" } else { bare.strip_prefix("# ").unwrap_or(line) }
}
