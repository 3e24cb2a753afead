//! What is public and may fail says when.
//!
//! Clippy asks for a section `# Errors` where a function gives a `Result` itself. It does not see
//! one that a future gives, in a box or behind an alias, nor those in a list; this does.

use crate::headings::{self, public_traits};
use crate::source::{Token, code, test_lines};

/// The heading that is asked for.
const HEADING: &str = "# Errors";

/// Types that hold an error, aliases of ours among them.
const FALLIBLE: &[&str] = &["Result", "Got", "Operation"];

/// The public functions of one file that may fail: name, and the line on which each begins.
fn fallible(source: &str) -> Vec<(String, usize)> {
    let code = code(source);
    let tests = test_lines(&code);
    let traits = public_traits(&code);
    let mut found = Vec::new();
    for at in 0..code.len() {
        let line = code[at].line;
        let in_trait = traits.iter().any(|(open, close)| (*open..*close).contains(&at));
        if !tests.iter().any(|(first, last)| (*first..=*last).contains(&line)) {
            found.extend(function(&code, at, in_trait).map(|name| (name, line)));
        }
    }
    found
}

/// The name of a public function that begins at `at`, if what it gives may be an error.
fn function(code: &[Token<'_>], at: usize, in_trait: bool) -> Option<String> {
    let is_word = |at: usize, words: &[&str]| words.iter().any(|word| code[at].is(word));
    let begins = code[at].is("pub") || (in_trait && !(at > 0 && is_word(at - 1, &["pub", "async", "const"])));
    let fun = (at..code.len()).find(|at| !is_word(*at, &["pub", "async", "const"]))?;
    if !begins || !code[fun].is("fn") {
        return None;
    }
    let given = gives(&code[fun..]);
    given.iter().any(|token| FALLIBLE.iter().any(|word| token.is(word))).then(|| code[fun + 1].text.to_owned())
}

/// What a function gives: the tokens after the arrow that is neither among its generics nor within its arguments.
fn gives<'a, 'b>(code: &'b [Token<'a>]) -> &'b [Token<'a>] {
    let (mut round, mut angle, mut from) = (0_usize, 0_usize, None);
    for at in 0..code.len() {
        let arrow = code[at].is(">") && code[at - 1].is("-");
        match code[at].text {
            "(" | "[" => round += 1,
            ")" | "]" => round = round.saturating_sub(1),
            "<" => angle += 1,
            ">" if !arrow => angle = angle.saturating_sub(1),
            ">" if round + angle == 0 => from = from.or(Some(at + 1)),
            "{" | ";" | "where" if round == 0 => return &code[from.unwrap_or(at)..at],
            _ => {}
        }
    }
    &[]
}

#[test]
fn what_may_fail_says_when() {
    headings::check(HEADING, 30, fallible);
}

#[test]
fn a_failure_without_a_word_is_seen() {
    let source = "/// A.\npub fn a() -> io::Result<()> {}\n/// B.\n///\n/// # Errors\n/// Never.\n#[must_use]\npub const fn b() -> Result<(), E> {}\n\
                  pub(crate) fn c() -> Result<(), E> {}\npub fn d() -> impl Future<Output = Got<V, E>> {}\npub fn e(f: fn() -> Result<(), E>) -> u8 {}\n\
                  pub fn g<F: Fn() -> Result<(), E>>(f: F) {}\npub trait T {\nfn h<'a>(&'a self) -> Operation<'a, ()>;\nasync fn i(&self) -> Vec<Got<V, E>>;\nfn j(&self);\n}\n\
                  trait U { fn k(&self) -> Result<(), E>; }\nimpl T for K { fn h(&self) -> Operation<'_, ()> {} }\n#[cfg(test)]\nmod tests { pub fn m() -> Result<(), E> {} }";
    let names: Vec<_> = fallible(source).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "d", "h", "i"]);
    let seen = headings::complaints("x.rs", source, HEADING, fallible);
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert_eq!(seen[0], "x.rs:2 `a` lacks `# Errors`");
}
