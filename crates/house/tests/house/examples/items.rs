//! The items of a kept interface.

/// What an item is, as far as examples must name it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A struct, an enum, a trait or an alias.
    Type,
    /// A function or constant of a module.
    Free,
    /// A method, or a constant of a type.
    Member,
    /// A macro.
    Macro,
}

/// One public item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) what: What,
    /// The innermost module.
    pub(crate) module: String,
    /// The type that has it.
    pub(crate) owner: Option<String>,
    /// Whether that is a trait.
    pub(crate) of_trait: bool,
    pub(crate) name: String,
}

impl Item {
    /// How a complaint spells it.
    pub(crate) fn path(&self) -> String {
        let owner = self.owner.iter().map(String::as_str);
        [self.module.as_str()].into_iter().chain(owner).chain([self.name.as_str()]).collect::<Vec<_>>().join("::")
    }
}

/// The items that examples must name, each once: what is exported twice is one item.
pub(crate) fn items(interface: &str) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let mut traits: Vec<String> = Vec::new();
    let mut for_a_trait = false;
    let root = interface.lines().next().and_then(|line| line.strip_prefix("pub mod ")).unwrap_or_default();
    for line in interface.lines() {
        if line.starts_with("impl") {
            for_a_trait = line.contains(" for ");
            continue;
        }
        let line = line.trim_start_matches("#[non_exhaustive] ");
        let Some(rest) = line.strip_prefix("pub ") else { continue };
        let words: Vec<_> = rest.split(' ').take_while(|word| KEYWORDS.contains(word)).collect();
        let skipped: usize = words.iter().map(|word| word.len() + 1).sum();
        let Some(mut item) = item(&words, &rest[skipped..]) else { continue };
        if words.last() == Some(&"trait") {
            traits.push(item.name.clone());
        }
        item.of_trait = item.owner.as_ref().is_some_and(|owner| traits.contains(owner));
        for_a_trait &= item.owner.is_some();
        let known =
            found.iter().any(|other| other.owner == item.owner && other.name == item.name && item.is_one(other, root));
        if !for_a_trait && !known {
            found.push(item);
        }
    }
    found
}

/// What may stand before a path.
const KEYWORDS: &[&str] =
    &["async", "const", "enum", "fn", "macro", "mod", "static", "struct", "trait", "type", "union", "unsafe", "use"];

impl Item {
    /// Whether two items of one name are the same, exported twice: by its module, and by the crate `root`.
    fn is_one(&self, other: &Self, root: &str) -> bool {
        let modules = [self.module.as_str(), other.module.as_str()];
        self.what == other.what && (self.what != What::Free || modules[0] == modules[1] || modules.contains(&root))
    }
}

/// The item of a line, by the words before its path; nothing for modules, fields, variants and associated types.
fn item(words: &[&str], rest: &str) -> Option<Item> {
    let mut parts = parts(rest);
    let name = parts.pop()?;
    let upper = |part: &String| part.starts_with(char::is_uppercase);
    let owner = parts.last().is_some_and(upper).then(|| parts.pop()).flatten();
    let what = match (*words.last()?, &owner) {
        ("struct" | "enum" | "trait" | "union", _) | ("type", None) => What::Type,
        ("fn" | "const" | "static", None) => What::Free,
        ("fn" | "const", Some(_)) => What::Member,
        ("macro", _) => What::Macro,
        _ => return None,
    };
    Some(Item { what, module: parts.pop()?, owner, of_trait: false, name })
}

/// The parts of the path that a line begins with, without generics.
fn parts(rest: &str) -> Vec<String> {
    let (mut depth, mut path, mut before) = (0_usize, String::new(), ' ');
    for c in rest.chars() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            '(' | ' ' if depth == 0 => break,
            _ if depth == 0 => path.push(c),
            _ => {}
        }
        before = c;
    }
    path.trim_end_matches([':', '!']).split("::").map(str::to_owned).collect()
}
