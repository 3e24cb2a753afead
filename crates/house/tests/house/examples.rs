//! Every public item is named in an example that runs.
//!
//! The items are those of the kept interfaces in `docs/api`: types, functions, methods, constants and macros. Variants
//! and fields are shown with their type, and what a type does for a trait of others is that trait's to explain.
//!
//! | item | is named by |
//! |---|---|
//! | type, function, constant | an import from its crate, or its path; a type also by an example on it or its methods |
//! | method, associated constant | `Type::name`; or `.name(` |
//! | method of a trait | also `fn name` below `impl Trait` |
//!
//! `.name(` counts everywhere if one type of the crate alone has such a method, and nothing else has that examples use.
//! Else it counts where the example imports that type and no other that has it, or where it stands at the type: on it,
//! on one of its methods, or at the head of the module that declares it. Whether an example teaches anything is left to
//! readers.

mod blocks;
mod items;

use std::collections::BTreeSet;

use crate::source::{Kind, Token, code};
use crate::tree;
use blocks::Example;
use items::{Item, What};

/// Where the interfaces are kept.
const KEPT: &str = "docs/api/";
/// The crates that services depend on.
const PUBLISHED: &[&str] = &["herdfeed", "herdcache", "herdcache-otel"];

/// Names of methods that examples also call on what is not ours.
const COMMON: &str = "acquire add address after all as_bytes build builder call capacity clear decode encode error expect \
    expire field find flush from get group hash id index insert into_inner iter key kind label layer len \
    line load mode name names new next observe of off origin pass peek poll ratio read record refresh \
    release remove running shutdown snapshot source start started stats store tags take \
    tcp text time total trigger value values version window write";

/// Whether these words stand in a row.
fn row(code: &[Token<'_>], words: &[&str]) -> bool {
    code.windows(words.len()).any(|some| some.iter().zip(words).all(|(token, word)| token.is(word)))
}

/// The code without the arguments of generics that calls give, as in `sum::<u64>()`.
fn plain<'a>(code: &[Token<'a>]) -> Vec<Token<'a>> {
    let (mut kept, mut depth) = (Vec::<Token<'_>>::new(), 0_usize);
    for (at, token) in code.iter().enumerate() {
        let begins = token.is("<") && depth == 0 && at > 1 && code[at - 1].is(":") && code[at - 2].is(":");
        match token.text {
            "<" if depth > 0 || begins => depth += 1,
            ">" if depth > 0 && !code[at - 1].is("-") => depth -= 1,
            _ if depth == 0 => kept.push(*token),
            _ => {}
        }
        if begins {
            kept.truncate(kept.len() - 2);
        }
    }
    kept
}

/// The words that an example takes from a crate: those of its imports, and of paths that begin there.
fn taken<'a>(code: &[Token<'a>], root: &str) -> BTreeSet<&'a str> {
    let mut words = BTreeSet::new();
    let mut import = false;
    for (at, token) in code.iter().enumerate() {
        import = (import && !token.is(";")) || token.is("use");
        if !token.is(root) {
            continue;
        }
        let rest = &code[at + 1..];
        let of_import = rest.iter().take_while(|token| import && !token.is(";"));
        let of_path = rest.iter().take_while(|token| !import && (token.is(":") || token.kind == Kind::Word));
        words.extend(of_import.chain(of_path).filter(|token| token.kind == Kind::Word).map(|token| token.text));
    }
    words
}

/// Whether an example names an item; `rivals` have its name too.
fn names(example: &Example, code: &[Token<'_>], taken: &BTreeSet<&str>, item: &Item, rivals: &[&Item]) -> bool {
    let name = item.name.as_str();
    let by_path = |above: &str| row(code, &[above, ":", ":", name]);
    match (&item.what, &item.owner) {
        (What::Type, _) => taken.contains(name) || (!example.of_module && example.stands_at(name)),
        (What::Macro, _) => taken.contains(name) && row(code, &[name, "!"]),
        (What::Free, _) => by_path(&item.module) || (rivals.is_empty() && taken.contains(name)),
        (What::Member, None) => false,
        (What::Member, Some(owner)) => {
            let is_here = |owner: &str| taken.contains(owner) || example.stands_at(owner);
            let called = row(code, &[".", name, "("]);
            let no_other = rivals.is_empty() && !COMMON.split_whitespace().any(|common| common == name);
            let meant =
                no_other || (is_here(owner) && !rivals.iter().filter_map(|other| other.owner.as_deref()).any(is_here));
            // Of a trait's items, those of any type that has it.
            let through = item.of_trait && row(code, &[":", ":", name, "("]);
            let implemented = item.of_trait && (row(code, &["fn", name]) || row(code, &["const", name]));
            by_path(owner)
                || (called && meant)
                || (example.stands_at(owner) && (called || through))
                || (implemented && is_here(owner))
        }
    }
}

/// Complaints about one crate, given its kept interface and the examples that may count for it.
fn unnamed(krate: &str, interface: &str, examples: &[Example]) -> Vec<String> {
    let root = krate.replace('-', "_");
    let items = items::items(interface);
    let mut open: Vec<bool> = items.iter().map(|_| true).collect();
    for example in examples.iter().filter(|example| example.counts_for(krate)) {
        let code = plain(&code(&example.code));
        let taken = taken(&code, &root);
        if !code.iter().any(|token| token.is(&root)) {
            continue;
        }
        for (item, open) in items.iter().zip(&mut open).filter(|(_, open)| **open) {
            let same = |other: &&Item| other.name == item.name && other.what == item.what && *other != item;
            let rivals: Vec<_> = items.iter().filter(same).collect();
            *open = !names(example, &code, &taken, item, &rivals);
        }
    }
    let left = items.iter().zip(open).filter(|(_, open)| *open);
    left.map(|(item, _)| format!("{krate}: no running example names `{}`", item.path())).collect()
}

#[test]
fn every_public_item_is_in_a_running_example() {
    let files = tree::files();
    let examples = blocks::examples(&files);
    let mut complaints = Vec::new();
    for krate in PUBLISHED {
        let interface = tree::read(&format!("{KEPT}{krate}.txt")).expect("the interface is kept");
        let count = items::items(&interface).len();
        assert!(count >= 15, "only {count} items of {krate} were read");
        complaints.extend(unnamed(krate, &interface, &examples));
    }
    tree::report(&complaints);
}

#[test]
fn an_item_without_an_example_is_seen() {
    let interface = "pub mod a\npub struct a::Pot<V>\npub a::Pot::lid: u8\nimpl<V> a::Pot<V>\n\
        pub const fn a::Pot<V>::boil(self) -> Self\npub fn a::Pot<V>::get<Q>(&self, F: Fn(&Q) -> V) -> V\n\
        impl<V> core::clone::Clone for a::Pot<V>\npub fn a::Pot<V>::clone(&self) -> Self\n\
        pub struct a::Pan\nimpl a::Pan\npub fn a::Pan::fry(&self)\npub fn a::Pan::boil(&self)\n\
        pub trait a::Cook\npub type a::Cook::Error\npub fn a::Cook::stir(&self)\npub const a::x::LIMIT: usize\npub fn a::serve()\n";
    let seen = |source: &str| {
        let file = tree::File { path: "crates/a/src/lib.rs".into(), text: Some(source.into()) };
        let said = unnamed("a", interface, &blocks::examples(&[file]));
        said.into_iter().filter_map(|line| Some(line.split('`').nth(1)?.to_owned())).collect::<Vec<_>>()
    };
    let all = [
        "a::Pot",
        "a::Pot::boil",
        "a::Pot::get",
        "a::Pan",
        "a::Pan::fry",
        "a::Pan::boil",
        "a::Cook",
        "a::Cook::stir",
        "x::LIMIT",
        "a::serve",
    ];
    assert_eq!(seen("/// Nothing.\npub fn serve() {}"), all);
    // What is common or shared counts where its type is imported, or at the type; what does not run counts nowhere.
    let away =
        "/// ```\n/// use a::{Pan, x::LIMIT};\n/// pot.get(1); pan.boil(); pan.fry();\n/// ```\npub fn serve() {}";
    assert_eq!(seen(away), ["a::Pot", "a::Pot::boil", "a::Pot::get", "a::Cook", "a::Cook::stir", "a::serve"]);
    let both = "//! ```\n//! use a::{Pan, Pot};\n//! pot.get::<u8>(1); pan.boil();\n//! ```\npub fn serve() {}";
    assert_eq!(
        seen(both),
        ["a::Pot::boil", "a::Pan::fry", "a::Pan::boil", "a::Cook", "a::Cook::stir", "x::LIMIT", "a::serve"]
    );
    let at = "/// ```\n/// # use a::Pan;\n/// pot.get(1); pot.boil();\n/// ```\n#[derive(Clone)]\npub struct Pot;";
    assert_eq!(seen(at), ["a::Pan::fry", "a::Pan::boil", "a::Cook", "a::Cook::stir", "x::LIMIT", "a::serve"]);
    let inside = "impl<V> Pot<V> {\n/// ```should_panic\n/// struct X; impl a::Cook for X { fn stir(&self) { a::serve() } }\n\
        /// Pan::<u8>::boil(p); // Pan::fry\n/// \"a::Pot\"; p.get()\n/// ```\npub fn get() {}\n}";
    assert_eq!(seen(inside), ["a::Pot::boil", "a::Pan", "a::Pan::fry", "x::LIMIT"]);
    let idle = "/// ```no_run\n/// use a::Pot;\n/// ```\n/// ```ignore\n/// use a::Pan;\n/// ```\npub struct Pot;";
    assert_eq!(seen(idle), all);
}
