//! The engine names its primitives in one place.
//!
//! A lock, an atomic or a task that is not named through `sync.rs` is one that no
//! model checker sees: what it proves would be true of another program. Shared
//! ownership (`Arc`, `Weak`) is no primitive in this sense: nobody waits for it.

use crate::rooms::over_the_engine;
use crate::source::{Token, code, test_lines};
use crate::tree;

/// The module that names them.
const HOME: &str = "sync";

/// Tests that are compiled for a checker only: what they count by is no step of what they check.
const MODELS: &str = "core/models";

/// What may be named of `std::sync` anywhere.
const SHARED: &[&str] = &["Arc", "Weak"];

/// Complaints about a file of the engine that names a primitive by itself.
fn complaints(part: &str, source: &str) -> Vec<String> {
    let of = |module: &str| part == format!("{module}.rs") || part.starts_with(&format!("{module}/"));
    if of(HOME) || of(MODELS) {
        return Vec::new();
    }
    let code = code(source);
    let tests = test_lines(&code);
    let mut complaints = Vec::new();
    for at in 0..code.len() {
        let line = code[at].line;
        let named = named(&code[at..]).filter(|_| !tests.iter().any(|(first, last)| (*first..=*last).contains(&line)));
        if let Some(name) = named {
            complaints.push(format!("{part}:{line} names `{name}`: take it from `crate::{HOME}`"));
        }
    }
    complaints
}

/// The primitive that a path beginning here names, if it does.
fn named(code: &[Token<'_>]) -> Option<String> {
    let is = |at: usize, text: &str| code.get(at).is_some_and(|token| token.is(text));
    let path = |at: usize| is(at, ":") && is(at + 1, ":");
    if (is(0, "parking_lot") || is(0, "tokio")) && path(1) {
        return Some(code[0].text.to_owned());
    }
    if !(is(0, "std") && path(1) && is(3, "sync") && path(4)) {
        return None;
    }
    let rest = &code[6..];
    let names = if rest.first()?.is("{") {
        let end = rest.iter().position(|token| token.is("}"))?;
        &rest[1..end]
    } else {
        &rest[..1]
    };
    let foreign = names.iter().find(|token| !token.is(",") && !SHARED.contains(&token.text))?;
    Some(format!("std::sync::{}", foreign.text))
}

#[test]
fn the_engine_names_its_primitives_in_one_place() {
    tree::report(&over_the_engine(complaints));
}

#[test]
fn a_primitive_of_its_own_is_seen() {
    let source = "use std::sync::Arc;\nuse std::sync::{Arc, Weak};\nuse std::sync::{Arc, Mutex};\nuse std::sync::atomic::AtomicU8;\n\
                  fn f() { tokio::spawn(g()); }\nuse parking_lot::Mutex;\n// tokio::spawn\n#[cfg(test)]\nmod tests { use std::sync::Mutex; }";
    let seen = complaints("gate.rs", source);
    assert_eq!(
        seen,
        [
            "gate.rs:3 names `std::sync::Mutex`: take it from `crate::sync`",
            "gate.rs:4 names `std::sync::atomic`: take it from `crate::sync`",
            "gate.rs:5 names `tokio`: take it from `crate::sync`",
            "gate.rs:6 names `parking_lot`: take it from `crate::sync`",
        ]
    );
    assert!(complaints("sync.rs", source).is_empty() && complaints("sync/loomed.rs", source).is_empty());
}
